#include <algorithm>
#include <stdexcept>

#include "lesson.hpp"
#include "rungs/tensor/tap.hpp"

namespace lesson_22 {

/// Shows one count.
static void tap_count(const char* name, int64_t count) { tap(name, Tensor::view_of(&count, {}, DType::i64)); }

double gibibytes(int64_t bytes) {
  // >>> return the bytes in units of 2³⁰ bytes, with their fraction
  return double(bytes) / double(1 << 30);
  // <<<
}

int64_t parameters(const Config& c) {
  const int64_t C = c.hidden_size, H = c.num_heads, G = c.num_kv_heads, D = c.head_dim, F = c.intermediate_size;
  const int64_t V = c.vocab_size, L = c.num_layers;
  int64_t embedding = 0, attention = 0, feed_forward = 0, norms = 0, output = 0;
  // >>> embedding = the table of all tokens
  embedding = V * C;
  // <<<
  tap_count("embedding", embedding);

  // >>> attention = q, k, v and o, of all layers
  attention = L * (C * H * D + 2 * C * G * D + H * D * C);
  // <<<
  tap_count("attention", attention);

  // >>> feed_forward = the three matrices, of all layers
  feed_forward = L * 3 * C * F;
  // <<<
  tap_count("feed_forward", feed_forward);

  // >>> norms = the weights of all norms: those of the layers, and the final one
  norms = (2 * L + 1) * C;
  // <<<
  tap_count("norms", norms);

  // >>> output = the output projection, where it is not the embedding once more
  output = c.tied ? 0 : V * C;
  // <<<
  tap_count("output", output);
  return embedding + attention + feed_forward + norms + output;
}

int64_t cache_bytes(const Config& c, int64_t context, int64_t element_bytes) {
  int64_t row = 0;  // elements
  // >>> row = what one layer keeps of one token: a key and a value for each key/value head
  row = 2 * c.num_kv_heads * c.head_dim;
  // <<<
  tap_count("row", row);

  // >>> return the bytes of the rows of all tokens in all layers
  return c.num_layers * context * row * element_bytes;
  // <<<
}

int64_t batch_bytes(int64_t parameter_bytes, int64_t cache_bytes, int64_t batch) {
  // >>> return the bytes of the parameters, which all requests share, and of the caches, which they do not
  return parameter_bytes + batch * cache_bytes;
  // <<<
}

int64_t largest_batch(int64_t memory, int64_t parameter_bytes, int64_t cache_bytes) {
  int64_t left = 0;
  // >>> left = the bytes that the parameters leave; 0 where they do not fit
  left = std::max<int64_t>(0, memory - parameter_bytes);
  // <<<
  tap_count("left", left);

  // >>> return how many whole caches fit into what is left
  return left / cache_bytes;
  // <<<
}

Share per_gpu(const Config& c, int64_t gpus, int64_t context, int64_t weight_bytes, int64_t element_bytes) {
  // >>> throw std::invalid_argument where gpus does not divide H, or where G and gpus do not divide one another
  if (c.num_heads % gpus != 0 || (c.num_kv_heads % gpus != 0 && gpus % c.num_kv_heads != 0))
    throw std::invalid_argument("the heads cannot be dealt out evenly");
  // <<<

  Config one = c;  // a model of what this GPU holds
  // >>> change those sizes of `one` that are dealt out; F and V are rounded up
  one.num_heads = c.num_heads / gpus;
  one.num_kv_heads = std::max<int64_t>(1, c.num_kv_heads / gpus);
  one.intermediate_size = (c.intermediate_size + gpus - 1) / gpus;
  one.vocab_size = (c.vocab_size + gpus - 1) / gpus;
  // <<<

  // >>> return the bytes of its parameters and of its cache
  return {parameters(one) * weight_bytes, cache_bytes(one, context, element_bytes)};
  // <<<
}

int64_t quantized_bytes(int64_t numbers, int64_t bits) {
  int64_t block = 0;  // bytes
  // >>> block = what 32 numbers of `bits` bits and their scale take, in bytes
  block = 32 * bits / 8 + 2;
  // <<<
  tap_count("block", block);

  // >>> return the bytes of as many blocks as hold the numbers; the last may be partly empty
  return (numbers + 31) / 32 * block;
  // <<<
}

int64_t logits_bytes(const Config& c, int64_t rows) {
  // >>> return the bytes of the logits of `rows` tokens, in f32
  return rows * c.vocab_size * 4;
  // <<<
}

int64_t workspace_bytes(const Config& c, int64_t rows) {
  const int64_t C = c.hidden_size, H = c.num_heads, G = c.num_kv_heads, D = c.head_dim, F = c.intermediate_size;
  int64_t attention = 0, feed_forward = 0;
  // >>> attention = the numbers of x, its norm, q, k, v, the attention output and its projection, for one token
  attention = C + C + H * D + 2 * G * D + H * D + C;
  // <<<
  tap_count("attention", attention);

  // >>> feed_forward = the numbers of gate and up, for one token
  feed_forward = 2 * F;
  // <<<
  tap_count("feed_forward", feed_forward);

  // >>> return the bytes of both for `rows` tokens, in f32: every layer uses the same memory again
  return rows * (attention + feed_forward) * 4;
  // <<<
}

int64_t paged_bytes(const Config& c, int64_t context, int64_t page, int64_t element_bytes) {
  int64_t pages = 0;
  // >>> pages = how many pages of `page` tokens hold `context` tokens; the last may be partly empty
  pages = (context + page - 1) / page;
  // <<<
  tap_count("pages", pages);

  // >>> return the bytes of so many whole pages
  return cache_bytes(c, pages * page, element_bytes);
  // <<<
}

}  // namespace lesson_22
