#include "kernels/emulator/engine/async_copy.hpp"

#include <fmt/format.h>

#include <cstring>

#include "kernels/emulator/engine/engine.hpp"
#include "kernels/emulator/engine/multiprocessor.hpp"
#include "kernels/emulator/language/math.hpp"

namespace rungs::emulator {

static Multiprocessor::AsyncCopies& my_copies() {
  Multiprocessor& m = *current_multiprocessor;
  if (m.copies.empty()) m.copies.resize(size_t(m.plan->threads));
  return m.copies[size_t(m.current)];
}

void async_copy(void* destination, const void* source, size_t bytes, size_t valid) {
  set_user_code(false);
  if ((bytes != 4 && bytes != 8 && bytes != 16) || valid > bytes)
    fail(fmt::format("an asynchronous copy of {} bytes, {} of them valid: it copies 4, 8 or 16", bytes, valid));
  require_aligned(destination, bytes, "the destination of an asynchronous copy");
  require_aligned(source, bytes, "the source of an asynchronous copy");
  auto& copies = my_copies();
  copies.pending.push_back({destination, source, bytes, valid, copies.open_group});
#ifdef RUNGS_CHECKED
  checked_copy_begins(uintptr_t(destination), uintptr_t(source), unsigned(bytes), unsigned(valid),
                      __builtin_return_address(0));
#endif
  set_user_code(true);
}

void async_commit() {
  set_user_code(false);
  ++my_copies().open_group;
  set_user_code(true);
}

void async_wait(unsigned may_stay) {
  set_user_code(false);
  auto& [pending, open_group] = my_copies();
  size_t done = 0;
  for (; done < pending.size() && pending[done].group + may_stay < open_group; ++done) {
    const auto& copy = pending[done];
    std::memcpy(copy.destination, copy.source, copy.valid);
    std::memset(static_cast<char*>(copy.destination) + copy.valid, 0, copy.bytes - copy.valid);
#ifdef RUNGS_CHECKED
    checked_copy_ends(uintptr_t(copy.destination), unsigned(copy.bytes));
#endif
  }
  pending.erase(pending.begin(), pending.begin() + long(done));
  set_user_code(true);
}

}  // namespace rungs::emulator
