// Compiled as dot.cpp is, so that both know the same targets.
#include "rungs/ops/processor.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <fmt/format.h>
#include <hwy/targets.h>

#include <algorithm>
#include <atomic>

#include "rungs/base/error.hpp"

namespace rungs {

/// The best of a set of targets: Highway numbers them from the best up.
static int64_t best_of(int64_t targets) { return targets & -targets; }

/// Not asked for at each product: where the processor is a guest's, the question takes microseconds.
static bool has_bf16_dot() {
#if HWY_ARCH_X86
  return best_of(HWY_TARGETS & hwy::SupportedTargets()) <= HWY_AVX3_DL && __builtin_cpu_supports("avx512bf16");
#else
  return false;
#endif
}

bool is_intel() {
#if HWY_ARCH_X86
  static const bool intel = __builtin_cpu_is("intel");
  return intel;
#else
  return false;
#endif
}

/// Emerald Rapids computes a quarter as many of these instructions a second as of multiply-adds, so half the products
/// (bench/README.md). AMD's processors gain by them.
static bool bf16_dot_pays() { return !is_intel(); }

static std::atomic<bool>& bf16_dot() {
  static std::atomic<bool> used = has_bf16_dot() && bf16_dot_pays();
  return used;
}

/// Linux lends the tile registers to programs that ask.
static bool has_tiles() {
#if HWY_ARCH_X86_64 && defined(__linux__)
  constexpr unsigned bf16 = 1u << 22, tile = 1u << 24, int8 = 1u << 25, all = bf16 | tile | int8;
  constexpr long ask_for_state = 0x1023, tile_data = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  unsigned a = 0, b = 0, c = 0, d = 0;
  return has_bf16_dot() && __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & all) == all &&
         syscall(SYS_arch_prctl, ask_for_state, tile_data) == 0;
#else
  return false;
#endif
}

static std::atomic<bool>& tiles() {
  static std::atomic<bool> there = has_tiles();
  return there;
}

bool uses_tiles() { return tiles(); }

static bool has_avx_vnni() {
#if HWY_ARCH_X86
  unsigned a = 0, b = 0, c = 0, d = 0;
  return (hwy::SupportedTargets() & HWY_AVX2) != 0 && __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 &&
         (a & 1u << 4) != 0;
#else
  return false;
#endif
}

static std::atomic<bool>& avx_vnni() {
  static std::atomic<bool> there = has_avx_vnni();
  return there;
}

bool uses_avx_vnni() { return avx_vnni(); }

/// Which Zen of AMD's this is, from the fourth on, the first with AVX-512 (family 25; Zen 5 is 26); otherwise 0.
static int zen() {
#if HWY_ARCH_X86_64
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__builtin_cpu_is("amd") || !__builtin_cpu_supports("avx512f") || __get_cpuid(1, &a, &b, &c, &d) == 0) return 0;
  const unsigned family = (a >> 8 & 15) + (a >> 20 & 255);
  return family == 25 ? 4 : family == 26 ? 5 : 0;
#else
  return 0;
#endif
}

/// A request keeps one of a core's few places for lines that are on their way until memory has answered. Zen 4 sees far
/// enough ahead by itself, and brings lines as near as its second cache: there it pays to ask only for what should be
/// in it by now. On Zen 5 one row beside f32 was faster so; why was not looked for.
int64_t bytes_asked_ahead(bool one_row_of_f32) {
  static const int generation = zen();
  return generation == 4 || (generation == 5 && one_row_of_f32) ? 256 : 2048;
}

static std::atomic<bool> exact = false;

bool uses_bf16_dot() { return bf16_dot() && !exact; }

void use_exact_products(bool wanted) { exact = wanted; }
bool exact_products() { return exact; }

/// Highway does not know of tile registers, nor of AVX-VNNI: each stands for a target of its own, before the best of
/// Highway's and before AVX2.
constexpr const char *tiles_name = "AMX", *avx_vnni_name = "AVX2_VNNI";

std::vector<VectorTarget> vector_targets() {
  const int64_t here = hwy::SupportedTargets(), used = best_of(HWY_TARGETS & here);
  std::vector<VectorTarget> list;
#if HWY_ARCH_X86_64
  list.push_back({tiles_name, has_tiles(), tiles()});
#endif
  for (int64_t left = HWY_TARGETS; left != 0; left &= left - 1) {
    const int64_t target = best_of(left);
    const bool chosen = target == used && !tiles(), vnni = target == HWY_AVX2 && avx_vnni();
    if (target == HWY_AVX2) list.push_back({avx_vnni_name, has_avx_vnni(), chosen && vnni});
    list.push_back({hwy::TargetName(target), (target & here) != 0, chosen && !vnni});
  }
  return list;
}

void use_vector_target(const std::string& name) {
  std::string names;
  bool runs = false;
  for (const VectorTarget& t : vector_targets()) {
    if (!t.runs_here) continue;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", t.name);
    runs = runs || t.name == name;
  }
  if (!runs) throw UsageError(fmt::format("no vector target {} here; this processor runs {}", name, names));
  const int64_t here = HWY_TARGETS & hwy::SupportedTargets();
  int64_t wanted = best_of(here);  // beside tile registers
  for (int64_t left = here; left != 0; left &= left - 1)
    if (hwy::TargetName(best_of(left)) == name) wanted = best_of(left);
  if (name == avx_vnni_name) wanted = HWY_AVX2;
  hwy::SetSupportedTargetsForTest(wanted);
  hwy::GetChosenTarget().Update(wanted);
  tiles() = name == tiles_name;
  avx_vnni() = name == avx_vnni_name;
  bf16_dot() = has_bf16_dot() && (!tiles() || bf16_dot_pays());  // vectors that are asked for take all that they have
}

std::string baseline() { return *RUNGS_BASELINE ? RUNGS_BASELINE : "the compiler's own choice"; }

}  // namespace rungs
