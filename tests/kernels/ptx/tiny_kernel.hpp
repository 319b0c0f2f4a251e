/// Kernels of a few lines, written by hand, for tests of single instructions.
#pragma once

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "decode.hpp"
#include "memory.hpp"
#include "run.hpp"

namespace rungs::ptx {

/// Device memory for a test.
struct Allocation {
  explicit Allocation(size_t bytes) : memory(static_cast<u8*>(allocate(bytes))) {}
  ~Allocation() { free(memory); }
  Allocation(const Allocation&) = delete;
  Allocation& operator=(const Allocation&) = delete;
  u8* memory;
};

/// What each of `threads` threads leaves in the 64 bits at %rd1, which are all ones before. It finds its number in %r0
/// and `input` at %rd2; `tile` is shared memory of 1,024 bytes. `overlap`: as run() has it. \throws Fault
inline std::vector<u64> results(const std::string& body, const std::vector<u64>& input = {}, u32 threads = 1,
                                bool overlap = false) {
  const auto functions = parse(R"(
    .version 9.0
    .target sm_80
    .address_size 64
    .visible .entry tiny(
      .param .u64 out,
      .param .u64 in
    )
    {
      .reg .pred %p<4>;
      .reg .b16 %rs<8>;
      .reg .f32 %f<32>;
      .reg .b32 %r<32>;
      .reg .f64 %fd<4>;
      .reg .b64 %rd<8>;
      .shared .align 128 .b8 tile[1024];
      ld.param.u64 %rd0, [out];
      ld.param.u64 %rd2, [in];
      mov.u32 %r0, %tid.x;
      mul.wide.u32 %rd1, %r0, 8;
      add.s64 %rd1, %rd1, %rd0;
      )" + body + R"(
      ret;
    })");
  const Code code = decode(functions.at("tiny"));
  const Allocation out(8 * threads), in(8 * input.size());
  std::copy(input.begin(), input.end(), reinterpret_cast<u64*>(in.memory));
  const u64 parameters[] = {u64(out.memory), u64(in.memory)};
  run(code, {}, {threads, 1, 1}, 0, parameters, overlap);
  std::vector<u64> all(threads);
  std::memcpy(all.data(), out.memory, 8 * threads);
  return all;
}

/// The lower 32 bits of the first thread's result, as a number of type T.
template <class T>
T result(const std::string& body, const std::vector<u64>& input = {}) {
  return std::bit_cast<T>(u32(results(body, input)[0]));
}

/// 0f3F800000, as PTX writes a float.
inline std::string literal(f32 value) {
  char text[16];
  std::snprintf(text, sizeof text, "0f%08X", std::bit_cast<u32>(value));
  return text;
}

}  // namespace rungs::ptx
