// Checkpoints of every kind, written by weights/make_checkpoints.py, with the logits that transformers gives for them.
#include "rungs/base/file.hpp"
#include "rungs/grader/case.hpp"
#include "rungs/model/llama.hpp"
#include "rungs/model/model.hpp"
#include "rungs/ops/cpu_ops.hpp"
#include "rungs/tensor/npy.hpp"
#include "support.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("checkpoint");

/// The model of a folder. Of a quantized one, a model in f32 with the numbers that its weights stand for: what
/// quantized products lose is not what a file is tested for.
static std::unique_ptr<Model> model_of(CpuOps& ops, const std::filesystem::path& folder) {
  const auto gguf = folder / "model.gguf", bin = folder / "model.bin";
  if (!std::filesystem::exists(gguf)) return load_model(ops, std::filesystem::exists(bin) ? bin : folder);
  const LlamaCheckpoint stored(gguf);
  TensorSet set(gguf);
  for (const std::string& name : stored.file.names()) set.add(name, converted(stored.file.get(name), DType::f32), gguf);
  return std::make_unique<Llama>(ops, LlamaCheckpoint(stored.config, std::move(set)), LoadOptions{});
}

TEST_CASE("every kind of file gives the logits of transformers") {
  CpuOps ops;
  int compared = 0;
  for (const auto& entry : std::filesystem::directory_iterator(weights_directory() / "references/checkpoints")) {
    const auto& folder = entry.path();
    CAPTURE(folder);
    const auto model = model_of(ops, folder);
    const Tensor tokens = load_npy(folder / "tokens.npy"), want = load_npy(folder / "logits.npy");
    double error32 = 0;
    REQUIRE(std::sscanf(read_text(folder / "reference.json").c_str(), "{\"error32\": %lf}", &error32) == 1);
    Batch batch;
    batch.add(0, {tokens.data<int32_t>(), size_t(tokens.count())}, 0, false);
    Tensor logits({tokens.count(), model->config().vocab_size});
    model->forward(logits, batch, nullptr);
    const Comparison c = compare(logits, want, {.absolute = tolerance_per_error32 * error32});
    CHECK(c.shape_problem == "");
    CHECK(c.wrong == 0);
    MESSAGE(folder.filename().string() << ": " << c.fraction << " of the tolerance");
    ++compared;
  }
  CHECK(compared == 15);
}

TEST_SUITE_END();
