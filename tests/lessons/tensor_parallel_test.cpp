// Lesson 26 beside rungs/parallel.
#include <algorithm>

#include "26_tensor_parallel/story_on_ranks.hpp"
#include "rungs/base/file.hpp"
#include "rungs/parallel/parallel_llama.hpp"
#include "rungs/parallel/split_llama.hpp"
#include "support.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("lessons");

static std::filesystem::path stories() { return weights_directory() / "stories"; }

TEST_CASE("lesson 26: each rank has the weights that the library gives it, to the last bit") {
  const LlamaCheckpoint whole(stories());
  for (int rank = 0; rank < 2; ++rank) {
    LlamaCheckpoint part(stories());
    split(part, rank, 2);
    for (size_t i = 0; i < whole.weights.layers.size(); ++i) {
      const LlamaLayer all = lesson_26::in_f32(whole.weights.layers[i]),
                       want = lesson_26::in_f32(part.weights.layers[i]);
      const LlamaLayer got = lesson_26::split_layer(all, whole.config, rank, 2);
      const std::pair<const Tensor&, const Tensor&> pairs[] = {{got.qkv.q, want.qkv.q},
                                                               {got.qkv.k, want.qkv.k},
                                                               {got.qkv.v, want.qkv.v},
                                                               {got.o, want.o},
                                                               {got.gate_up.gate, want.gate_up.gate},
                                                               {got.gate_up.up, want.gate_up.up},
                                                               {got.down, want.down}};
      for (const auto& [a, b] : pairs) {
        CHECK(a.shape() == b.shape());
        CHECK(std::equal(a.data(), a.data() + a.count(), b.data()));
      }
    }
  }
}

TEST_CASE("lesson 26: a row-parallel product is as near to the exact one as sums of so many terms are") {
  constexpr int64_t N = 4, C = 96, K = 7;
  const Tensor x = random_tensor({N, C}, 1), weight = random_tensor({K, C}, 2);
  std::vector<double> want(N * K), allowed(N * K);
  for (int64_t n = 0; n < N; ++n)
    for (int64_t k = 0; k < K; ++k) {
      double size = 0;
      for (int64_t c = 0; c < C; ++c) {
        const double term = double(x(n, c)) * weight(k, c);
        want[size_t(n * K + k)] += term, size += std::fabs(term);
      }
      allowed[size_t(n * K + k)] = double(C + 8) * unit_roundoff * size;  // γ of C terms, in whatever order
    }
  for (const int ranks : {1, 2, 3, 8})
    run_ranks(ranks, [&](Communicator& communicator) {
      const Part part = lesson_26::share_of(C, communicator.rank(), ranks);
      Tensor mine({N, part.count}), out({N, K});
      for (int64_t n = 0; n < N; ++n)
        std::copy_n(x.data() + n * C + part.first, part.count, mine.data() + n * part.count);
      lesson_26::row_parallel(communicator, out, mine, lesson_26::take_columns(weight, part), {});
      const std::string wrong = difference(out, want, allowed);
      if (!wrong.empty()) throw Error(wrong);
    });
}

TEST_CASE("lesson 26: the bytes that all ranks send are those of the library's formula") {
  const Config c = load_config(stories());
  for (const int ranks : {1, 2, 4, 8})
    for (const int64_t N : {1, 3, 16}) {
      int64_t all = 0;
      for (int rank = 0; rank < ranks; ++rank) all += traffic_of_call(c, N, N, rank, ranks).bytes_sent;
      CHECK(all == lesson_26::bytes_sent(c.num_layers, N, c.hidden_size, c.vocab_size, ranks));
    }
}

TEST_SUITE_END();
