/// What the tests share.
#pragma once

#include <doctest/doctest.h>

#include <cstring>
#include <filesystem>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rungs/base/error.hpp"
#include "rungs/tensor/compare.hpp"
#include "rungs/tensor/tensor.hpp"

// doctest's own lets a lambda capture x, which clang before 16 refuses of a structured binding.
#undef CAPTURE
#define CAPTURE(x) RUNGS_CAPTURE(DOCTEST_ANONYMOUS(captured_), x)
#define RUNGS_CAPTURE(name, x) \
  const auto& name = x;        \
  INFO(#x " := ", name)

namespace rungs::test {

using doctest::Contains;

inline constexpr double unit_roundoff = 0x1p-24;  // of f32

/// A new empty folder, removed with all that is in it.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }
  /// The names of the files in it.
  std::vector<std::string> files() const;

 private:
  std::filesystem::path path_;
};

/// Writes a file and gives its path.
std::filesystem::path write_file(const std::filesystem::path& path, std::string_view content);

/// A number as the bytes that a little-endian file has.
template <class T>
std::string bytes(T value) {
  std::string text(sizeof value, '\0');
  std::memcpy(text.data(), &value, sizeof value);
  return text;
}

inline std::span<const std::byte> as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

/// f32 values in [-1, 1), the same for the same seed.
Tensor random_tensor(const Shape& shape, unsigned seed);

/// Every element of `tensor` as a double, in memory order.
std::vector<double> values(const Tensor& tensor);

/// How much of a tolerance a result may use. Where kernels run on the emulator it is less, so that a GPU has room:
/// tests/kernels/host/room_test.cpp.
inline double usable_fraction = 1;

/// Whether every element is within its tolerance, and uses no more of it than it may.
inline bool passes(const Comparison& c) { return c.pass && c.fraction <= usable_fraction; }

/// "" when |got - want| <= allowed everywhere, else where it is worst and by how much.
std::string difference(const Tensor& got, const std::vector<double>& want, const std::vector<double>& allowed);

}  // namespace rungs::test
