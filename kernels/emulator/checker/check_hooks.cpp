// What the compiler calls. -fsanitize=thread puts a call before each access to memory; the library that usually
// answers, libtsan, is not linked, and the checker answers instead. -fsanitize=alignment,bounds calls where an access
// is misaligned or an index lies outside of its array.
//
// Kernels, and with them their launchers, are compiled so; nothing else is. Outside of a kernel the hooks do nothing.
#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <string>

#include "kernels/emulator/engine/engine.hpp"

namespace {

using namespace rungs::emulator;

inline void see(void* address, unsigned bytes, bool write, void* program_counter) {
  if (in_user_code()) checked_access(uintptr_t(address), bytes, write, program_counter);
}

}  // namespace

extern "C" {

// -Wmissing-declarations does not apply: the compiler alone knows these names.
void __tsan_read1(void* p) { see(p, 1, false, __builtin_return_address(0)); }
void __tsan_read2(void* p) { see(p, 2, false, __builtin_return_address(0)); }
void __tsan_read4(void* p) { see(p, 4, false, __builtin_return_address(0)); }
void __tsan_read8(void* p) { see(p, 8, false, __builtin_return_address(0)); }
void __tsan_read16(void* p) { see(p, 16, false, __builtin_return_address(0)); }
void __tsan_write1(void* p) { see(p, 1, true, __builtin_return_address(0)); }
void __tsan_write2(void* p) { see(p, 2, true, __builtin_return_address(0)); }
void __tsan_write4(void* p) { see(p, 4, true, __builtin_return_address(0)); }
void __tsan_write8(void* p) { see(p, 8, true, __builtin_return_address(0)); }
void __tsan_write16(void* p) { see(p, 16, true, __builtin_return_address(0)); }
void __tsan_read_range(void* p, unsigned long n) { see(p, unsigned(n), false, __builtin_return_address(0)); }
void __tsan_write_range(void* p, unsigned long n) { see(p, unsigned(n), true, __builtin_return_address(0)); }

// The compiler does not know that these are aligned; the checker asks the address.
[[gnu::alias("__tsan_read2")]] void __tsan_unaligned_read2(void*);
[[gnu::alias("__tsan_read4")]] void __tsan_unaligned_read4(void*);
[[gnu::alias("__tsan_read8")]] void __tsan_unaligned_read8(void*);
[[gnu::alias("__tsan_read16")]] void __tsan_unaligned_read16(void*);
[[gnu::alias("__tsan_write2")]] void __tsan_unaligned_write2(void*);
[[gnu::alias("__tsan_write4")]] void __tsan_unaligned_write4(void*);
[[gnu::alias("__tsan_write8")]] void __tsan_unaligned_write8(void*);
[[gnu::alias("__tsan_write16")]] void __tsan_unaligned_write16(void*);

#ifndef __SANITIZE_ADDRESS__  // which has its own
// A struct, or what a kernel asks to be copied. It is the whole program's memcpy, and what the host copies meanwhile,
// as the text of an exception, lies in no memory of the device.
void* memcpy(void* to, const void* from, size_t bytes) noexcept {
  if (bytes > 0 && in_user_code()) {
    if (is_of_device(uintptr_t(from)))
      see(const_cast<void*>(from), unsigned(bytes), false, __builtin_return_address(0));
    if (is_of_device(uintptr_t(to))) see(to, unsigned(bytes), true, __builtin_return_address(0));
  }
  return std::memmove(to, from, bytes);
}
#endif

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_read(void**) {}
void __tsan_vptr_update(void**, void*) {}

// For the host's code in a kernel's file, such as the guard of a static variable. Kernels have CUDA's atomics, which
// tell the checker themselves; clang calls the exchanges inside them, too.
unsigned char __tsan_atomic8_load(const volatile unsigned char* p, int) { return __atomic_load_n(p, __ATOMIC_SEQ_CST); }
unsigned __tsan_atomic32_load(const volatile unsigned* p, int) { return __atomic_load_n(p, __ATOMIC_SEQ_CST); }
uint64_t __tsan_atomic64_load(const volatile uint64_t* p, int) { return __atomic_load_n(p, __ATOMIC_SEQ_CST); }
void __tsan_atomic8_store(volatile unsigned char* p, unsigned char v, int) { __atomic_store_n(p, v, __ATOMIC_SEQ_CST); }
void __tsan_atomic32_store(volatile unsigned* p, unsigned v, int) { __atomic_store_n(p, v, __ATOMIC_SEQ_CST); }
void __tsan_atomic64_store(volatile uint64_t* p, uint64_t v, int) { __atomic_store_n(p, v, __ATOMIC_SEQ_CST); }
unsigned __tsan_atomic32_fetch_add(volatile unsigned* p, unsigned v, int) {
  return __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST);
}
uint64_t __tsan_atomic64_fetch_add(volatile uint64_t* p, uint64_t v, int) {
  return __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST);
}
unsigned __tsan_atomic32_compare_exchange_val(volatile unsigned* p, unsigned old, unsigned v, int, int) {
  __atomic_compare_exchange_n(p, &old, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  return old;
}
uint64_t __tsan_atomic64_compare_exchange_val(volatile uint64_t* p, uint64_t old, uint64_t v, int, int) {
  __atomic_compare_exchange_n(p, &old, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  return old;
}
void __tsan_atomic_thread_fence(int) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
void __tsan_atomic_signal_fence(int) {}
}

// ------------------------------------------------------------------------------------- misaligned, and outside an
// array

namespace {

// What the compiler hands over, as documented for its run-time library.
struct Place {
  const char* file;
  unsigned line, column;
};
struct Type {
  unsigned short kind, info;
  char name[1];  ///< "'float4'"
};
struct Mismatch {
  Place place;
  Type* type;
  unsigned char log_alignment, check;
};
struct Bounds {
  Place place;
  Type *array, *index;
};

std::string text_of(const Place& place) {
  const std::string path = place.file;
  const size_t name = path.rfind('/');
  const size_t folder = name == std::string::npos || name == 0 ? std::string::npos : path.rfind('/', name - 1);
  return (folder == std::string::npos ? path : path.substr(folder + 1)) + ":" + std::to_string(place.line);
}

/// The whole program may be watched by the undefined behaviour sanitizer, whose library has functions of these names.
/// What is not from a kernel is theirs.
template <class Data>
void pass_on(const char* function, Data* data, uintptr_t value) {
  using Handler = void (*)(Data*, uintptr_t);
  if (auto* next = reinterpret_cast<Handler>(dlsym(RTLD_NEXT, function))) return next(data, value);
  fail("undefined behaviour in host code at " + text_of(data->place));
}

// Made by functions of their own, since fail() does not come back to free what a text was made of.
std::string mismatch_text(const Mismatch& data, uintptr_t address) {
  if (address < 4096) {
    return fmt::format("null pointer: this thread uses it as a {} at {}", data.type->name, text_of(data.place));
  }
  return fmt::format("misaligned: this thread uses an address as a {} at {}; it must be a multiple of {} bytes",
                     data.type->name, text_of(data.place), 1u << data.log_alignment);
}

std::string index_text(const Bounds& data, uintptr_t index) {
  // The low bits of the type's info are its size; a small index is handed over as it is.
  const unsigned bits = 1u << (data.index->info >> 1);
  const long long value = bits >= 64 ? static_cast<long long>(index) : static_cast<long long>(int32_t(index));
  return fmt::format("out of bounds: this thread uses index {} of an array of type {} at {}", value, data.array->name,
                     text_of(data.place));
}

void mismatch(const char* function, Mismatch* data, uintptr_t address) {
  if (!in_user_code()) return pass_on(function, data, address);
  set_user_code(false);
  fail(mismatch_text(*data, address));
}

void out_of_bounds(const char* function, Bounds* data, uintptr_t index) {
  if (!in_user_code()) return pass_on(function, data, index);
  set_user_code(false);
  fail(index_text(*data, index));
}

}  // namespace

extern "C" {
void __ubsan_handle_type_mismatch_v1(Mismatch* data, uintptr_t address) {
  mismatch("__ubsan_handle_type_mismatch_v1", data, address);
}
void __ubsan_handle_type_mismatch_v1_abort(Mismatch* data, uintptr_t address) {
  mismatch("__ubsan_handle_type_mismatch_v1_abort", data, address);
}
void __ubsan_handle_out_of_bounds(Bounds* data, uintptr_t index) {
  out_of_bounds("__ubsan_handle_out_of_bounds", data, index);
}
void __ubsan_handle_out_of_bounds_abort(Bounds* data, uintptr_t index) {
  out_of_bounds("__ubsan_handle_out_of_bounds_abort", data, index);
}
}
