// Compiled as dot.cpp is, so that both know the same targets.
#include "rungs/ops/processor.hpp"

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

static std::atomic<bool>& bf16_dot() {
  static std::atomic<bool> there = has_bf16_dot();
  return there;
}

static std::atomic<bool> exact = false;

bool uses_bf16_dot() { return bf16_dot() && !exact; }

void use_exact_products(bool wanted) { exact = wanted; }
bool exact_products() { return exact; }

std::vector<VectorTarget> vector_targets() {
  const int64_t here = hwy::SupportedTargets(), used = best_of(HWY_TARGETS & here);
  std::vector<VectorTarget> list;
  for (int64_t left = HWY_TARGETS; left != 0; left &= left - 1) {
    const int64_t target = best_of(left);
    list.push_back({hwy::TargetName(target), (target & here) != 0, target == used});
  }
  return list;
}

void use_vector_target(const std::string& name) {
  const int64_t here = hwy::SupportedTargets();
  std::string names;
  for (int64_t left = HWY_TARGETS & here; left != 0; left &= left - 1) {
    const int64_t target = best_of(left);
    if (hwy::TargetName(target) == name) {
      hwy::SetSupportedTargetsForTest(target);
      hwy::GetChosenTarget().Update(target);
      bf16_dot() = has_bf16_dot();
      return;
    }
    names += fmt::format("{}{}", names.empty() ? "" : ", ", hwy::TargetName(target));
  }
  throw UsageError(fmt::format("no vector target {} here; this processor runs {}", name, names));
}

std::string baseline() { return *RUNGS_BASELINE ? RUNGS_BASELINE : "the compiler's own choice"; }

}  // namespace rungs
