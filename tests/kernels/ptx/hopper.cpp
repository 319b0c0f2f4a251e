// mbarrier, the copy engine (TMA) and wgmma, as far as matmul_08 needs them. Copies and products are carried out as
// late as the program allows: a copy when nobody can go on without it, a product when it is waited for.
#include "hopper.hpp"

#include <fmt/format.h>

#include "conversions.hpp"
#include "fault.hpp"
#include "memory.hpp"
#include "sums.hpp"
#include "table.hpp"
#include "tensor_map.hpp"

namespace rungs::ptx {
namespace {

// Barriers that count bytes.

CountingBarrier& barrier_at(Block& block, u32 address) {
  const auto found = block.hopper->barriers.find(address);
  if (found == block.hopper->barriers.end()) throw Fault("no mbarrier was made at this address");
  return found->second;
}

void end_phase_if_complete(CountingBarrier& barrier) {
  if (barrier.pending < 0) throw Fault("more have arrived at an mbarrier than it was made for");
  if (barrier.pending > 0 || barrier.bytes != 0) return;
  barrier.phase ^= 1;
  barrier.pending = barrier.arrivals;
}

u32 address_in(const Thread& t, const Instruction& i, u32 operand, u32 offset) {
  return u32(t.registers[i.slot[operand]] + u64(i.offset[offset]));
}

/// mbarrier.init [a], arrivals
void make_barrier(Thread& t, const Instruction& i) {
  const u32 address = address_in(t, i, 0, 0), arrivals = get<u32>(t, i.slot[1]);
  find(t, Space::shared, address, 8);
  t.block->hopper->barriers[address] = {arrivals, arrivals, 0, 0};
}

/// mbarrier.arrive _, [a]
void arrive(Thread& t, const Instruction& i) {
  if (i.slots > 2) throw Fault("an mbarrier.arrive with a count");
  CountingBarrier& barrier = barrier_at(*t.block, address_in(t, i, 1, 0));
  --barrier.pending;
  end_phase_if_complete(barrier);
}

/// mbarrier.arrive.expect_tx _, [a], bytes
void arrive_expecting(Thread& t, const Instruction& i) {
  CountingBarrier& barrier = barrier_at(*t.block, address_in(t, i, 1, 0));
  barrier.bytes += get<u32>(t, i.slot[2]);
  --barrier.pending;
  end_phase_if_complete(barrier);
}

// The copy engine.

/// cp.async.bulk.tensor [to], [map, {x, y, ...}], [barrier]
template <u32 rank>
void begin_box(Thread& t, const Instruction& i) {
  BoxCopy copy{address_in(t, i, 0, 0), get<u32>(t, i.slot[2 + rank]), t.registers[i.slot[1]], {}, rank};
  for (u32 d = 0; d < rank; ++d) copy.begin[d] = get<s32>(t, i.slot[2 + d]);
  barrier_at(*t.block, copy.barrier);
  t.block->hopper->copies.push_back(copy);
}

/// Where a byte lies in the swizzle of 128 bytes: which 16 bytes of a line are meant depends on the line.
u32 swizzled(u32 address) { return address ^ (address >> 7 & 7) << 4; }

// Products of warp groups.

/// Element (row, column) of a matrix in the swizzle of 128 bytes, rows of 64 bf16 (PTX ISA 9.0, 9.7.15.5.1).
f32 element(const Thread& t, u64 descriptor, u32 row, u32 column) {
  const u32 begin = u32(descriptor & 0x3fff) << 4, eight_rows = u32(descriptor >> 32 & 0x3fff) << 4;
  const u32 address = begin + row / 8 * eight_rows + row % 8 * 128 + column * 2;
  u16 bits;
  std::memcpy(&bits, find(t, Space::shared, swizzled(address), 2), 2);
  return from_bf16(bits);
}

/// sum (64, 256), a (64, 16), b (256, 16). Thread t holds of the sum what PTX ISA 9.0, 9.7.15.5.1 says.
void multiply(const Product& product) {
  static Factors a[64], b[256];
  Thread* threads = product.threads;
  for (u32 k = 0; k < 16; ++k) {
    for (u32 row = 0; row < 64; ++row) a[row].put(k, element(*threads, product.a, row, k));
    for (u32 row = 0; row < 256; ++row) b[row].put(k, element(*threads, product.b, row, k));
  }
  for (u32 t = 0; t < 128; ++t)
    for (u32 n = 0; n < 128; ++n) {
      const u32 row = t / 32 * 16 + t % 32 / 4 + n / 2 % 2 * 8, column = n / 4 * 8 + t % 4 * 2 + n % 2;
      const u32 slot = product.instruction->slot[n];
      const f32 sum = product.add ? get<f32>(threads[t], slot) : 0.0f;
      set<f32>(threads[t], slot, add_products(sum, a[row], b[column], hopper));
    }
}

std::vector<std::vector<Product>>& groups_of(Thread* threads) {
  auto& groups = threads->block->hopper->groups[threads];
  if (groups.empty()) groups.emplace_back();
  return groups;
}

/// wgmma.mma_async {128 sums}, a, b, add, scale of a, scale of b, transpose a, transpose b
void begin_product(Thread* threads, u32, const Instruction& i) {
  const u32* rest = i.slot + 128;
  const u64 a = threads->registers[rest[0]], b = threads->registers[rest[1]];
  for (u32 t = 1; t < 128; ++t)
    if (threads[t].registers[rest[0]] != a || threads[t].registers[rest[1]] != b)
      throw Fault("the threads of a warp group give different matrices");
  for (const u64 descriptor : {a, b})
    if (descriptor >> 62 != 1 || (descriptor >> 49 & 7) != 0)
      throw Fault("a matrix that does not lie in the swizzle of 128 bytes");
  const bool plain = get<s32>(*threads, rest[3]) == 1 && get<s32>(*threads, rest[4]) == 1 &&
                     get<s32>(*threads, rest[5]) == 0 && get<s32>(*threads, rest[6]) == 0;
  if (!plain) throw Fault("a product of negated or transposed matrices");
  groups_of(threads).back().push_back({threads, &i, a, b, get<bool>(*threads, rest[2])});
}
void commit_products(Thread* threads, u32, const Instruction&) { groups_of(threads).emplace_back(); }
/// All groups but the youngest.
void wait_for_products(Thread* threads, u32, const Instruction& i) {
  auto& groups = groups_of(threads);
  const u32 may_stay = get<u32>(*threads, i.slot[0]);
  while (groups.size() - 1 > may_stay) {
    for (const Product& product : groups.front()) multiply(product);
    groups.erase(groups.begin());
  }
}

void nothing(Thread&, const Instruction&) {}
void nothing_together(Thread*, u32, const Instruction&) {}

}  // namespace

bool phase_has_ended(const Thread& t, const Instruction& i) {
  return barrier_at(*t.block, address_in(t, i, 1, 0)).phase != (get<u32>(t, i.slot[2]) & 1);
}

bool copy_one_box(Block& block) {
  if (block.hopper->copies.empty()) return false;
  const BoxCopy copy = block.hopper->copies.front();
  block.hopper->copies.pop_front();
  const Thread& thread = block.threads[0];  // any: the spaces are the block's
  TensorMap map;
  for (u32 word = 0; word < sizeof map; word += 8)
    std::memcpy(reinterpret_cast<u8*>(&map) + word, find(thread, Space::generic, copy.map + word, 8), 8);
  if (map.rank != copy.rank) throw Fault("a tensor map of another number of dimensions");
  if (copy.to % 128 != 0) throw Fault("a box that begins at no multiple of 128 bytes of shared memory");
  u32 elements = 1;
  for (u32 d = 0; d < map.rank; ++d) elements *= map.box[d];
  for (u32 n = 0; n < elements; ++n) {
    u64 from = map.address;
    bool inside = true;  // of the tensor; outside are zeros
    u32 rest = n;
    for (u32 d = 0; d < map.rank; rest /= map.box[d++]) {
      const s64 at = copy.begin[d] + s64(rest % map.box[d]);
      inside &= at >= 0 && u64(at) < map.size[d];
      from += u64(at) * map.stride[d];
    }
    u8* to = find(thread, Space::shared, swizzled(copy.to + n * 2), 2);
    const u16 zero = 0;
    std::memcpy(to, inside ? static_cast<const void*>(find(thread, Space::global, from, 2)) : &zero, 2);
  }
  CountingBarrier& barrier = barrier_at(block, copy.barrier);
  barrier.bytes -= elements * 2;
  end_phase_if_complete(barrier);
  return true;
}

void add_hopper(Table& t) {
  t["mbarrier.init.shared::cta.b64"] = {"9.7.13.15.9", Flow::next, make_barrier};
  t["mbarrier.arrive.shared::cta.b64"] = {"9.7.13.15.13", Flow::next, arrive};
  t["mbarrier.arrive.expect_tx.shared::cta.b64"] = {"9.7.13.15.13", Flow::next, arrive_expecting};
  t["mbarrier.try_wait.parity.shared::cta.b64"] = {"9.7.13.15.16", Flow::phase};
  t["fence.mbarrier_init.release.cluster"] = {"9.7.13.4", Flow::next, nothing};
  t["fence.proxy.async.shared::cta"] = {"9.7.13.4", Flow::next, nothing};
  const std::string box = "cp.async.bulk.tensor.", where = ".shared::cluster.global.mbarrier::complete_tx::bytes";
  t[box + "2d" + where] = {"9.7.9.25.5.2", Flow::next, begin_box<2>};
  t[box + "3d" + where] = {"9.7.9.25.5.2", Flow::next, begin_box<3>};
  t["wgmma.fence.sync.aligned"] = {"9.7.15.7.1", Flow::warp_group, nullptr, nothing_together};
  t["wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16"] = {"9.7.15.5.2", Flow::warp_group, nullptr, begin_product};
  t["wgmma.commit_group.sync.aligned"] = {"9.7.15.7.2", Flow::warp_group, nullptr, commit_products};
  t["wgmma.wait_group.sync.aligned"] = {"9.7.15.7.3", Flow::warp_group, nullptr, wait_for_products};
}

}  // namespace rungs::ptx
