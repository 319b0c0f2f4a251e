#include "support.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace rungs::test {

Folder::Folder() {
  std::string name = (std::filesystem::temp_directory_path() / "rungs_test_XXXXXX").string();
  REQUIRE(mkdtemp(name.data()) != nullptr);
  path_ = name;
}

Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::vector<std::string> Folder::files() const {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(path_)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

std::filesystem::path write_file(const std::filesystem::path& path, std::string_view content) {
  std::ofstream file(path, std::ios::binary);
  file.write(content.data(), std::streamsize(content.size()));
  REQUIRE(file.good());
  return path;
}

Tensor random_tensor(const Shape& shape, unsigned seed) {
  std::mt19937 bits(seed);
  Tensor tensor(shape);
  for (int64_t i = 0; i < tensor.count(); ++i) tensor.flat(i) = float(bits()) * 0x1p-31f - 1.0f;
  return tensor;
}

std::vector<double> values(const Tensor& tensor) {
  std::vector<double> list;
  for (int64_t i = 0; i < tensor.count(); ++i) list.push_back(tensor.value(i));
  return list;
}

std::string difference(const Tensor& got, const std::vector<double>& want, const std::vector<double>& allowed) {
  Tensor reference(got.shape(), DType::f64), tolerance(got.shape(), DType::f64);
  REQUIRE(int64_t(want.size()) == got.count());
  REQUIRE(allowed.size() == want.size());
  std::copy(want.begin(), want.end(), reference.data<double>());
  std::copy(allowed.begin(), allowed.end(), tolerance.data<double>());
  const Comparison c = compare(got, reference, {.each = &tolerance});
  if (passes(c)) return "";
  return fmt::format("{} of {} wrong; the worst is element {}: got {}, want {}, {:.3g} times the tolerance{}", c.wrong,
                     c.count, c.worst, c.got, c.want, c.fraction,
                     c.pass ? fmt::format(", of which {} may be used here", usable_fraction) : "");
}

}  // namespace rungs::test
