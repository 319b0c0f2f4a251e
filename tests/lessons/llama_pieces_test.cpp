// Lessons 12 to 14 beside the library: the norm, the gate, the tokenizer.
#include "12_rms_norm/lesson.hpp"
#include "13_swiglu/lesson.hpp"
#include "14_tokenizer/lesson.hpp"
#include "rungs/base/file.hpp"
#include "rungs/ops/cpu_ops.hpp"
#include "rungs/tokenizer/tokenizer.hpp"
#include "rungs/tokenizer/utf8.hpp"
#include "support.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("lessons");

TEST_CASE("lesson 12: rms_norm equals the library's") {
  CpuOps ops;
  const Tensor x = random_tensor({9, 33}, 1), weight = random_tensor({33}, 2);
  Tensor plain({9, 33}), fast({9, 33});
  lesson_12::rms_norm(plain, x, weight, 1e-5f);
  ops.rms_norm(fast, x, weight, 1e-5f);
  CHECK(compare(plain, fast, {2 * 35 * unit_roundoff * 33}).pass);  // two sums of 33 squares, each in its own order
}

TEST_CASE("lesson 12: add_rms_norm equals the library's addition, then its norm") {
  CpuOps ops;
  const Tensor y = random_tensor({9, 33}, 1), weight = random_tensor({33}, 2);
  Tensor x = random_tensor({9, 33}, 3), stream = x.copy(), fused({9, 33}), normed({9, 33});
  lesson_12::add_rms_norm(fused, x, y, weight, 1e-5f);
  ops.add(stream, y);
  ops.rms_norm(normed, stream, weight, 1e-5f);
  CHECK(compare(x, stream, {0}).pass);  // one addition each
  CHECK(compare(fused, normed, {2 * 35 * unit_roundoff * 33}).pass);
}

TEST_CASE("lesson 13: the gate equals the library's") {
  CpuOps ops;
  const Tensor up = random_tensor({9, 33}, 1);
  Tensor plain = random_tensor({9, 33}, 2), fast = plain.copy();
  plain(0, 0) = fast(0, 0) = -200, plain(0, 1) = fast(0, 1) = 200;
  lesson_13::swiglu(plain, up);
  ops.silu_mul(fast, up);
  CHECK(compare(plain, fast, {200 * 8 * unit_roundoff}).pass);
}

static const std::vector<std::string> texts = {"",
                                               "Once upon a time, there was a happy fox.",
                                               "  several   spaces,\n\n\ttabs\r\n and lines ",
                                               "In 20245 it's what they'LL say: 1,000!",
                                               "un café très léger, cafe\u0301, ñandú",
                                               "你好，世界。 👩‍🚀🦊👍🏽",
                                               "<bos>Tom<turn>user said so<turn>users<eos>",
                                               "control \x01\x7f and a mark \ufeff"};

TEST_CASE("lesson 14: the ids and the text are the library's") {
  for (const char* model : {"references/models/bpe_small", "stories"}) {
    const auto file = weights_directory() / model / "tokenizer.json";
    const BpeTables bpe = load_bpe_tables(file);
    const std::unique_ptr<Tokenizer> library = load_tokenizer(file);
    for (const std::string& text : texts) {
      const std::vector<int32_t> ids = lesson_14::encode(bpe, text);
      INFO(model, ": ", text);
      CHECK(ids == library->encode_with_specials(text));
      CHECK(lesson_14::decode(bpe, ids) == library->decode(ids));
    }
  }
}

TEST_CASE("lesson 14: what may be shown after each token is the library's") {
  const BpeTables bpe = load_bpe_tables(weights_directory() / "references/models/bpe_small/tokenizer.json");
  for (const std::string& text : texts) {
    std::string held;
    Utf8Stream library;
    for (const int32_t id : lesson_14::encode(bpe, text))
      CHECK(lesson_14::decode_next(bpe, id, held) == library.add(bpe.is_special(id) ? "" : bpe.tokens[size_t(id)]));
    CHECK(held == "");
  }
}

TEST_CASE("the tables of a tokenizer say what is wrong with its file") {
  const Folder folder;
  const std::string good = read_text(weights_directory() / "references/models/bpe_small/tokenizer.json");
  const auto fails_with = [&](const std::string& from, const std::string& to, const char* why) {
    std::string text = good;
    REQUIRE(text.find(from) != text.npos);
    text.replace(text.find(from), from.size(), to);
    CHECK_THROWS_WITH_AS(load_bpe_tables(write_file(folder / "tokenizer.json", text)), doctest::Contains(why),
                         FileError);
  };
  fails_with("{", "[", "is not JSON");
  fails_with("\"merges\"", "\"joins\"", "no byte-level BPE");
  fails_with("\"b\": 69", "\"b\": 690", "wanted an id of its own below 440, found 690");
  fails_with("\"b\": 69", "\"b\": 1e300", "found 1e+300");
  fails_with("\"b\": 69", "\"b\": 68", "wanted an id of its own below 440, found 68");
  fails_with("\"b\": 69", "\"qz\": 69", "the byte 98 has no token");
}

TEST_SUITE_END();
