// Checkpoints of every kind, written by weights/make_checkpoints.py, with the logits that transformers gives for them.
#include "rungs/base/file.hpp"
#include "rungs/grader/case.hpp"
#include "rungs/model/model.hpp"
#include "rungs/ops/cpu_ops.hpp"
#include "rungs/tensor/npy.hpp"
#include "support.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("checkpoint");

TEST_CASE("every kind of file gives the logits of transformers") {
  CpuOps ops;
  int compared = 0;
  for (const auto& entry : std::filesystem::directory_iterator(weights_directory() / "references/checkpoints")) {
    const auto& folder = entry.path();
    CAPTURE(folder);
    const bool bin = std::filesystem::exists(folder / "model.bin");
    const auto model = load_model(ops, bin ? folder / "model.bin" : folder);
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
  CHECK(compared == 9);
}

TEST_SUITE_END();
