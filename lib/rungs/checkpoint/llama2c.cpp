#include "rungs/checkpoint/llama2c.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "rungs/checkpoint/pairs.hpp"

namespace rungs {

namespace {

constexpr uint32_t magic = 0x616b3432;           // "ak42"
constexpr size_t legacy_header = size_t(7) * 4;  // version 0
constexpr size_t header_size = 256;              // versions 1 and 2; the rest of it is zero

/// One stretch of the file: a tensor, or the same one of every layer.
struct Stored {
  std::string name;  // behind "model.layers.I." where it stands in each layer; "" for a table that nobody needs
  bool each_layer;
  Shape shape;
  int64_t heads = 0;  // of q and k, whose rows change places
};

/// In the order of the file; norms first where the rest is quantized.
std::vector<Stored> parts_of(const Llama2cHeader& h) {
  const int64_t C = h.hidden_size, F = h.intermediate_size, kv = h.num_kv_heads * h.head_dim();
  const Stored embedding{"model.embed_tokens.weight", false, {h.vocab_size, C}};
  const Stored attention_norm{"input_layernorm.weight", true, {C}};
  const Stored ffn_norm{"post_attention_layernorm.weight", true, {C}};
  const Stored norm{"model.norm.weight", false, {C}};
  const std::vector<Stored> attention = {{"self_attn.q_proj.weight", true, {C, C}, h.num_heads},
                                         {"self_attn.k_proj.weight", true, {kv, C}, h.num_kv_heads},
                                         {"self_attn.v_proj.weight", true, {kv, C}},
                                         {"self_attn.o_proj.weight", true, {C, C}}};
  const std::vector<Stored> ffn = {{"mlp.gate_proj.weight", true, {F, C}},
                                   {"mlp.down_proj.weight", true, {C, F}},
                                   {"mlp.up_proj.weight", true, {F, C}}};
  std::vector<Stored> parts;
  const auto add = [&](const std::vector<Stored>& more) { parts.insert(parts.end(), more.begin(), more.end()); };
  if (h.version == 0) {
    const Stored angles{"", false, {h.max_seq_len, h.head_dim() / 2}};  // cos, then sin: they follow from the sizes
    add({embedding, attention_norm});
    add(attention);
    add({ffn_norm});
    add(ffn);
    add({norm, angles, angles});
  } else {
    add({attention_norm, ffn_norm, norm, embedding});
    add(attention);
    add(ffn);
  }
  if (!h.tied) add({{"lm_head.weight", false, {h.vocab_size, C}}});
  return parts;
}

std::string name_of(const Stored& part, int64_t layer) {
  return part.each_layer ? fmt::format("model.layers.{}.{}", layer, part.name) : part.name;
}

int64_t number_at(std::span<const std::byte> bytes, size_t at) {
  int32_t value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

Llama2cHeader parse_header(std::span<const std::byte> bytes, const std::string& file) {
  const auto fail = [&](const std::string& what) { throw FileError(file + ": " + what); };
  if (bytes.size() < legacy_header) fail(fmt::format("wanted a llama2.c file, found {} bytes", bytes.size()));
  Llama2cHeader h;
  size_t at = 0;
  if (uint32_t(number_at(bytes, 0)) == magic) {
    if (bytes.size() < header_size) fail(fmt::format("header: wanted {} bytes, found {}", header_size, bytes.size()));
    const int64_t version = number_at(bytes, 4);
    if (version != 1 && version != 2) fail(fmt::format("version: wanted 1 or 2, found {}", version));
    h.version = int(version);
    at = 8;
  }
  const auto next = [&](const char* field, int64_t least, int64_t most) {
    const int64_t value = number_at(bytes, at);
    at += 4;
    if (value < least || value > most)
      fail(fmt::format("{}: wanted a number from {} to {}, found {}", field, least, most, value));
    return value;
  };
  constexpr int64_t most = 1 << 24;  // far above any model, and a product of two with 4096 layers stays in 64 bits
  h.hidden_size = next("dim", 1, most);
  h.intermediate_size = next("hidden_dim", 1, most);
  h.num_layers = next("n_layers", 0, 4096);
  h.num_heads = next("n_heads", 1, most);
  h.num_kv_heads = next("n_kv_heads", 1, h.num_heads);
  h.vocab_size = next("vocab_size", h.version == 0 ? -most : 1, most);
  h.max_seq_len = next("max_seq_len", 1, most);
  if (h.version == 0) {  // a negative size says that the output projection is another matrix
    if (h.vocab_size == 0) fail("vocab_size: wanted a number other than 0, found 0");
    h.tied = h.vocab_size > 0;
    h.vocab_size = std::abs(h.vocab_size);
  } else {
    const int shared = int(bytes[at]);
    if (shared > 1) fail(fmt::format("shared_classifier: wanted 0 or 1, found {}", shared));
    h.tied = shared == 1;
    at += 1;
  }
  if (h.version == 2) h.group = next("group_size", 1, most);
  if (h.hidden_size % h.num_heads != 0 || h.head_dim() % 2 != 0)
    fail(fmt::format("n_heads: wanted heads of an even width in {} channels, found {} heads", h.hidden_size,
                     h.num_heads));
  if (h.num_heads % h.num_kv_heads != 0)
    fail(fmt::format("n_kv_heads: wanted a divisor of n_heads, {}, found {}", h.num_heads, h.num_kv_heads));
  return h;
}

/// Walks through a file and never leaves it.
struct Cursor {
  std::span<const std::byte> left;
  std::string file;

  const std::byte* take(const std::string& what, int64_t count, size_t size) {
    if (uint64_t(count) > left.size() / size)
      throw FileError(fmt::format("{}: {}: wanted {} elements of {} bytes, the file has {} bytes left", file, what,
                                  count, size, left.size()));
    const std::byte* data = left.data();
    left = left.subspan(size_t(count) * size);
    return data;
  }
};

/// Where a tensor of the file stands.
struct Span {
  std::string name;
  const Stored* part;
  const std::byte *data, *scales;  // f32, no scales; or int8
};

/// Every tensor's place, each checked against the size of the file.
std::vector<Span> find_places(const std::vector<Stored>& parts, const Llama2cHeader& h, Cursor cursor) {
  std::vector<Span> places;
  for (const Stored& part : parts)
    for (int64_t layer = 0; layer < (part.each_layer ? h.num_layers : 1); ++layer) {
      const std::string name = name_of(part, layer), what = part.name.empty() ? "the table of angles" : name;
      const int64_t count = part.shape.count();
      if (h.group > 0 && part.shape.rank() == 2) {
        if (count % h.group != 0)
          throw FileError(
              fmt::format("{}: {}: wanted groups of {}, found {} elements", cursor.file, what, h.group, count));
        const std::byte* data = cursor.take(what, count, 1);
        places.push_back({name, &part, data, cursor.take(what + ": scales", count / h.group, 4)});
      } else {
        places.push_back({name, &part, cursor.take(what, count, 4), nullptr});
      }
    }
  if (!cursor.left.empty())
    throw FileError(fmt::format("{}: wanted the file to end behind {}, found {} bytes more", cursor.file,
                                places.back().name.empty() ? "the table of angles" : places.back().name,
                                cursor.left.size()));
  return places;
}

Tensor dequantized(const Span& place, int64_t group) {
  Tensor out = Tensor::uninitialised(place.part->shape);
  for (int64_t i = 0; i < out.count(); ++i) {
    float scale;
    std::memcpy(&scale, place.scales + i / group * 4, sizeof scale);  // may stand at any address
    out.data()[i] = float(int8_t(place.data[i])) * scale;
  }
  return out;
}

}  // namespace

Llama2cHeader read_llama2c_header(const std::filesystem::path& path) {
  const MappedFile file(path);
  return parse_header(file.bytes(), path.string());
}

TensorSet open_llama2c(const std::filesystem::path& path) {
  TensorSet set(path);
  const std::span<const std::byte> bytes = set.keep(MappedFile(path)).bytes();
  const Llama2cHeader h = parse_header(bytes, path.string());
  const std::vector<Stored> parts = parts_of(h);
  const size_t header = h.version == 0 ? legacy_header : header_size;
  for (const Span& place : find_places(parts, h, {bytes.subspan(header), path.string()})) {
    if (place.name.empty()) continue;
    ConstTensor tensor = place.scales ? ConstTensor(dequantized(place, h.group))
                                      : Tensor::view_of(place.data, place.part->shape, DType::f32);
    if (place.part->heads) tensor = with_pairs_moved(tensor, place.part->heads, Pairs::halves);
    set.add(place.name, std::move(tensor), path);
  }
  return set;
}

static std::string header_bytes(const Llama2cHeader& h) {
  std::string text;
  const auto put = [&](int64_t number) {
    const auto value = int32_t(number);
    text.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  if (h.version == 1) put(magic), put(1);
  for (const int64_t number : {h.hidden_size, h.intermediate_size, h.num_layers, h.num_heads, h.num_kv_heads})
    put(number);
  put(h.version == 0 && !h.tied ? -h.vocab_size : h.vocab_size);
  put(h.max_seq_len);
  if (h.version == 1) {
    text += char(h.tied);
    text.resize(header_size, '\0');
  }
  return text;
}

/// cos or sin of p · 10000^(-2i/D): (context, D/2).
static Tensor angles(const Llama2cHeader& h, bool sine) {
  const int64_t half = h.head_dim() / 2;
  Tensor table = Tensor::uninitialised({h.max_seq_len, half});
  for (int64_t p = 0; p < h.max_seq_len; ++p)
    for (int64_t i = 0; i < half; ++i) {
      const double angle = double(p) * std::pow(10000.0, -2.0 * double(i) / double(h.head_dim()));
      table.data()[p * half + i] = float(sine ? std::sin(angle) : std::cos(angle));
    }
  return table;
}

void save_llama2c(const std::filesystem::path& path, const Llama2cHeader& header,
                  const std::function<ConstTensor(const std::string& name)>& take,
                  const std::function<void(int64_t bytes)>& on_written) {
  if (header.version != 0 && header.version != 1)
    throw UsageError(fmt::format("a .bin is written in version 0 or 1, not {}", header.version));
  write_whole(path, [&](std::ostream& out) {
    out << header_bytes(header);
    bool sine = false;
    for (const Stored& part : parts_of(header))
      for (int64_t layer = 0; layer < (part.each_layer ? header.num_layers : 1); ++layer) {
        ConstTensor tensor;
        if (part.name.empty()) {
          tensor = angles(header, sine);
          sine = true;
        } else {
          tensor = take(name_of(part, layer));
        }
        if (part.heads) tensor = with_pairs_moved(tensor, part.heads, Pairs::neighbours);
        out.write(static_cast<const char*>(tensor.raw()), std::streamsize(tensor.bytes()));
        if (on_written) on_written(int64_t(tensor.bytes()));
      }
  });
}

}  // namespace rungs
