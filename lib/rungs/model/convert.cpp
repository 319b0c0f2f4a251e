#include "rungs/model/convert.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>

#include "rungs/base/json.hpp"
#include "rungs/checkpoint/gguf.hpp"
#include "rungs/checkpoint/llama2c.hpp"
#include "rungs/checkpoint/pairs.hpp"
#include "rungs/checkpoint/safetensors.hpp"
#include "rungs/model/llama.hpp"
#include "rungs/model/llama_gguf.hpp"
#include "rungs/model/llama_layout.hpp"
#include "rungs/tokenizer/gguf_tokenizer.hpp"

namespace rungs {

namespace fs = std::filesystem;

/// The same values in another dtype. \throws UsageError when one of them would change.
static ConstTensor exactly(const Tensor& tensor, DType dtype, const std::string& name) {
  if (tensor.dtype() == dtype) return tensor.view();
  Tensor out = converted(tensor, dtype);
  if (bytes_of(dtype) >= bytes_of(DType::f32)) return out;  // upcast
  for (int64_t i = 0; i < out.count(); ++i)
    if (const double was = tensor.value(i); out.value(i) != was && was == was)
      throw UsageError(fmt::format("{}: element {} is {}, which {} cannot hold: it would be {}", name, i, was,
                                   name_of(dtype), out.value(i)));
  return out;
}

/// What a .bin leaves to the program that runs it must be what llama2.c's does.
static void check_fits_bin(const Config& c, const fs::path& to) {
  const auto fail = [&](const std::string& what, const std::string& found) {
    throw UsageError(fmt::format("{}: a .bin has no place for {}: llama2.c has {}", to.string(), what, found));
  };
  if (c.rope.scaling != RopeConfig::Scaling::none) fail("rope scaling", "none");
  if (c.rope.theta != 10000) fail(fmt::format("a rope theta of {}", c.rope.theta), "10000");
  if (c.epsilon != 1e-5f) fail(fmt::format("an epsilon of {}", c.epsilon), "1e-05");
  if (c.num_heads * c.head_dim != c.hidden_size)
    fail(fmt::format("{} heads of {}", c.num_heads, c.head_dim),
         fmt::format("heads that share {} channels", c.hidden_size));
  if (c.bos >= 0 && c.bos != 1) fail(fmt::format("BOS {}", c.bos), "1");
  for (const int32_t eos : c.eos)
    if (eos != 1 && eos != 2) fail(fmt::format("EOS {}", eos), "2");
}

/// Files that go along with the weights from one folder to another.
struct Companions {
  fs::path from, to;
  std::vector<const char*> names;  ///< of those that can
  bool has(const char* name) const { return fs::exists(from / name); }
};

/// A .bin has no other than its tokenizer.
static Companions companions_of_bin(const Config& c, const fs::path& to) {
  return {is_llama2c(c.directory) ? c.directory.parent_path() : c.directory, to, {"tokenizer.bin"}};
}

static Companions companions_of_folder(const Config& c, const fs::path& to) {
  return {c.directory,
          to,
          {"generation_config.json", "tokenizer.json", "tokenizer.model", "tokenizer_config.json",
           "special_tokens_map.json", "tokenizer.bin", "vocabulary.json", "chat_template.jinja"}};
}

/// What another model left there would be taken for this one's. Where nothing goes along, it may be meant so.
static void check_nothing_else(const Companions& files) {
  if (std::none_of(files.names.begin(), files.names.end(), [&](const char* name) { return files.has(name); })) return;
  for (const char* name : files.names) {
    const fs::path from = files.from / name, to = files.to / name;
    if (!fs::exists(to) || (files.has(name) && read_text(from) == read_text(to))) continue;
    throw UsageError(fmt::format(
        "{}: wanted {}, found {}; move it away, or convert to another folder", to.string(),
        files.has(name) ? fmt::format("the same as {}", from.string()) : "none, as where the model comes from",
        files.has(name) ? "one that differs" : "one"));
  }
}

static void copy(const Companions& files) {
  for (const char* name : files.names) {
    const fs::path to = files.to / name;
    std::error_code error;
    if (files.has(name) && !fs::exists(to)) fs::copy_file(files.from / name, to, error);  // or it is the same
    if (error) throw FileError(fmt::format("{}: cannot be written: {}", to.string(), error.message()));
  }
}

/// config.json as it was, but for the dtype; of a .bin, a new one.
static void write_config(const Config& c, const fs::path& to, DType dtype, bool changed) {
  if (is_llama2c(c.directory)) return save_llama_config(to, c, dtype);
  auto config = nlohmann::ordered_json::parse(read_text(c.directory / "config.json"));
  const char* key = config.contains("dtype") ? "dtype" : "torch_dtype";
  if (changed) config[key] = dtype == DType::bf16 ? "bfloat16" : "float32";
  write_whole(to / "config.json", [&](std::ostream& out) { out << pretty(config) << '\n'; });
}

static void to_directory(const LlamaCheckpoint& model, const fs::path& to, const ConvertOptions& options,
                         const std::function<void(int64_t)>& on_start, const std::function<void(int64_t)>& on_written) {
  if (options.dtype && *options.dtype != DType::f32 && *options.dtype != DType::bf16)
    throw UsageError(
        fmt::format("dtype: wanted f32 or bf16 for a directory, found {}; a path that ends in .gguf takes "
                    "q8_0 and q4_0 too",
                    name_of(*options.dtype)));
  std::vector<TensorToSave> tensors;
  int64_t bytes = 0;
  DType dtype = DType::f32;
  for (const TensorLayout& layout : llama_tensors(model.config)) {
    const Tensor& tensor = model.file.get(layout.name);
    dtype = options.dtype.value_or(tensor.dtype());
    bytes += tensor.count() * int64_t(bytes_of(dtype));
    tensors.push_back({layout.name, tensor.shape(), dtype,
                       [&tensor, dtype, name = layout.name] { return exactly(tensor, dtype, name); }});
  }
  const Config& c = model.config;
  const Companions companions = is_llama2c(c.directory) ? companions_of_bin(c, to) : companions_of_folder(c, to);
  check_nothing_else(companions);
  const NewFolder folder(to);
  if (on_start) on_start(bytes);
  save_safetensors(to / "model.safetensors", std::move(tensors), on_written);
  write_config(c, to, dtype, options.dtype.has_value());
  copy(companions);
}

/// "", where a .bin has the tokenizer that the model has.
static std::string lost_by_bin(const Companions& files, bool from_bin) {
  if (from_bin || files.has("tokenizer.bin")) return "";
  for (const char* name : {"tokenizer.json", "tokenizer.model", "vocabulary.json"})
    if (files.has(name))
      return fmt::format("{}: wanted tokenizer.bin, the only one that goes along with a .bin, found {}{}",
                         files.from.string(), name,
                         fs::exists(files.to / "tokenizer.bin")
                             ? fmt::format(" ({} was there before)", (files.to / "tokenizer.bin").string())
                             : "");
  return "";
}

static Converted to_bin(const LlamaCheckpoint& model, const fs::path& to, const ConvertOptions& options,
                        const std::function<void(int64_t)>& on_start, const std::function<void(int64_t)>& on_written) {
  const Config& c = model.config;
  if (options.dtype && *options.dtype != DType::f32)
    throw UsageError(fmt::format("{}: a .bin holds f32, not {}", to.string(), name_of(*options.dtype)));
  check_fits_bin(c, to);
  const Companions companions = companions_of_bin(c, to.has_parent_path() ? to.parent_path() : ".");
  check_nothing_else(companions);
  Converted done;
  done.no_tokenizer = lost_by_bin(companions, is_llama2c(c.directory));
  Llama2cHeader h;
  h.version = options.bin_version;
  h.hidden_size = c.hidden_size, h.intermediate_size = c.intermediate_size, h.num_layers = c.num_layers,
  h.num_heads = c.num_heads, h.num_kv_heads = c.num_kv_heads;
  h.vocab_size = c.vocab_size, h.max_seq_len = c.max_seq_len, h.tied = c.tied;
  int64_t floats = h.version == 0 ? c.max_seq_len * c.head_dim : 0;
  for (const TensorLayout& layout : llama_tensors(c)) floats += layout.shape.count();
  if (on_start) on_start(floats * 4);
  const auto take = [&](const std::string& name) { return exactly(model.file.get(name), DType::f32, name); };
  save_llama2c(to, h, take, on_written);
  copy(companions);
  return done;
}

/// The values in blocks or in f16, and what that changed in them.
static ConstTensor rounded(const Tensor& tensor, QuantizedTensor& report, const std::string& name) {
  const Tensor floats = converted(tensor, DType::f32);
  const std::span<const float> values(floats.data(), size_t(floats.count()));
  if (const auto bad = std::ranges::find_if_not(values, [](float x) { return std::isfinite(x); }); bad != values.end())
    throw UsageError(fmt::format("{}: {} needs finite weights, and element {} is {}", name, name_of(report.dtype),
                                 bad - values.begin(), *bad));
  Tensor out = converted(floats, report.dtype);
  const Tensor back = converted(out, DType::f32);
  report.count = floats.count();
  for (int64_t i = 0; i < floats.count(); ++i) {
    const double value = double(floats.flat(i)), error = double(back.flat(i)) - value;
    if (!std::isfinite(error)) {  // it, or the scale of its block, overflowed
      const int64_t size = elements_of_block(report.dtype), first = i / size * size;
      const auto block = values.subspan(size_t(first), size_t(size));
      const auto largest = std::ranges::max_element(block, {}, [](float x) { return std::abs(x); });
      throw UsageError(fmt::format("{}: element {} is {}, which is too large for {}", name,
                                   first + (largest - block.begin()), *largest, name_of(report.dtype)));
    }
    report.sum_of_squares += value * value;
    report.squared_error += error * error;
    report.largest = std::max(report.largest, std::abs(value));
    report.largest_error = std::max(report.largest_error, std::abs(error));
  }
  return out;
}

/// Divisors of the frequencies, for a scaling that has no key: what llama.cpp looks for.
static std::optional<TensorToSave> rope_divisors(const Config& c) {
  if (c.rope.scaling != RopeConfig::Scaling::llama3 && c.rope.divisors.empty()) return {};
  RopeConfig unscaled;
  unscaled.theta = c.rope.theta;
  const std::vector<double> scaled = rope_frequencies(c.rope, c.head_dim);
  Tensor divisors({c.head_dim / 2});
  for (int64_t i = 0; i < divisors.count(); ++i)
    divisors.flat(i) = float(rope_frequencies(unscaled, c.head_dim)[size_t(i)] / scaled[size_t(i)]);
  return TensorToSave{"rope_freqs.weight", divisors.shape(), DType::f32,
                      [d = std::make_shared<Tensor>(std::move(divisors))] { return d->view(); }};
}

static Converted to_gguf(const LlamaCheckpoint& model, const fs::path& to, const ConvertOptions& options,
                         const std::function<void(int64_t)>& on_start, const std::function<void(int64_t)>& on_written) {
  const Config& c = model.config;
  Converted done;
  std::vector<TensorToSave> tensors;
  DType of_most = DType::f32;  // what the last matrix has, as most do
  const std::vector<TensorLayout> layouts = llama_tensors(c);
  done.quantized.reserve(layouts.size());  // so that each stays where it is
  for (const TensorLayout& layout : layouts) {
    const Tensor& tensor = model.file.get(layout.name);
    const DType wanted = options.dtype.value_or(tensor.dtype());
    const bool quantizes = is_quantized(wanted) && wanted != tensor.dtype();
    const bool matrix = layout.shape.rank() == 2, embedding = layout.name == "model.embed_tokens.weight";
    const bool divides = layout.shape[-1] % block_elements == 0;
    if (quantizes && matrix && !embedding && !divides) done.kept.push_back(gguf_name_of(layout.name));
    const DType dtype = !matrix ? DType::f32 : quantizes && (embedding || !divides) ? tensor.dtype() : wanted;
    if (matrix && !embedding) of_most = dtype;
    QuantizedTensor* report = nullptr;
    if (dtype != tensor.dtype() && (is_quantized(dtype) || dtype == DType::f16)) {
      if (is_quantized(tensor.dtype()) && is_quantized(dtype))
        throw UsageError(fmt::format("{}: it is {} already, and {} of that would lose twice", layout.name,
                                     name_of(tensor.dtype()), name_of(dtype)));
      report = &done.quantized.emplace_back();
      report->name = gguf_name_of(layout.name), report->dtype = dtype;
    }
    const bool is_q = layout.name.ends_with("q_proj.weight"), is_k = layout.name.ends_with("k_proj.weight");
    tensors.push_back({gguf_name_of(layout.name), layout.shape, dtype,
                       [&c, &tensor, report, dtype, is_q, is_k, name = layout.name]() -> ConstTensor {
                         ConstTensor out = report ? rounded(tensor, *report, name) : exactly(tensor, dtype, name);
                         if (!is_q && !is_k) return out;
                         return with_pairs_moved(out, is_q ? c.num_heads : c.num_kv_heads, Pairs::neighbours);
                       }});
  }
  if (auto divisors = rope_divisors(c)) tensors.push_back(std::move(*divisors));
  auto keys = gguf_keys_of(c, of_most);
  try {
    fs::path tokenizer = c.directory;
    if (is_llama2c(tokenizer)) tokenizer = tokenizer.parent_path() / "tokenizer.bin";
    for (auto& key : gguf_keys_of_tokenizer(tokenizer))
      if (std::none_of(keys.begin(), keys.end(), [&](const auto& k) { return k.first == key.first; }))
        keys.push_back(std::move(key));
  } catch (const UsageError& e) {
    done.no_tokenizer = e.what();
    keys.emplace_back("tokenizer.ggml.model", std::string(no_gguf_tokenizer));
  }
  if (std::string chat = fs::is_directory(c.directory) ? chat_template_in(c.directory) : ""; !chat.empty())
    keys.emplace_back("tokenizer.chat_template", std::move(chat));
  int64_t bytes = 0;
  for (const TensorToSave& t : tensors) bytes += int64_t(bytes_of(t.dtype, t.shape.count()));
  if (on_start) on_start(bytes);
  save_gguf(to, keys, tensors, on_written);
  std::erase_if(done.quantized, [](const QuantizedTensor& t) { return t.dtype == DType::f16 && t.largest_error == 0; });
  return done;
}

static void fail_found_model(const fs::path& to) {
  throw UsageError(fmt::format("{}: wanted a place for a new model, found one there", to.string()));
}

void check_new_folder(const fs::path& folder) {
  const fs::path name = folder.has_filename() ? folder : folder.parent_path();  // of "x.gguf/", too
  for (const char* ending : {".gguf", ".bin", ".safetensors"})
    if (name.extension() == ending)
      throw UsageError(
          fmt::format("{}: wanted the name of a folder, found one that ends in {}; type {}; `rungs convert` takes "
                      "FILE.gguf and FILE.bin, too",
                      name.string(), ending, fs::path(name).replace_extension().string()));
  if (fs::exists(folder / "config.json") || fs::exists(folder / "model.safetensors")) fail_found_model(folder);
}

/// From the innermost. What holds something stays.
static void remove_empty(const std::vector<fs::path>& folders) {
  std::error_code ignored;
  for (const fs::path& folder : folders) fs::remove(folder, ignored);
}

NewFolder::NewFolder(const fs::path& path) {
  for (fs::path part = path; !part.empty() && !fs::exists(part); part = part.parent_path()) made_.push_back(part);
  std::error_code error;
  fs::create_directories(path, error);
  if (!error) return;
  remove_empty(made_);
  throw FileError(fmt::format("{}: cannot be made: {}", path.string(), error.message()));
}

NewFolder::~NewFolder() { remove_empty(made_); }

Converted convert_llama(const fs::path& from, const fs::path& to, const ConvertOptions& options,
                        const std::function<void(int64_t)>& on_start, const std::function<void(int64_t)>& on_written) {
  const bool bin = to.extension() == ".bin", gguf = is_gguf(to);
  if (!bin && !gguf) check_new_folder(to);
  if ((bin || gguf) && fs::exists(to)) fail_found_model(to);
  const Config config = load_config(from);
  if (!config.is_llama())
    throw UsageError(
        fmt::format("{}: wanted a model of type \"llama\", found \"{}\"", from.string(), config.model_type));
  if (is_gguf(from) && !gguf)
    throw UsageError(
        fmt::format("{}: wanted a place that ends in .gguf, as this file becomes another GGUF alone, found {}",
                    from.string(), to.string()));
  LlamaCheckpoint model(from, 1);  // of the table of angles nothing is used
  model.config = config;
  if (gguf) return to_gguf(model, to, options, on_start, on_written);
  if (bin) return to_bin(model, to, options, on_start, on_written);
  to_directory(model, to, options, on_start, on_written);
  return {};
}

}  // namespace rungs
