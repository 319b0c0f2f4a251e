// Each allocation of what reads, writes and computes fails once: it is said, nothing is torn down, and no file is left.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <exception>

#include "generate/tiny_model.hpp"
#include "rungs/batching/batch_engine.hpp"
#include "rungs/generate/generate.hpp"
#include "rungs/measure/allocations.hpp"
#include "rungs/model/convert.hpp"
#include "rungs/ops/cpu_ops.hpp"
#include "rungs/tokenizer/tokenizer.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("no memory");

namespace {

using Tokens = std::vector<int32_t>;

enum Ended { same = 10, threw, tore_down, differed };

/// What became of `action` when its n-th allocation failed, in a process of its own. The JSON library allocates in
/// destructors, where nothing can be thrown: that is the end of a program, which says why (`rungs` does, in main).
template <class Action, class Result>
int ended(int64_t n, const Action& action, const Result& wanted) {
  const pid_t child = fork();
  if (child == 0) {
    std::set_terminate([] {
      try {
        std::rethrow_exception(std::current_exception());
      } catch (const std::bad_alloc&) {
        _exit(tore_down);
      }
    });
    fail_allocation(n);
    try {
      const bool right = action() == wanted;
      fail_allocation(0);
      _exit(right ? same : differed);
    } catch (const std::bad_alloc&) {
      _exit(threw);
    } catch (const Error&) {
      _exit(threw);
    } catch (const std::filesystem::filesystem_error&) {
      _exit(threw);
    }
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/// Does `action` again and again, its first allocation failing, then its second, and so on; of many every so-many-th.
/// Where it does not throw, it must return what it returns with memory enough. `afterwards` looks at what is left.
void fail_each(const auto& action, const auto& afterwards) {
  const auto wanted = action();
  const int64_t before = allocations();
  REQUIRE(action() == wanted);
  const int64_t made = allocations() - before, stride = 1 + made / 500;
  std::map<int, int64_t> counts;
  for (int64_t n = 1; n <= made; n += n < 100 ? 1 : stride) {
    const int how = ended(n, action, wanted);
    INFO("allocation ", n, " of ", made);
    CHECK(how >= same);  // no signal
    CHECK(how != differed);
    ++counts[how];
    afterwards();
  }
  CHECK(counts[threw] > counts[tore_down]);
}

void fail_each(const auto& action) {
  fail_each(action, [] {});
}

std::string weights(const std::string& path) { return weights_directory() / path; }

bool can_fail() {
  if (fail_allocation(0)) return true;
  MESSAGE("SKIPPED: under the address sanitizer no allocation fails");
  return false;
}

}  // namespace

TEST_CASE("each tokenizer, read without enough memory") {
  if (!can_fail()) return;
  for (const char* kind : {"bytelevel", "metaspace", "sentencepiece", "tiktoken"}) {
    CAPTURE(kind);
    fail_each([&] { return load_tokenizer(weights(fmt::format("tokenizers/{}", kind)))->encode("Once upon a time"); });
  }
}

TEST_CASE("models, loaded and run without enough memory") {
  if (!can_fail()) return;
  const TinyModel tiny;
  for (const std::string& path : {tiny.path.string(), weights("references/models/llama_gqa")}) {
    CAPTURE(path);
    fail_each([&] {
      CpuOps ops;
      return generate(*load_model(ops, path), {Tokens{1, 2, 3}, Tokens{4}}, {.max_tokens = 3});
    });
  }
}

TEST_CASE("a model that is converted without enough memory leaves no file") {
  if (!can_fail()) return;
  const std::string from = weights("references/models/llama_mha");
  for (const char* name : {"x.gguf", "x.bin", "x"}) {
    CAPTURE(name);
    const Folder folder;
    const auto action = [&] {
      std::filesystem::remove_all(folder / name);
      convert_llama(from, folder / name, {});
      return std::filesystem::exists(folder / name);
    };
    fail_each(action, [&] {
      const std::vector<std::string> left = folder.files();
      CHECK((left.empty() || left == std::vector<std::string>{name}));
    });
  }
}

TEST_CASE("requests served without enough memory get their whole texts, or it is said") {
  if (!can_fail()) return;
  CpuOps ops;
  const auto model = load_model(ops, weights("references/models/llama_gqa"));
  fail_each([&] {
    BatchEngine engine(*model, {.blocks = 12, .block_size = 4, .max_running = 3, .max_rows = 8, .context = 20});
    std::vector<Tokens> texts(4);
    for (int32_t i = 0; i < 4; ++i) engine.submit({.prompt = {1, 2, 3, 4, 5, i}, .max_tokens = 6});
    while (!engine.idle())
      for (const DrawnToken& drawn : engine.step()) texts[size_t(drawn.id)].push_back(drawn.token);
    return texts;
  });
}

TEST_SUITE_END();
