/// The suites as doctest cases: `-ts=evaluate`, `-ts=kv_evaluate`, and the same words as labels of ctest.
#pragma once

#include <doctest/doctest.h>

namespace rungs {

/// Grades one case of the solution and checks that it passes; the report of a failure is the grader's.
void check_case(const char* lesson, const char* name);

/// Grades the solution on every case of kv_evaluate.
void check_kv_evaluate(const char* lesson);

}  // namespace rungs
