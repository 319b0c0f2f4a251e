// mov, loads and stores, atomic operations, addresses, and copies to shared memory that end later.
#include <fmt/format.h>

#include "fault.hpp"
#include "memory.hpp"
#include "table.hpp"

namespace rungs::ptx {
namespace {

/// mov.b64 {a, b}, c: the parts of a number, the lowest first.
template <class Whole, int parts>
void unpack(Thread& t, const Instruction& i) {
  const Whole whole = get<Whole>(t, i.slot[parts]);
  constexpr int bits = int(sizeof(Whole)) * 8 / parts;
  for (int part = 0; part < parts; ++part)
    set<u64>(t, i.slot[part], u64(whole) >> (part * bits) & ((u64(1) << bits) - 1));
}
template <class Whole, int parts>
void pack(Thread& t, const Instruction& i) {
  u64 whole = 0;
  constexpr int bits = int(sizeof(Whole)) * 8 / parts;
  for (int part = 0; part < parts; ++part)
    whole |= (t.registers[i.slot[1 + part]] & ((u64(1) << bits) - 1)) << (part * bits);
  set<u64>(t, i.slot[0], whole);
}

void add_moves(Table& t) {
  const auto same = []<class T>(T a) -> T { return a; };
  lines<u16, u32, u64, s16, s32, s64, f32, f64>(t, "mov", "9.7.9.3", same);
  bit_lines<u16, u32, u64>(t, "mov", "9.7.9.3", same);
  line(t, "mov.pred", "9.7.9.3", [](bool a) { return a; });
  t["mov.b32 {2}"] = {"9.7.9.3", Flow::next, unpack<u32, 2>};
  t["mov.b64 {2}"] = {"9.7.9.3", Flow::next, unpack<u64, 2>};
  t["mov.b64 {4}"] = {"9.7.9.3", Flow::next, unpack<u64, 4>};
  t["mov.b32 ,{2}"] = {"9.7.9.3", Flow::next, pack<u32, 2>};
  t["mov.b64 ,{2}"] = {"9.7.9.3", Flow::next, pack<u64, 2>};
  t["mov.b64 ,{4}"] = {"9.7.9.3", Flow::next, pack<u64, 4>};
}

/// ld {d...}, [a]: slots d..., a.
template <class T, int count, Space space>
void load(Thread& t, const Instruction& i) {
  const u8* from = find(t, space, t.registers[i.slot[count]] + u64(i.offset[0]), sizeof(T) * count);
  for (int n = 0; n < count; ++n) {
    T value;
    std::memcpy(&value, from + n * sizeof(T), sizeof(T));
    set<T>(t, i.slot[n], value);
  }
}

/// st [a], {b...}: slots a, b...
template <class T, int count, Space space>
void store(Thread& t, const Instruction& i) {
  u8* to = find_to_write(t, space, t.registers[i.slot[0]] + u64(i.offset[0]), sizeof(T) * count);
  for (int n = 0; n < count; ++n) std::memcpy(to + n * sizeof(T), &t.registers[i.slot[1 + n]], sizeof(T));
}

/// The names of a space. Through which cache something is read (.nc), and whether it is kept there, changes nothing
/// here.
template <Space space>
std::vector<std::string> names_of_space() {
  if (space == Space::global) return {".global", ".global.nc", ".global.nc.L1::no_allocate"};
  if (space == Space::shared) return {".shared", ".shared::cta"};
  if (space == Space::parameter) return {".param"};
  return {""};
}

template <class T, Space space>
void add_loads_and_stores(Table& t, const std::string& type) {
  for (const std::string& name : names_of_space<space>()) {
    t["ld" + name + "." + type] = {"9.7.9.8", Flow::next, load<T, 1, space>};
    t["ld" + name + ".v2." + type] = {"9.7.9.8", Flow::next, load<T, 2, space>};
    t["ld" + name + ".v4." + type] = {"9.7.9.8", Flow::next, load<T, 4, space>};
    t["st" + name + "." + type] = {"9.7.9.11", Flow::next, store<T, 1, space>};
    t["st" + name + ".v2." + type] = {"9.7.9.11", Flow::next, store<T, 2, space>};
    t["st" + name + ".v4." + type] = {"9.7.9.11", Flow::next, store<T, 4, space>};
  }
}
template <class T>
void add_spaces(Table& t, const std::string& type) {
  add_loads_and_stores<T, Space::generic>(t, type);
  add_loads_and_stores<T, Space::global>(t, type);
  add_loads_and_stores<T, Space::shared>(t, type);
  add_loads_and_stores<T, Space::parameter>(t, type);
}

/// atom d, [a], b: slots d, a, b. Threads run one after the other, so nothing comes between.
template <class F, class T, Space space>
void atomic(Thread& t, const Instruction& i) {
  u8* at = find_to_write(t, space, t.registers[i.slot[1]] + u64(i.offset[0]), sizeof(T));
  T old;
  std::memcpy(&old, at, sizeof old);
  const T now = F().template operator()<T>(old, get<T>(t, i.slot[2]));
  std::memcpy(at, &now, sizeof now);
  set<T>(t, i.slot[0], old);
}
template <class... T, class F>
void atomics(Table& t, const char* what, F) {
  ((t["atom.global." + (what + ("." + name_of_type<T>()))] = {"9.7.13.5", Flow::next, atomic<F, T, Space::global>}),
   ...);
  ((t["atom.shared." + (what + ("." + name_of_type<T>()))] = {"9.7.13.5", Flow::next, atomic<F, T, Space::shared>}),
   ...);
}

// A copy is carried out as late as its thread's waits allow: who reads too early finds what was there before. Its
// addresses are looked at when it begins.
void begin_copy(Thread& t, const Instruction& i, u32 bytes, u32 read) {
  const u64 to = u32(t.registers[i.slot[0]] + u64(i.offset[0])), from = t.registers[i.slot[1]] + u64(i.offset[1]);
  if (read > bytes) throw Fault(fmt::format("a copy of {} bytes reads {}", bytes, read));
  if (from % bytes != 0) throw Fault(fmt::format("a copy of {} bytes from an address that is no multiple", bytes));
  find(t, Space::shared, to, bytes);
  if (read > 0) find(t, Space::global, from, 1), find(t, Space::global, from + read - 1, 1);
  t.open.push_back({to, from, bytes, read});
}
void copy_async(Thread& t, const Instruction& i) {
  const u32 bytes = get<u32>(t, i.slot[2]);
  begin_copy(t, i, bytes, i.slots > 3 ? get<u32>(t, i.slot[3]) : bytes);
}
void commit_copies(Thread& t, const Instruction&) {
  t.groups.push_back(std::move(t.open));
  t.open.clear();
}
/// All groups but the youngest.
void wait_for_copies(Thread& t, const Instruction& i) {
  const u32 may_stay = get<u32>(t, i.slot[0]);
  while (t.groups.size() > may_stay) {
    for (const Copy& copy : t.groups.front()) {
      u8* to = find(t, Space::shared, copy.to, copy.bytes);
      std::memset(to, 0, copy.bytes);
      if (copy.read > 0) std::memcpy(to, find(t, Space::global, copy.from, 1), copy.read);
    }
    t.groups.erase(t.groups.begin());
  }
}

}  // namespace

void add_data_movement(Table& t) {
  add_moves(t);
  add_spaces<u8>(t, "u8"), add_spaces<u16>(t, "u16"), add_spaces<u32>(t, "u32"), add_spaces<u64>(t, "u64");
  add_spaces<s8>(t, "s8"), add_spaces<s16>(t, "s16"), add_spaces<s32>(t, "s32"), add_spaces<s64>(t, "s64");
  add_spaces<u8>(t, "b8"), add_spaces<u16>(t, "b16"), add_spaces<u32>(t, "b32"), add_spaces<u64>(t, "b64");
  add_spaces<f32>(t, "f32"), add_spaces<f64>(t, "f64");
  atomics<u32, u64, s32, f32>(t, "add", []<class T>(T old, T b) -> T { return old + b; });
  atomics<u32>(t, "inc", []<class T>(T old, T b) -> T { return old >= b ? 0 : old + 1; });
  atomics<u32, u64, s32, s64>(t, "max", []<class T>(T old, T b) -> T { return old > b ? old : b; });
  atomics<u32, u64, s32, s64>(t, "min", []<class T>(T old, T b) -> T { return old < b ? old : b; });
  // Whoever comes next sees what was written in any case.
  for (const char* fence : {"membar.gl", "fence.acq_rel.gpu", "fence.sc.gpu"})
    t[fence] = {"9.7.13.4", Flow::next, [](Thread&, const Instruction&) {}};
  // Device memory has the same addresses in its own space and in all of memory; shared memory lies elsewhere there.
  line(t, "cvta.to.global.u64", "9.7.9.20", [](u64 a) { return a; });
  line(t, "cvta.global.u64", "9.7.9.20", [](u64 a) { return a; });
  t["cvta.shared.u64"] = {"9.7.9.20", Flow::next, [](Thread& thread, const Instruction& i) {
                            set<u64>(thread, i.slot[0], u64(thread.block->shared) + thread.registers[i.slot[1]]);
                          }};
  t["cvta.to.shared.u64"] = {"9.7.9.20", Flow::next, [](Thread& thread, const Instruction& i) {
                               set<u64>(thread, i.slot[0], thread.registers[i.slot[1]] - u64(thread.block->shared));
                             }};
  t["cvta.param.u64"] = {"9.7.9.20", Flow::next, [](Thread& thread, const Instruction& i) {
                           set<u64>(thread, i.slot[0], u64(thread.block->parameters) + thread.registers[i.slot[1]]);
                         }};
  t["cp.async.cg.shared.global"] = {"9.7.9.25.3.1", Flow::next, copy_async};
  t["cp.async.ca.shared.global"] = {"9.7.9.25.3.1", Flow::next, copy_async};
  t["cp.async.commit_group"] = {"9.7.9.25.3.2", Flow::next, commit_copies};
  t["cp.async.wait_group"] = {"9.7.9.25.3.3", Flow::next, wait_for_copies};
}

}  // namespace rungs::ptx
