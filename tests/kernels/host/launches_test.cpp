// How many kernels a decoding step launches, as the emulator counts them.
#include "devices.hpp"
#include "kernels/emulator/engine/engine.hpp"
#include "rungs/base/file.hpp"
#include "rungs/model/model.hpp"

namespace rungs::test {

TEST_SUITE_BEGIN("kernels");

TEST_CASE("a decoding step of L layers is 5 L + 4 launches, as it is and as a graph") {
  const auto model = load_model(cuda_ops(), weights_directory() / "stories", {.max_rows = 8, .context = 40});
  const Config& c = model->config();
  Tensor logits = cuda_ops().allocate({1, c.vocab_size});
  KvCache contiguous(cuda_ops(), c, 1, 8), paged(cuda_ops(), c, 1, {.blocks = 2, .block_size = 4});
  paged.tables[0] = {1, 0};
  for (KvCache* cache : {&contiguous, &paged}) {
    CAPTURE(cache == &paged);
    const int64_t replays = cuda_traffic.replays;
    for (int64_t position = 0; position < 4; ++position) {
      const uint64_t before = emulator::launches();
      Batch batch;
      batch.add(0, std::vector<int32_t>{5}, position, true);
      model->forward(logits, batch, cache);
      from(cuda_ops(), logits);
      CHECK(emulator::launches() - before == uint64_t(5 * c.num_layers + 4));
    }
    CHECK(cuda_traffic.replays > replays);
  }
}

TEST_SUITE_END();

}  // namespace rungs::test
