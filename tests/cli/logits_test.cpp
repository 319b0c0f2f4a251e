#include "cli.hpp"
#include "rungs/model/model.hpp"
#include "rungs/ops/cpu_ops.hpp"
#include "rungs/tensor/npy.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("cli");

namespace {

/// Sums of up to 20 terms in another order, through 2 layers, on values near one.
constexpr double tolerance = 256 * unit_roundoff;

Tensor some_tokens(const Shape& shape, DType dtype) {
  Tensor tokens(shape, dtype);
  for (int64_t i = 0; i < tokens.count(); ++i) {
    const int64_t id = 2 + i * 11 % 28;
    if (dtype == DType::i64)
      tokens.data<int64_t>()[i] = id;
    else
      tokens.data<int32_t>()[i] = int32_t(id);
  }
  return tokens;
}

struct LogitsFiles {
  TinyModel model;
  Folder folder;
  std::string tokens = folder / "tokens.npy", out = folder / "out.npy";
  std::string logits = "logits --model " + model.path.string() + " --tokens " + tokens + " --out " + out + " ";

  Tensor run(const std::string& more) const {
    const Outcome outcome = run_rungs(logits + more);
    CHECK(outcome.status == 0);
    CHECK(outcome.out + outcome.err == "");
    return load_npy(out);
  }
};

void check_same(const Tensor& got, const Tensor& want) {
  const Comparison c = compare(got, want, {.absolute = tolerance});
  CHECK(c.shape_problem == "");
  CHECK(c.wrong == 0);
  CHECK(c.pass);
}

}  // namespace

TEST_CASE("logits in chunks of every size equal the whole, with and without the cache") {
  const LogitsFiles f;
  save_npy(f.tokens, some_tokens({13}, DType::i32));
  const Tensor whole = f.run("--no-cache");
  CHECK(whole.shape() == Shape{13, 30});
  CHECK(whole.dtype() == DType::f32);
  check_same(f.run(""), whole);
  for (int chunk = 0; chunk <= 14; ++chunk) check_same(f.run("--chunk " + std::to_string(chunk)), whole);
}

TEST_CASE("a batch of tokens gives each sequence its own logits, in int32 and int64") {
  const LogitsFiles f;
  const Tensor batch = some_tokens({3, 7}, DType::i64);
  save_npy(f.tokens, batch);
  const Tensor together = f.run(""), chunked = f.run("--chunk 3"), uncached = f.run("--no-cache");
  CHECK(together.shape() == Shape{3, 7, 30});
  check_same(chunked, together);
  check_same(uncached, together);
  for (int64_t b = 0; b < 3; ++b) {
    save_npy(f.tokens, converted(batch, DType::i32)[b]);
    check_same(f.run(""), together[b]);
  }
}

TEST_CASE("the logits of a text are those of BOS and its tokens") {
  const LogitsFiles f;
  Tensor tokens({3}, DType::i32);
  const int32_t the_cat[] = {0, 24, 25};
  std::copy_n(the_cat, 3, tokens.data<int32_t>());
  save_npy(f.tokens, tokens);
  const Tensor want = f.run("");
  const std::string text = "logits --model " + f.model.path.string() + " --out " + f.out + " --text ";
  CHECK(run_rungs(text + "'the cat'").status == 0);
  check_same(load_npy(f.out), want);
  save_npy(f.tokens, Tensor::view_of(the_cat, {1}, DType::i32));
  const Tensor of_bos = f.run("");
  CHECK(run_rungs(text + "''").status == 0);
  check_same(load_npy(f.out), of_bos);
  check_fails(text + "'the Z'", 2, "byte 0x5A at offset 4 of the text has no token");
  check_fails(text + "'aaaaaaaaaaaaaaaaaaaaaaaaa'", 2, "the text has 27 tokens, more than the model's context of 24");
}

TEST_CASE("the logits are the model's") {
  const LogitsFiles f;
  const Tensor tokens = some_tokens({5}, DType::i32);
  save_npy(f.tokens, tokens);
  CpuOps ops;
  const auto model = load_model(ops, f.model.path);
  Batch batch;
  batch.add(0, {tokens.data<int32_t>(), 5}, 0, false);
  Tensor want({5, 30});
  model->forward(want, batch, nullptr);
  check_same(f.run("--no-cache"), want);
}

TEST_CASE("--taps writes every tap with the dimensions that the tokens had") {
  const LogitsFiles f;
  save_npy(f.tokens, some_tokens({2, 5}, DType::i32));
  const std::string whole = f.folder / "a", parts = f.folder / "b/c";
  const Tensor logits = f.run("--taps " + whole);
  f.run("--chunk 2 --taps " + parts);
  const std::pair<const char*, int64_t> taps[] = {
      {"x", 12}, {"layers.0.q", 8}, {"layers.1.attn_out", 8}, {"layers.1.hidden", 20}, {"normed", 12}, {"logits", 30}};
  for (const auto& [name, columns] : taps) {
    const Tensor tap = load_npy(whole + "/" + name + ".npy");
    CHECK(tap.shape() == Shape{2, 5, columns});
    check_same(load_npy(parts + "/" + name + ".npy"), tap);
  }
  check_same(load_npy(whole + "/logits.npy"), logits);
  save_npy(f.tokens, some_tokens({4}, DType::i32));
  f.run("--taps " + whole);
  CHECK(load_npy(whole + "/layers.0.q.npy").shape() == Shape{4, 8});
}

TEST_CASE("tokens that cannot be used are refused with status 3, and nothing is written") {
  const LogitsFiles f;
  check_fails(f.logits, 3, f.tokens + ": cannot be opened: No such file or directory");
  const auto fails = [&](const Tensor& tokens, const std::string& sentence) {
    save_npy(f.tokens, tokens);
    check_fails(f.logits, 3, f.tokens + ": tokens: " + sentence);
  };
  fails(Tensor({3}, DType::f32), "wanted i32 or i64, found f32");
  fails(some_tokens({2, 2, 2}, DType::i32), "wanted shape (T) or (B, T), found (2, 2, 2)");
  fails(some_tokens({}, DType::i32), "wanted shape (T) or (B, T), found ()");
  fails(some_tokens({0}, DType::i32), "wanted at least one token, found shape (0,)");
  fails(some_tokens({25}, DType::i32), "25 are more than the model's context of 24");
  Tensor outside = some_tokens({2, 3}, DType::i64);
  outside.at<int64_t>(1, 2) = 30;
  fails(outside, "wanted ids in [0, 30), found 30 at sequence 1, position 2");
  outside.at<int64_t>(0, 1) = int64_t(1) << 32;
  fails(outside, "wanted ids in [0, 30), found 4294967296 at sequence 0, position 1");
  Tensor negative = some_tokens({3}, DType::i32);
  negative.at<int32_t>(0) = -1;
  fails(negative, "wanted ids in [0, 30), found -1 at position 0");
  write_file(f.tokens, "not an array");
  CHECK(run_rungs(f.logits).status == 3);
  CHECK(f.folder.files() == std::vector<std::string>{"tokens.npy"});
}

TEST_CASE("an output that cannot be written leaves nothing behind") {
  const LogitsFiles f;
  save_npy(f.tokens, some_tokens({3}, DType::i32));
  const std::string out = f.folder / "none/out.npy";
  const Outcome run = run_rungs("logits --model " + f.model.path.string() + " --tokens " + f.tokens + " --out " + out);
  CHECK(run.status == 3);
  CHECK(run.err.starts_with("rungs: " + out + ": "));
  CHECK(f.folder.files() == std::vector<std::string>{"tokens.npy"});
  check_fails(f.logits + "--taps " + f.tokens, 3, f.tokens + ": cannot be made: Not a directory");
  check_fails(f.logits + "--chunk -1", 2, "chunk: wanted at least 1 token, found -1");
}

TEST_CASE("broken weights are named, and no logits are written") {
  const LogitsFiles f;
  save_npy(f.tokens, some_tokens({3}, DType::i32));
  f.model.break_weight("final_norm.weight");
  check_fails(f.logits + "--taps " + (f.folder / "taps").string(), 1,
              "normed is the first tensor that is not finite: the weights in " + f.model.path.string() + " are broken");
  CHECK(f.folder.files() == std::vector<std::string>{"tokens.npy"});
}

TEST_SUITE_END();
