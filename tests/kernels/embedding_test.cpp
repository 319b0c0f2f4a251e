#include "kernels/embedding/embedding.hpp"

#include "rows.hpp"
#include "rungs/ops/floats.hpp"
#include "rungs/ops/upcast.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("kernels");

TEST_CASE("embedding copies rows exactly for tables of every dtype and at every size") {
  for (const Size size : row_sizes)
    for (const DType dtype : {DType::f32, DType::bf16, DType::f16})
      for (const bool shifted : {false, true}) {
        const int N = size.N, C = size.C;
        CAPTURE(N);
        CAPTURE(C);
        CAPTURE(shifted);
        CAPTURE(name_of(dtype));
        const int V = 7;
        const Tensor table = random_weights({V, C}, 1, dtype);
        Tensor index({N}, DType::i32), want({N, C});
        for (int n = 0; n < N; ++n) {
          index.data<int32_t>()[n] = (n * 5 + V - 1) % V;
          upcast(want.data() + int64_t(n) * C, table, int64_t(index.data<int32_t>()[n]) * C, C);
        }
        OnDevice rows(table, shifted);
        const Tensor ids = to_device(index);
        with_floats(table, [&](const auto* w) {
          using W = std::remove_const_t<std::remove_pointer_t<decltype(w)>>;
          for (const auto embedding : {embedding_01<W>, embedding_02<W>}) {
            OnDevice out({N, C}, shifted);
            embedding(out.data(), rows.data<W>(), ids.data<int32_t>(), N, C, nullptr);
            CHECK(difference(out.get(), values(want), std::vector<double>(size_t(want.count()), 0.0)) == "");
          }
        });
      }
}

TEST_SUITE_END();
