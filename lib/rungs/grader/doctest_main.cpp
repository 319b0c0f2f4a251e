// The main of every doctest program: doctest's own, but a run that executed no test case is an error and not a pass.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <exception>

#include "rungs/ops/processor.hpp"

static int executed = 0;

struct CountCases : doctest::IReporter {
  explicit CountCases(const doctest::ContextOptions&) {}
  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats&) override {}
  void test_case_start(const doctest::TestCaseData&) override { ++executed; }
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_end(const doctest::CurrentTestCaseStats&) override {}
  void test_case_exception(const doctest::TestCaseException&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData&) override {}
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}
};
REGISTER_LISTENER("count", 1, CountCases);

int main(int argc, char** argv) {
  doctest::Context context(argc, argv);
  if (const char* target = std::getenv("RUNGS_VECTOR_TARGET")) {
    try {
      rungs::use_vector_target(target);
    } catch (const std::exception& e) {
      std::printf("SKIPPED: %s\n", e.what());
      return 77;
    }
    std::printf("The products use %s.\n", target);
  }
  const int result = context.run();
  if (context.shouldExit()) return result;  // --list-test-cases and the like
  if (executed == 0) {
    std::fputs("no test case was executed: is the filter mistyped?\n", stderr);
    return 1;
  }
  return result;
}
