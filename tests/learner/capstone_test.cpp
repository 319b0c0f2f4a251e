// rungs generate --mine: LLaMA on the learner's own files.
#include <fmt/format.h>

#include <set>

#include "contains.hpp"
#include "learner/learner.hpp"
#include "rungs/model/config.hpp"
#include "rungs/model/random_llama.hpp"

using namespace rungs;
using namespace rungs::test;

namespace {

const std::string story = "--prompt 'Once upon a time' --temperature 0 --max-tokens 12";

/// A solution that says on stderr, once for each of its regions, that it runs.
std::string talking(const std::string& lesson) {
  std::string code = solution_of(lesson);
  size_t at = 0;
  for (int step = 1; (at = code.find("// >>>", at)) != code.npos; ++step) {
    at = code.find('\n', at) + 1;
    const std::string says =
        fmt::format("{{ static const int said = std::fputs(\"runs {} {}\\n\", stderr); (void)said; }}\n", lesson, step);
    code.insert(at, says);
    at += says.size();
  }
  return "#include <cstdio>\n" + code;
}

std::set<std::string> lines_with(const std::string& beginning, const std::string& text) {
  std::set<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    if (text.compare(at, beginning.size(), beginning) == 0) lines.insert(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

}  // namespace

TEST_SUITE_BEGIN("learner");

TEST_CASE("before anything is written, all parts are the library's, and it is said how to start") {
  Learner learner;
  CHECK(learner.types("generate --mine " + story) == 0);
  CHECK(learner.text == Contains("On the library's:\n  01_tensor         linear  not started: ./rungs start 01\n"));
  CHECK(learner.text.find("On your code:") == std::string::npos);
  const std::string text = learner.out;
  CHECK(learner.types("generate " + story) == 0);
  CHECK(learner.out == text);
  CHECK(learner.work.files().empty());
}

TEST_CASE("with every lesson written, a story runs through each of them, and is the library's to the letter") {
  Learner learner;
  for (const Lesson& l : find_lessons(RUNGS_SOURCE_DIR, RUNGS_BINARY_DIR)) learner.writes(l.name, talking(l.name));
  CHECK(learner.types("generate --mine " + story) == 0);
  CHECK(learner.text.find("On the library's:") == std::string::npos);
  CHECK(learner.out.starts_with(", there was"));
  const std::set<std::string> runs = lines_with("runs ", learner.text);
  for (const char* one : {"runs 01_tensor", "runs 02_embedding", "runs 07_generate", "runs 10_grouped_query",
                          "runs 11_rope", "runs 12_rms_norm", "runs 13_swiglu", "runs 14_tokenizer"})
    CHECK(!lines_with(one, learner.text).empty());
  for (int step = 1; step <= 13; ++step) CHECK(runs.count(fmt::format("runs 15_llama {}", step)) == 1);
  const std::string text = learner.out;

  CHECK(learner.types("generate " + story) == 0);
  CHECK(learner.out == text);
  CHECK(learner.types("generate --mine --no-cache " + story) == 0);
  CHECK(learner.out == text);

  CHECK(learner.types("generate --mine --model " + (weights_directory() / "decoder").string() + " " + story) == 0);
  for (const char* one : {"runs 03_layer_norm", "runs 04_feed_forward", "runs 08_kv_cache"})
    CHECK(!lines_with(one, learner.text).empty());

  // Attention of a LLaMA is lesson 10's even where it has a single head, as the list says.
  const Folder folder;
  Config single = load_config(weights_directory() / "stories");
  single.num_heads = single.num_kv_heads = 1;
  save_random_llama(folder.path(), single, DType::f32, 1);
  std::filesystem::copy(weights_directory() / "stories/tokenizer.json", folder.path());
  CHECK(learner.types("generate --mine --model " + folder.path().string() + " " + story) == 0);
  CHECK(!lines_with("runs 10_grouped_query", learner.text).empty());
  CHECK(lines_with("runs 08_kv_cache", learner.text).empty());

  // A quantized file: the learner's linear gets its numbers in f32, and the story is the same.
  const std::string quantized = (folder / "stories.gguf").string();
  CHECK(learner.types("convert " + (weights_directory() / "stories").string() + " " + quantized + " --dtype q8_0") ==
        0);
  CHECK(learner.types("generate --mine --model " + quantized + " " + story) == 0);
  CHECK(learner.out == text);
  CHECK(!lines_with("runs 01_tensor", learner.text).empty());

  // A file that no longer passes gives way to the library.
  learner.writes("12_rms_norm", "#include \"lesson.hpp\"\nint half_written = ;\n");
  CHECK(learner.types("generate --mine " + story) == 0);
  CHECK(learner.text == Contains("On the library's:\n  12_rms_norm       rms_norm  does not pass: ./rungs check 12\n"));
  CHECK(lines_with("runs 12_rms_norm", learner.text).empty());
  CHECK(learner.out == text);
}

/// A solution that says on stderr, at each of these calls, that it runs.
static std::string saying(const std::string& lesson, const std::string& call) {
  std::string code = solution_of(lesson);
  size_t found = 0;
  for (size_t at = 0; (at = code.find(call, at)) != code.npos; at += call.size() + 8) {
    code.insert(at, "says(), ");
    ++found;
  }
  REQUIRE(found > 0);
  return "#include <cstdio>\nstatic void says() { std::fputs(\"runs " + lesson + "\\n\", stderr); }\n" + code;
}

static size_t times(const std::string& what, const std::string& text) {
  size_t found = 0;
  for (size_t at = 0; (at = text.find(what, at)) != text.npos; at += what.size()) ++found;
  return found;
}

TEST_CASE("with kernels written, a story runs through them, and is the library's to the letter") {
  Learner learner;
  for (const char* name : {"18_cuda_reduce", "19_cuda_attention", "21_tensor_cores"})
    learner.writes(name, saying(name, "launch("));
  CHECK(learner.types("generate --mine --backend cuda --on emulator " + story) == 0);
  CHECK(lines_with("runs ", learner.text) ==
        std::set<std::string>{"runs 18_cuda_reduce", "runs 19_cuda_attention", "runs 21_tensor_cores"});
  CHECK(learner.text == Contains("On the library's:\n  07_generate "));
  CHECK(learner.text == Contains("  16_cuda_first     add  not started: ./rungs start 16\n"));
  CHECK(learner.text == Contains("  20_cuda_llama     llama_forward, from the first new token on  not started"));
  const std::string text = learner.out;
  CHECK(learner.types("generate " + story) == 0);
  CHECK(learner.out == text);

  // Products are lesson 17's where lesson 21 has not passed, and sums lesson 16's.
  std::filesystem::remove(learner.file("21_tensor_cores"));
  for (const char* name : {"16_cuda_first", "17_cuda_matmul"}) learner.writes(name, saying(name, "launch("));
  const std::string beginning = "--prompt 'Once upon a time' --temperature 0 --max-tokens 4";
  CHECK(learner.types("generate --mine --backend cuda --on emulator " + beginning) == 0);
  CHECK(lines_with("runs ", learner.text) == std::set<std::string>{"runs 16_cuda_first", "runs 17_cuda_matmul",
                                                                   "runs 18_cuda_reduce", "runs 19_cuda_attention"});
  CHECK(learner.text == Contains("  17_cuda_matmul    matmul_vectorized, where 21 takes no part\n"));
  CHECK(learner.text == Contains("  21_tensor_cores   matmul_pipeline, for weights in bf16  not started"));
  const std::string begun = learner.out;
  CHECK(learner.types("generate " + beginning) == 0);
  CHECK(learner.out == begun);

  CHECK(learner.types("generate --mine --backend cuda-naive " + story) == 2);
  CHECK(learner.text == Contains("--mine runs your kernels: --backend cuda, or cpu"));
}

TEST_CASE("the steps of lesson 20 launch the learner's own RMSNorm and attention, and the story stays") {
  Learner learner;
  learner.writes("20_cuda_llama", saying("20_cuda_llama", "embedding_01("));
  learner.writes("18_cuda_reduce", saying("18_cuda_reduce", "launch(rms_norm_kernel"));
  learner.writes("19_cuda_attention", saying("19_cuda_attention", "launch(split_kernel"));
  CHECK(learner.types("generate --mine --backend cuda --on emulator " + story) == 0);
  CHECK(learner.text == Contains("  20_cuda_llama     llama_forward, from the first new token on\n"));
  const Config config = load_config(weights_directory() / "stories");
  const size_t layers = size_t(config.num_layers), calls = 12;  // the prompt, and eleven tokens that are fed
  CHECK(times("runs 20_cuda_llama", learner.text) == calls - 1);
  CHECK(times("runs 18_cuda_reduce", learner.text) == calls * (2 * layers + 1));
  CHECK(times("runs 19_cuda_attention", learner.text) == (calls - 1) * layers);
  const std::string text = learner.out;
  CHECK(learner.types("generate " + story) == 0);
  CHECK(learner.out == text);

  // Several prompts, of which one ends before the others: fewer rows from then on.
  const std::string prompts =
      "--prompt 'Once upon a time' --prompt 'Mia' --prompt 'The end' --temperature 0 --max-tokens 40";
  CHECK(learner.types("generate --mine --backend cuda --on emulator " + prompts) == 0);
  const std::string texts = learner.out;
  CHECK(learner.types("generate " + prompts) == 0);
  CHECK(learner.out == texts);
}

TEST_SUITE_END();
