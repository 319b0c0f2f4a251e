#include "kernels/emulator/checker/count.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <tuple>
#include <unordered_map>

#include "kernels/emulator/checker/source_line.hpp"
#include "kernels/emulator/engine/engine.hpp"

namespace rungs::emulator {
namespace {

/// One access by the lanes of a warp. Offsets are from the begin of an array, which is aligned like memory.
struct Request {
  uint32_t lanes = 0;
  std::array<size_t, 32> offset;
};

/// The k-th time since the last barrier, for one warp. Lanes run one after the other, so many requests are open.
struct OpenRequests {
  std::vector<Request> requests;
  std::array<uint32_t, 32> times{};  ///< each lane has come
};

/// One instruction and one size.
struct Instruction {
  Kind kind;
  bool shared;
  unsigned bytes;
  uint64_t lanes = 0, requests = 0, cost = 0, ideal = 0;
  CountedRequest costliest = {};
  bool open = false;  ///< has open requests
  std::array<OpenRequests, 32> warps;
};

std::unordered_map<uint64_t, Instruction> instructions;  // by site, size and memory
std::vector<Instruction*> open_now;                      // those with open requests
bool counting_now = std::getenv("RUNGS_COUNT") && std::string_view(std::getenv("RUNGS_COUNT")) == "1";

/// How many different values; sorts them.
size_t different(std::vector<size_t>& values) {
  std::sort(values.begin(), values.end());
  return size_t(std::unique(values.begin(), values.end()) - values.begin());
}

/// Global memory moves in sectors of 32 bytes.
void count_sectors(Instruction& instruction, const Request& request) {
  static std::vector<size_t> sectors, starts;
  sectors.clear();
  starts.clear();
  for (unsigned rest = request.lanes; rest; rest &= rest - 1) {
    const size_t begin = request.offset[size_t(__builtin_ctz(rest))];
    starts.push_back(begin);
    sectors.push_back(begin / 32);  // an access is aligned to its size, and crosses into no other
  }
  instruction.cost += different(sectors);
  instruction.ideal += (different(starts) * instruction.bytes + 31) / 32;
}

/// Shared memory has 32 banks, each 4 bytes wide: a wave serves one word of each bank, to all lanes that want it.
/// 8-byte accesses go by half warps and 16-byte accesses by quarters.
void count_waves(Instruction& instruction, const Request& request) {
  static std::vector<size_t> words;
  const unsigned lanes_at_once = instruction.bytes >= 16 ? 8 : instruction.bytes >= 8 ? 16 : 32;
  for (unsigned first = 0; first < 32; first += lanes_at_once) {
    const unsigned lanes = request.lanes & uint32_t(((uint64_t(1) << lanes_at_once) - 1) << first);
    if (!lanes) continue;
    words.clear();
    for (unsigned rest = lanes; rest; rest &= rest - 1) {
      const size_t begin = request.offset[size_t(__builtin_ctz(rest))];
      for (size_t word = begin / 4; word <= (begin + instruction.bytes - 1) / 4; ++word) words.push_back(word);
    }
    std::array<unsigned, 32> waves{};
    words.resize(different(words));
    for (const size_t word : words) ++waves[word % 32];
    instruction.cost += *std::max_element(waves.begin(), waves.end());
    ++instruction.ideal;
  }
}

void finish(Instruction& instruction, const Request& request) {
  const uint64_t cost = instruction.cost, ideal = instruction.ideal;  // so far
  ++instruction.requests;
  instruction.lanes += unsigned(__builtin_popcount(request.lanes));
  if (instruction.shared) {
    count_waves(instruction, request);
  } else {
    count_sectors(instruction, request);
  }
  if (instruction.cost - cost <= instruction.costliest.cost) return;
  instruction.costliest = {instruction.cost - cost, instruction.ideal - ideal, {}};
  for (unsigned lane = 0; lane < 32; ++lane)
    instruction.costliest.offset[lane] = request.lanes >> lane & 1 ? int64_t(request.offset[lane]) : -1;
}

/// In the order of the code, so that two runs give the same record.
std::map<uint64_t, const Instruction*> by_site() {
  std::map<uint64_t, const Instruction*> in_order;
  for (const auto& [key, instruction] : instructions) in_order.emplace(key, &instruction);
  return in_order;
}

const char* name_of(Kind kind) { return kind == Kind::read ? "load" : kind == Kind::atomic ? "atomic" : "store"; }

}  // namespace

bool counting() { return counting_now; }
void count_accesses(bool yes) { counting_now = yes; }
void reset_counts() {
  instructions.clear();
  open_now.clear();
}

void count_access(size_t offset, unsigned bytes, Kind kind, bool shared, uint32_t site) {
  for (; bytes > 16; bytes -= 16, offset += 16)
    count_access(offset, 16, kind, shared, site);  // no instruction has more
  // An asynchronous copy is one instruction that loads and stores: the two spaces keep them apart.
  const uint64_t key = uint64_t(site) << 8 | bytes << 1 | unsigned(shared);
  Instruction& instruction =
      instructions.try_emplace(key, Instruction{.kind = kind, .shared = shared, .bytes = bytes, .warps = {}})
          .first->second;
  if (!instruction.open) open_now.push_back(&instruction);
  instruction.open = true;
  const unsigned thread = unsigned(thread_index()), lane = thread % 32;
  OpenRequests& open = instruction.warps[thread / 32];
  const uint32_t time = open.times[lane]++;
  if (time >= open.requests.size()) open.requests.resize(time + 1);
  Request& request = open.requests[time];
  request.lanes |= 1u << lane;
  request.offset[lane] = offset;
}

void finish_counted_requests() {
  if (!counting_now) return;
  for (Instruction* instruction : open_now) {
    for (OpenRequests& open : instruction->warps) {
      for (const Request& request : open.requests) finish(*instruction, request);
      open.requests.clear();
      open.times.fill(0);
    }
    instruction->open = false;
  }
  open_now.clear();
}

std::vector<CountedLine> counted_lines() {
  std::map<std::tuple<std::string, int, bool, Kind, unsigned>, CountedLine> lines;
  const std::map<uint64_t, const Instruction*> in_order = by_site();
  for (const auto& [key, pointer] : in_order) {
    const Instruction& instruction = *pointer;
    const CodeLine& source = source_line(uint32_t(key >> 8));
    CountedLine& line = lines[{source.file, source.line, instruction.shared, instruction.kind, instruction.bytes}];
    line.file = source.file;
    line.line = source.line;
    line.shared = instruction.shared;
    line.kind = instruction.kind;
    line.access_bytes = instruction.bytes;
    line.bytes += instruction.lanes * instruction.bytes;
    line.requests += instruction.requests;
    line.cost += instruction.cost;
    line.ideal += instruction.ideal;
    if (instruction.costliest.cost > line.costliest.cost) line.costliest = instruction.costliest;
  }
  std::vector<CountedLine> result;
  for (auto& [key, line] : lines) result.push_back(std::move(line));
  return result;
}

std::string counted_json(const std::vector<CountedLine>& lines) {
  std::string json = "[";
  for (const CountedLine& line : lines) {
    json += fmt::format(
        R"({}{{"file": "{}", "line": {}, "memory": "{}", "access": "{}", "access_bytes": {}, "bytes": {}, )"
        R"("requests": {}, "{}": {}, "ideal": {}, "wasteful": {}, )"
        R"("costliest": {{"cost": {}, "ideal": {}, "offset": [{}]}}}})",
        json.size() > 1 ? ",\n " : "", line.file, line.line, line.shared ? "shared" : "global", name_of(line.kind),
        line.access_bytes, line.bytes, line.requests, line.shared ? "waves" : "sectors", line.cost, line.ideal,
        line.wasteful(), line.costliest.cost, line.costliest.ideal, fmt::join(line.costliest.offset, ", "));
  }
  return json + "]";
}

}  // namespace rungs::emulator
