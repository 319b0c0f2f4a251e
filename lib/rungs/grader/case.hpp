/// A case is named tensors: what goes in, what must come out, and the taps on the way.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rungs/tensor/compare.hpp"
#include "rungs/tensor/tensor.hpp"

namespace rungs {

/// Tensors by their names.
using NamedTensors = std::map<std::string, ConstTensor>;

/// What the code under grade is given.
struct CaseInput {
  std::string name;   ///< "attend_02_two_tokens"
  std::string run;    ///< which function: "sdpa"
  std::string model;  ///< a model directory under weights/, or ""
  NamedTensors in;
  FreshMemory fresh = FreshMemory::nan;

  /// An input tensor. \throws FileError when the case has none of that name.
  const Tensor& operator[](const std::string& key) const;
  /// A scalar input. \throws FileError as above
  double scalar(const std::string& key) const { return (*this)[key].value(0); }
  CaseInput copy() const;
  /// A copy with this in fresh memory.
  CaseInput with_fresh(FreshMemory memory) const;
};

/// One output or tap of the reference.
struct Reference {
  std::string name;
  ConstTensor value;              ///< f64; i32 for ids, i64 for counts
  std::vector<std::string> dims;  ///< {"query", "key"}
  double absolute = 0;            ///< tolerance of every element
  ConstTensor each;               ///< or of each element
  bool is_output = false;         ///< an output must come and must be right; a tap only helps to find the mistake

  Tolerance tolerance() const {
    const Tensor& of_each = each;
    return {absolute, each ? &of_each : nullptr};
  }
};

/// A case with its references, as only the grader sees it.
struct Case {
  CaseInput input;
  std::string says;                    ///< why it exists
  std::string error;                   ///< when not empty, the right answer is to throw, and this says why
  std::vector<Reference> references;   ///< in the order of the computation
  std::optional<int64_t> linear_rows;  ///< rows that go through ops.linear when nothing is computed twice

  const Reference* find(const std::string& tensor) const;
  Case copy() const;
};

/// The tolerance is this many times the largest error of PyTorch's own float32 run.
inline constexpr double tolerance_per_error32 = 8;

/// Reads one case folder: case.json, in/, out/, taps/, tolerance/. \throws FileError
Case load_case(const std::filesystem::path& directory);

/// All cases of a lesson, in the order of their names. \throws FileError when there is none.
std::vector<Case> load_cases(const std::filesystem::path& directory);

}  // namespace rungs
