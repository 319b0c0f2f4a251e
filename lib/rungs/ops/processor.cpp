// Compiled as dot.cpp is, so that both know the same targets.
#include "rungs/ops/processor.hpp"

#include <fmt/format.h>
#include <hwy/targets.h>

#include <algorithm>

#include "rungs/base/error.hpp"

namespace rungs {

/// The best of a set of targets: Highway numbers them from the best up.
static int64_t best_of(int64_t targets) { return targets & -targets; }

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
      return;
    }
    names += fmt::format("{}{}", names.empty() ? "" : ", ", hwy::TargetName(target));
  }
  throw UsageError(fmt::format("no vector target {} here; this processor runs {}", name, names));
}

std::string baseline() { return *RUNGS_BASELINE ? RUNGS_BASELINE : "the compiler's own choice"; }

}  // namespace rungs
