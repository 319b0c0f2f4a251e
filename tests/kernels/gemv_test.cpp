#include "kernels/gemv/gemv.hpp"

#include <doctest/doctest.h>

#include "product.hpp"

namespace rungs::test {
namespace {

struct Sizes {
  int N, K, C;
};

// One and more rows of x than a launch takes; rows of weights around 4, a warp and a block; columns that are whole
// 16-byte pieces in every dtype (a multiple of 16) and that are not; long rows, which several warps share.
const Sizes all_sizes[] = {{1, 1, 1},    {1, 3, 7},    {1, 33, 31},   {1, 100, 100}, {1, 4, 32},
                           {1, 37, 288}, {1, 130, 96}, {1, 9, 4104},  {1, 6, 4099},  {2, 31, 64},
                           {2, 5, 33},   {3, 35, 160}, {4, 32, 1040}, {5, 13, 112},  {8, 40, 48},
                           {8, 1, 2064}, {8, 10, 20},  {9, 12, 64},   {17, 3, 16}};

template <class W>
using Gemv = void (*)(float*, const float*, const W*, int, int, int, cudaStream_t);

/// Every rung with weights of a dtype.
template <class W>
void check_rungs(DType dtype) {
  const Gemv<W> rungs[] = {gemv_01<W>, gemv_02<W>, gemv_03<W>, gemv_04<W>};
  for (const Sizes& sizes : all_sizes) {
    const int N = sizes.N, K = sizes.K, C = sizes.C;
    const Tensor x = random_tensor({N, C}, 1), weight = random_floats({K, C}, 2, dtype);
    const Product want = product(values(x), values(weight), N, K, C);
    const Tensor device_x = to_device(x), device_weight = to_device(weight);
    for (int rung = 0; rung < 4; ++rung) {
      INFO(name_of(dtype), " rung ", rung + 1, " N ", N, " K ", K, " C ", C);
      Tensor y = poisoned({N, K});
      rungs[rung](y.data(), device_x.data(), device_weight.data<W>(), N, K, C, nullptr);
      CHECK(difference(to_host(y), want.value, want.tolerance) == "");
    }
  }
}

/// rms_norm(x) in double.
std::vector<double> normed(const std::vector<double>& x, const std::vector<double>& norm, int N, int C,
                           double epsilon) {
  std::vector<double> out(x.size());
  for (int n = 0; n < N; ++n) {
    double squares = 0;
    for (int c = 0; c < C; ++c) squares += x[size_t(n) * C + c] * x[size_t(n) * C + c];
    const double factor = 1 / std::sqrt(squares / C + epsilon);
    for (int c = 0; c < C; ++c) out[size_t(n) * C + c] = x[size_t(n) * C + c] * factor * norm[c];
  }
  return out;
}

/// What the norm may add to a tolerance: its factor comes from another sum of C terms, and three more roundings stand
/// before each product.
Product with_norm(Product p, int C) {
  for (size_t i = 0; i < p.value.size(); ++i)
    p.tolerance[i] = 2 * p.tolerance[i] + 8 * std::sqrt(double(C)) * unit_roundoff * std::abs(p.value[i]);
  return p;
}

/// silu(gate) ∘ up. The slope of silu is at most 1.1; the function itself and the product round too.
Product gated(const Product& gate, const Product& up) {
  Product want;
  for (size_t i = 0; i < gate.value.size(); ++i) {
    const double silu = gate.value[i] / (1 + std::exp(-gate.value[i]));
    want.value.push_back(silu * up.value[i]);
    want.tolerance.push_back(1.1 * gate.tolerance[i] * std::abs(up.value[i]) + std::abs(silu) * up.tolerance[i] +
                             8 * unit_roundoff * std::abs(want.value[i]));
  }
  return want;
}

const Sizes fused_sizes[] = {{1, 1, 1},   {1, 13, 33}, {1, 22, 288}, {1, 5, 4104}, {2, 9, 64},
                             {3, 7, 100}, {4, 10, 64}, {8, 11, 48},  {9, 6, 32}};

template <class W>
void check_qkv(DType dtype) {
  const float epsilon = 1e-3f;  // large enough to show
  for (const Sizes& sizes : fused_sizes) {
    const int N = sizes.N, K = sizes.K, C = sizes.C;
    const int Kq = K, Kkv = K / 3 + 1;  // four rows of a warp cross from one matrix into the next
    INFO(name_of(dtype), " N ", N, " Kq ", Kq, " Kkv ", Kkv, " C ", C);
    const Tensor x = random_tensor({N, C}, 1), norm = random_floats({C}, 2, dtype);
    const Tensor wq = random_floats({Kq, C}, 3, dtype), wk = random_floats({Kkv, C}, 4, dtype),
                 wv = random_floats({Kkv, C}, 5, dtype);
    const auto normed_x = normed(values(x), values(norm), N, C, epsilon);
    Tensor q = poisoned({N, Kq}), k = poisoned({N, Kkv}), v = poisoned({N, Kkv});
    const Tensor device_x = to_device(x), device_norm = to_device(norm), device_wq = to_device(wq),
                 device_wk = to_device(wk), device_wv = to_device(wv);
    gemv_norm_qkv(GemvQkv<W>{q.data(), k.data(), v.data(), device_wq.data<W>(), device_wk.data<W>(),
                             device_wv.data<W>(), device_norm.data<W>(), epsilon},
                  device_x.data(), N, Kq, Kkv, C, nullptr);
    const auto check = [&](const Tensor& got, const Tensor& weight, int rows) {
      const Product want = with_norm(product(normed_x, values(weight), N, rows, C), C);
      CHECK(difference(to_host(got), want.value, want.tolerance) == "");
    };
    check(q, wq, Kq);
    check(k, wk, Kkv);
    check(v, wv, Kkv);
  }
}

template <class W>
void check_gated(DType dtype) {
  const float epsilon = 1e-3f;
  for (const Sizes& sizes : fused_sizes) {
    const int N = sizes.N, F = sizes.K, C = sizes.C;
    INFO(name_of(dtype), " N ", N, " F ", F, " C ", C);
    const Tensor x = random_tensor({N, C}, 1), norm = random_floats({C}, 2, dtype);
    const Tensor gate = random_floats({F, C}, 3, dtype), up = random_floats({F, C}, 4, dtype);
    const auto normed_x = normed(values(x), values(norm), N, C, epsilon);
    const Product gates = with_norm(product(normed_x, values(gate), N, F, C), C);
    const Product ups = with_norm(product(normed_x, values(up), N, F, C), C);
    const Product want = gated(gates, ups);
    Tensor hidden = poisoned({N, F});
    const Tensor device_x = to_device(x), device_norm = to_device(norm), device_gate = to_device(gate),
                 device_up = to_device(up);
    gemv_norm_swiglu(hidden.data(), device_x.data(), device_norm.data<W>(), epsilon, device_gate.data<W>(),
                     device_up.data<W>(), N, F, C, nullptr);
    CHECK(difference(to_host(hidden), want.value, want.tolerance) == "");
  }
}

}  // namespace

TEST_SUITE("kernels") {
  TEST_CASE("gemv: every rung gives the product at any size in f32, bf16 and f16") {
    check_rungs<float>(DType::f32);
    check_rungs<bf16>(DType::bf16);
    check_rungs<f16>(DType::f16);
  }

  TEST_CASE("gemv: matrices may begin at any element") {
    const int N = 2, K = 9, C = 64;
    const Tensor x = random_tensor({N * C + 1}, 1), weight = random_tensor({K * C + 1}, 2);
    auto x_values = values(x), weights = values(weight);
    x_values.erase(x_values.begin()), weights.erase(weights.begin());
    const Product want = product(x_values, weights, N, K, C);
    const Tensor device_x = to_device(x), device_weight = to_device(weight);
    for (const Gemv<float> run : {gemv_01<float>, gemv_02<float>, gemv_03<float>, gemv_04<float>}) {
      Tensor y = poisoned({N, K});
      run(y.data(), device_x.data() + 1, device_weight.data() + 1, N, K, C, nullptr);
      CHECK(difference(to_host(y), want.value, want.tolerance) == "");
    }
  }

  TEST_CASE("gemv: a sum of no products is zero and a product of no rows writes nothing") {
    const std::vector<double> zeros(6);
    const Tensor x = to_device(random_tensor({64}, 1));
    for (const Gemv<float> run : {gemv_01<float>, gemv_02<float>, gemv_03<float>, gemv_04<float>}) {
      Tensor y = poisoned({2, 3});
      run(y.data(), x.data(), x.data(), 2, 3, 0, nullptr);
      CHECK(difference(to_host(y), zeros, zeros) == "");
      run(y.data(), x.data(), x.data(), 0, 3, 4, nullptr);
      run(y.data(), x.data(), x.data(), 2, 0, 4, nullptr);
      CHECK(difference(to_host(y), zeros, zeros) == "");
    }
  }

  TEST_CASE("gemv_add: the product is added to what y holds") {
    for (const Sizes& sizes : {Sizes{1, 37, 288}, {3, 6, 33}, {9, 5, 32}}) {
      const int N = sizes.N, K = sizes.K, C = sizes.C;
      INFO("N ", N, " K ", K, " C ", C);
      const Tensor x = random_tensor({N, C}, 1), weight = random_floats({K, C}, 2, DType::bf16),
                   before = random_tensor({N, K}, 3);
      Product want = product(values(x), values(weight), N, K, C);
      for (size_t i = 0; i < want.value.size(); ++i) {
        want.value[i] += double(before.flat(i));
        want.tolerance[i] += unit_roundoff * std::abs(want.value[i]);  // one more sum
      }
      Tensor y = to_device(before);
      const Tensor device_x = to_device(x), device_weight = to_device(weight);
      gemv_add(y.data(), device_x.data(), device_weight.data<bf16>(), N, K, C, nullptr);
      CHECK(difference(to_host(y), want.value, want.tolerance) == "");
    }
  }

  TEST_CASE("gemv_int8: whole numbers with a scale for each row") {
    for (const Sizes& sizes : all_sizes) {
      const int N = sizes.N, K = sizes.K, C = sizes.C;
      INFO("N ", N, " K ", K, " C ", C);
      const Tensor x = random_tensor({N, C}, 1), scale = random_tensor({K}, 2);
      Tensor weight({K * C / 4 + 1}, DType::i32);  // memory for K · C numbers of 8 bits
      int8_t* const numbers = static_cast<int8_t*>(weight.raw());
      std::vector<double> weights(size_t(K) * C);
      for (int i = 0; i < K * C; ++i) {
        numbers[i] = int8_t(i < 2 ? 127 - 255 * i : (i * 2654435761u >> 13) % 255 - 127);  // 127, -128, ...
        weights[i] = double(numbers[i]) * double(scale.flat(i / C));
      }
      Product want = product(values(x), weights, N, K, C);
      for (size_t i = 0; i < want.value.size(); ++i) want.tolerance[i] += unit_roundoff * std::abs(want.value[i]);
      Tensor y = poisoned({N, K});
      const Tensor device_x = to_device(x), device_weight = to_device(weight), device_scale = to_device(scale);
      gemv_int8(y.data(), device_x.data(), static_cast<const int8_t*>(device_weight.raw()), device_scale.data(), N, K,
                C, nullptr);
      CHECK(difference(to_host(y), want.value, want.tolerance) == "");
    }
  }

  TEST_CASE("gemv_norm_qkv: the norm and three projections in one launch") {
    check_qkv<float>(DType::f32);
    check_qkv<bf16>(DType::bf16);
    check_qkv<f16>(DType::f16);
  }

  TEST_CASE("gemv_norm_swiglu: the norm and two projections and silu in one launch") {
    check_gated<float>(DType::f32);
    check_gated<bf16>(DType::bf16);
    check_gated<f16>(DType::f16);
  }

  TEST_CASE("gemv: the matrices of fused products may begin at any element") {
    const int N = 2, K = 8, C = 64;
    const float epsilon = 1e-3f;
    const Tensor x = random_tensor({N, C}, 1), norm = random_tensor({C + 1}, 2), weight = random_tensor({K * C + 1}, 3);
    const Tensor device_x = to_device(x), device_norm = to_device(norm), device_weight = to_device(weight);
    // Each matrix in turn begins one element late, the others at the beginning of their memory.
    for (int late = 0; late < 4; ++late) {
      CAPTURE(late);
      const auto from = [&](const Tensor& tensor, int which) {
        const auto all = values(tensor);
        return std::vector<double>(all.begin() + (which == late), all.end());
      };
      const auto at = [&](const Tensor& tensor, int which) { return tensor.data() + (which == late); };
      const auto normed_x = normed(values(x), from(norm, 0), N, C, epsilon);
      const auto check = [&](const Tensor& got, const std::vector<double>& rows) {
        const Product want = with_norm(product(normed_x, rows, N, K, C), C);
        CHECK(difference(to_host(got), want.value, want.tolerance) == "");
      };
      Tensor q = poisoned({N, K}), k = poisoned({N, K}), v = poisoned({N, K});
      gemv_norm_qkv(GemvQkv<float>{q.data(), k.data(), v.data(), at(device_weight, 1), at(device_weight, 2),
                                   at(device_weight, 3), at(device_norm, 0), epsilon},
                    device_x.data(), N, K, K, C, nullptr);
      check(q, from(weight, 1));
      check(k, from(weight, 2));
      check(v, from(weight, 3));

      Tensor hidden = poisoned({N, K});
      gemv_norm_swiglu(hidden.data(), device_x.data(), at(device_norm, 0), epsilon, at(device_weight, 1),
                       at(device_weight, 2), N, K, C, nullptr);
      const Product gates = with_norm(product(normed_x, from(weight, 1), N, K, C), C);
      const Product ups = with_norm(product(normed_x, from(weight, 2), N, K, C), C);
      const Product want = gated(gates, ups);
      CHECK(difference(to_host(hidden), want.value, want.tolerance) == "");
    }
  }
}

}  // namespace rungs::test
