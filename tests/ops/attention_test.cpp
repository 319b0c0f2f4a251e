#include <omp.h>

#include <cmath>

#include "ops/expected.hpp"
#include "rungs/ops/cpu_ops.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("ops");

TEST_CASE("sdpa equals loops in double, with a past and without") {
  CpuOps ops;
  for (const auto& [T, S] :
       {std::pair<int64_t, int64_t>{1, 1}, {1, 33}, {2, 2}, {3, 7}, {31, 33}, {33, 33}, {300, 310}})
    for (const int64_t D : {1, 5, 64}) {
      CAPTURE(T);
      CAPTURE(S);
      CAPTURE(D);
      const Tensor q = random_tensor({T, 1, D}, 1), k = random_tensor({S, 1, D}, 2), v = random_tensor({S, 1, D}, 3);
      Tensor out({T, 1, D});
      ops.sdpa(out, q, k, v);
      const Expected e = attend_in_double(head_of(q, 0), head_of(k, 0), head_of(v, 0));
      CHECK(difference(out, e.value, e.tolerance) == "");
    }
}

TEST_CASE("every head attends to the keys and values of its group") {
  CpuOps ops;
  for (const auto& [T, S] : {std::pair<int64_t, int64_t>{1, 1}, {1, 7}, {1, 34}, {3, 7}, {33, 35}, {70, 300}})
    for (const auto& [H, G] : {std::pair<int64_t, int64_t>{1, 1}, {3, 3}, {6, 2}, {5, 1}})
      for (const int64_t D : {1, 7, 33, 64}) {
        CAPTURE(T);
        CAPTURE(S);
        CAPTURE(H);
        CAPTURE(G);
        CAPTURE(D);
        const Tensor q = random_tensor({T, H, D}, 1), k = random_tensor({S, G, D}, 2), v = random_tensor({S, G, D}, 3);
        Tensor out({T, H, D});
        ops.sdpa(out, q, k, v);
        for (int64_t h = 0; h < H; ++h) {
          const int64_t g = h / (H / G);
          const Expected e = attend_in_double(head_of(q, h), head_of(k, g), head_of(v, g));
          CHECK(difference(head_of(out, h), e.value, e.tolerance) == "");
        }
      }
}

TEST_CASE("sdpa with what may vary equals loops in double") {
  CpuOps ops;
  const AttentionOptions all[] = {{.scale = 0.3f},
                                  {.causal = false},
                                  {.window = 1},
                                  {.window = 20},
                                  {.soft_cap = 1.5f},
                                  {.scale = 0.4f, .window = 130, .soft_cap = 2},
                                  {.causal = false, .window = 3, .soft_cap = 30}};
  for (const AttentionOptions& options : all)
    for (const auto& [T, S] : {std::pair<int64_t, int64_t>{1, 1}, {1, 300}, {3, 7}, {33, 33}, {300, 310}}) {
      CAPTURE(&options - all);
      CAPTURE(T);
      CAPTURE(S);
      const Tensor q = random_tensor({T, 1, 16}, 1), k = random_tensor({S, 1, 16}, 2), v = random_tensor({S, 1, 16}, 3);
      Tensor out({T, 1, 16});
      ops.sdpa(out, q, k, v, options);
      const Expected e = attend_in_double(head_of(q, 0), head_of(k, 0), head_of(v, 0), options);
      CHECK(difference(out, e.value, e.tolerance) == "");
    }
}

TEST_CASE("no block of queries takes what another head, block or window has") {
  CpuOps ops;
  for (const auto& [T, S] : {std::pair<int64_t, int64_t>{65, 65}, {70, 300}})
    for (const int64_t window : {0, 1, 100, 200})
      for (const int64_t D : {20, 128}) {
        CAPTURE(T);
        CAPTURE(window);
        CAPTURE(D);
        const Tensor q = random_tensor({T, 6, D}, 1), k = random_tensor({S, 2, D}, 2), v = random_tensor({S, 2, D}, 3);
        Tensor out({T, 6, D});
        ops.sdpa(out, q, k, v, {.window = window});
        for (int64_t h = 0; h < 6; ++h) {
          const Expected e = attend_in_double(head_of(q, h), head_of(k, h / 3), head_of(v, h / 3), {.window = window});
          CHECK(difference(head_of(out, h), e.value, e.tolerance) == "");
        }
      }
}

TEST_CASE("a NaN in a key reaches the queries that see it, and no other") {
  CpuOps ops;
  const int64_t T = 140;
  const Tensor q = random_tensor({T, 1, 16}, 1), v = random_tensor({T, 1, 16}, 3);
  Tensor k = random_tensor({T, 1, 16}, 2), out({T, 1, 16});
  k(130, 0, 3) = std::nanf("");
  ops.sdpa(out, q, k, v);
  for (int64_t t = 0; t < T; ++t) {
    CAPTURE(t);
    CHECK(std::isnan(out(t, 0, 5)) == (t >= 130));
  }
}

TEST_CASE("one query attends alike on one thread and on three, and so do many") {
  CpuOps ops;
  const int64_t S = 900, H = 6, G = 3, D = 40;  // enough bytes for several threads, and enough multiplications
  const int threads = omp_get_max_threads();
  for (const int64_t T : {1, 70}) {
    CAPTURE(T);
    const Tensor q = random_tensor({T, H, D}, 1), k = random_tensor({S, G, D}, 2), v = random_tensor({S, G, D}, 3);
    Tensor one({T, H, D}), three({T, H, D});
    omp_set_num_threads(3);
    ops.sdpa(three, q, k, v);
    omp_set_num_threads(1);
    ops.sdpa(one, q, k, v);
    CHECK(values(one) == values(three));
  }
  omp_set_num_threads(threads);
}

TEST_CASE("sdpa takes scores above 90, whose exp overflows") {
  CpuOps ops;
  Tensor q = random_tensor({6, 1, 8}, 1), k = random_tensor({9, 1, 8}, 2);
  const Tensor v = random_tensor({9, 1, 8}, 3);
  for (int64_t i = 0; i < q.count(); ++i) q.flat(i) *= 300;
  Tensor out({6, 1, 8});
  ops.sdpa(out, q, k, v);
  const Expected e = attend_in_double(head_of(q, 0), head_of(k, 0), head_of(v, 0));
  CHECK(difference(out, e.value, e.tolerance) == "");
  CHECK(*std::max_element(e.tolerance.begin(), e.tolerance.end()) <
        1e-2);  // large scores are inexact, but not meaningless
}

TEST_CASE("a query does not see what comes after it") {
  CpuOps ops;
  const Tensor q = random_tensor({4, 1, 8}, 1), k = random_tensor({6, 1, 8}, 2), v = random_tensor({6, 1, 8}, 3);
  Tensor out({4, 1, 8}), changed({4, 1, 8}), k_2 = k.copy(), v_2 = v.copy();
  for (int64_t d = 0; d < 8; ++d) k_2(4, 0, d) = 9, v_2(4, 0, d) = -9;
  ops.sdpa(out, q, k, v);
  ops.sdpa(changed, q, k_2, v_2);
  CHECK(values(out.view_rows(0, 2)) == values(changed.view_rows(0, 2)));  // the queries at 2 and 3
  for (int64_t t : {2, 3}) CHECK(out(t, 0, 0) != changed(t, 0, 0));
}

TEST_CASE("attention serves rows of several sequences, and writes only their rows of the cache") {
  CpuOps ops;
  const int64_t D = 8, B = 3, capacity = 7;
  // Rows: three tokens of sequence 2 after a past of 2, one of sequence 0 after 4, two of sequence 1 from the start.
  Rows rows;
  rows.segments = {{0, 3, 2, 2}, {3, 1, 0, 4}, {4, 2, 1, 0}};
  LayerCache cache{random_tensor({B, capacity, 1, D}, 1), random_tensor({B, capacity, 1, D}, 2)};
  const LayerCache before{cache.k.copy(), cache.v.copy()};
  const Tensor q = random_tensor({6, 1, D}, 3), k = random_tensor({6, 1, D}, 4), v = random_tensor({6, 1, D}, 5);
  Tensor out({6, 1, D});
  ops.attention(out, q, k, v, rows, &cache);

  for (const Segment& segment : rows.segments) {
    CAPTURE(segment.sequence);
    const ConstTensor cached_k = cache.k[segment.sequence], cached_v = cache.v[segment.sequence];
    Tensor alone({segment.count, 1, D});
    const int64_t S = segment.past + segment.count;
    ops.sdpa(alone, q.view_rows(segment.first, segment.count), cached_k.view_rows(0, S), cached_v.view_rows(0, S));
    CHECK(values(out.view_rows(segment.first, segment.count)) == values(alone));
    for (const auto& [now, was, fed] : {std::tuple{&cache.k, &before.k, &k}, std::tuple{&cache.v, &before.v, &v}}) {
      const ConstTensor here = (*now)[segment.sequence], old = (*was)[segment.sequence];
      CHECK(values(here.view_rows(0, segment.past)) == values(old.view_rows(0, segment.past)));
      CHECK(values(here.view_rows(segment.past, segment.count)) ==
            values(fed->view_rows(segment.first, segment.count)));
      CHECK(values(here.view_rows(S, capacity - S)) == values(old.view_rows(S, capacity - S)));
    }
  }
}

TEST_CASE("a cache in fewer bits gives what attention over the numbers in it gives") {
  CpuOps ops;
  const int64_t H = 6, G = 2, D = 64, capacity = 700;
  for (const DType dtype : {DType::bf16, DType::f16, DType::q8_0})
    for (const auto& [past, T] : {std::pair<int64_t, int64_t>{0, 1}, {5, 1}, {600, 1}, {0, 70}, {600, 33}}) {
      CAPTURE(name_of(dtype));
      CAPTURE(past);
      CAPTURE(T);
      const Tensor earlier = random_tensor({1, capacity, G, D}, 1);
      LayerCache cache{converted(earlier, dtype), converted(earlier, dtype)};
      const Tensor q = random_tensor({T, H, D}, 3), k = random_tensor({T, G, D}, 4), v = random_tensor({T, G, D}, 5);
      Rows rows;
      rows.segments = {{0, T, 0, past}};
      Tensor out({T, H, D}), want({T, H, D});
      ops.attention(out, q, k, v, rows, &cache);

      const Tensor k_seen = converted(cache.k, DType::f32), v_seen = converted(cache.v, DType::f32);
      const ConstTensor k_new = k_seen[0].view_rows(past, T), v_new = v_seen[0].view_rows(past, T);
      CHECK(values(k_new) == values(converted(converted(k, dtype), DType::f32)));
      CHECK(values(v_new) == values(converted(converted(v, dtype), DType::f32)));
      ops.sdpa(want, q, k_seen[0].view_rows(0, past + T), v_seen[0].view_rows(0, past + T));
      CHECK(values(out) == values(want));
    }
}

TEST_SUITE_END();
