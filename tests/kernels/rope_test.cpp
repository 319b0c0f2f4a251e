#include "kernels/rope/rope.hpp"

#include "rows.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("kernels");

namespace {

struct Heads {
  int N, H, G, D;
};

constexpr Heads head_sizes[] = {{1, 1, 1, 2},  {3, 2, 1, 6},  {33, 4, 4, 10},
                                {2, 6, 2, 64}, {5, 8, 1, 34}, {1, 32, 8, 128}};

Tensor integers(const std::vector<int>& list) {
  Tensor out({int64_t(list.size())}, DType::i32);
  std::copy(list.begin(), list.end(), out.data<int32_t>());
  return out;
}

/// The tables of any angles: the kernels do not care that they belong to positions.
struct Tables {
  Tensor cos, sin;  // (context, D/2)
  Tables(int context, int D) : cos(random_tensor({context, D / 2}, 8)), sin(random_tensor({context, D / 2}, 9)) {}
};

/// Row n of what rotating x (N, H, D) gives, and 8 times its three roundings.
void rotate_in_double(std::vector<double>& want, std::vector<double>& tolerance, const Tensor& x, const Tables& tables,
                      int n, int position) {
  const int64_t H = x.dim(1), D = x.dim(2), half = D / 2;
  for (int64_t h = 0; h < H; ++h)
    for (int64_t d = 0; d < D; ++d) {
      const int64_t i = d % half;
      const double own = double(x(n, h, d)) * tables.cos(position, i);
      const double other = (d < half ? -1.0 : 1.0) * x(n, h, d < half ? d + half : d - half) * tables.sin(position, i);
      want.push_back(own + other);
      tolerance.push_back(8 * u * (std::abs(own) + std::abs(other)));
    }
}

std::vector<int> some_positions(int N, int context) {
  std::vector<int> list;
  for (int n = 0; n < N; ++n) list.push_back((n * 7 + 3) % context);
  return list;
}

}  // namespace

TEST_CASE("rope turns each pair by the angle of its row's position") {
  for (const Heads& heads : head_sizes) {
    const int N = heads.N, H = heads.H, D = heads.D;
    CAPTURE(N);
    CAPTURE(H);
    CAPTURE(D);
    const int context = 40;
    const Tables tables(context, D);
    const Tensor x = random_tensor({N, H, D}, 1);
    const std::vector<int> position = some_positions(N, context);
    std::vector<double> want, tolerance;
    for (int n = 0; n < N; ++n) rotate_in_double(want, tolerance, x, tables, n, position[size_t(n)]);

    OnDevice in(x, true);
    const Tensor cos = to_device(tables.cos), sin = to_device(tables.sin), at = to_device(integers(position));
    rope_01(in.data(), {cos.data(), sin.data()}, at.data<int32_t>(), N, H, D, nullptr);
    CHECK(difference(in.get(), want, tolerance) == "");
  }
}

TEST_CASE("keys and values go turned or as they are to their rows of the cache and nowhere else") {
  for (const Heads& heads : head_sizes)
    for (const char* form : {"append_01", "rope_02_append", "rope_02_append_qkv"}) {
      const int N = heads.N, H = heads.H, G = heads.G, D = heads.D;
      const int64_t of_q = int64_t(H) * D, of_kv = int64_t(G) * D, of_row = of_q + 2 * of_kv;
      CAPTURE(N);
      CAPTURE(H);
      CAPTURE(G);
      CAPTURE(D);
      CAPTURE(form);
      const int B = 3, capacity = 50;
      const Tables tables(capacity, D);
      // Each row of q, k and v stands in one row of qkv.
      const Tensor qkv = random_tensor({N, of_row}, 1);
      Tensor q({N, H, D}), k({N, G, D}), v({N, G, D});
      for (int n = 0; n < N; ++n) {
        const float* row = qkv.data() + n * of_row;
        std::copy(row, row + of_q, q.data() + n * of_q);
        std::copy(row + of_q, row + of_q + of_kv, k.data() + n * of_kv);
        std::copy(row + of_q + of_kv, row + of_row, v.data() + n * of_kv);
      }
      const std::vector<int> position = some_positions(N, capacity);
      std::vector<int> sequence;
      for (int n = 0; n < N; ++n) sequence.push_back((n + 2) % B);

      const Tensor cos = to_device(tables.cos), sin = to_device(tables.sin);
      const Tensor rows = to_device(integers(position)), of = to_device(integers(sequence));
      OnDevice k_cache({B, capacity, G, D}, false), v_cache({B, capacity, G, D}, false);
      OnDevice q_out(form == std::string("rope_02_append_qkv") ? Tensor(q.shape()) : q.copy(), true);
      OnDevice k_in(k, false), v_in(v, false), qkv_in(qkv, false);
      const CacheRows cache = {k_cache.data(), v_cache.data(), of.data<int32_t>(), rows.data<int32_t>(), capacity};
      const RopePointers rotary = {cos.data(), sin.data()};
      const bool turned = form != std::string("append_01");
      if (!turned)
        append_01(cache, k_in.data(), v_in.data(), N, G, D, nullptr);
      else if (form == std::string("rope_02_append"))
        rope_02_append(q_out.data(), cache, k_in.data(), v_in.data(), rotary, N, H, G, D, nullptr);
      else
        rope_02_append_qkv(q_out.data(), cache, qkv_in.data(), rotary, N, H, G, D, nullptr);

      std::vector<double> q_want, q_tolerance;
      const Tensor k_got = k_cache.get(), v_got = v_cache.get();
      for (int n = 0; n < N; ++n) {
        std::vector<double> k_want, k_tolerance;
        rotate_in_double(q_want, q_tolerance, q, tables, n, position[size_t(n)]);
        rotate_in_double(k_want, k_tolerance, k, tables, n, position[size_t(n)]);
        const std::vector<double> none(size_t(of_kv), 0.0);
        const ConstTensor k_row = k_got[sequence[size_t(n)]][position[size_t(n)]];
        const ConstTensor v_row = v_got[sequence[size_t(n)]][position[size_t(n)]];
        CHECK(difference(k_row, turned ? k_want : values(k[n]), turned ? k_tolerance : none) == "");
        CHECK(difference(v_row, values(v[n]), none) == "");
      }
      if (turned) CHECK(difference(q_out.get(), q_want, q_tolerance) == "");
      const auto written = [](const Tensor& cache_got) {
        const auto all = values(cache_got);
        return std::count_if(all.begin(), all.end(), [](double x) { return !std::isnan(x); });
      };
      CHECK(written(k_got) == N * of_kv);
      CHECK(written(v_got) == N * of_kv);
    }
}

TEST_SUITE_END();
