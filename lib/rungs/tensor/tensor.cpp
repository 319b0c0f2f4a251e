#include "rungs/tensor/tensor.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "rungs/tensor/quantize.hpp"

namespace rungs {

static FreshMemory fresh_memory = FreshMemory::nan;

void set_fresh_memory(FreshMemory kind) { fresh_memory = kind; }

Shape::Shape(std::span<const int64_t> dims) {
  if (dims.size() > size_t(max_rank))
    throw ShapeError(fmt::format("a tensor has at most {} dimensions, not {}", max_rank, dims.size()));
  for (const int64_t dim : dims) {
    if (dim < 0) throw ShapeError(fmt::format("a dimension cannot be {}", dim));
    dims_[size_t(rank_++)] = dim;
    constexpr int64_t most = int64_t(1) << 59;  // so that the bytes of no dtype overflow
    if (__builtin_mul_overflow(count_, dim, &count_) || count_ > most)
      throw ShapeError(fmt::format("a tensor of shape ({}) is too large", fmt::join(dims, ", ")));
  }
}

void Shape::fail(int i) const {
  throw ShapeError(fmt::format("a tensor of shape {} has no dimension {}", to_string(*this), i));
}

std::string to_string(const Shape& shape) {
  std::string text = "(";
  for (int i = 0; i < shape.rank(); ++i) text += fmt::format("{}{}", i ? ", " : "", shape[i]);
  return text + (shape.rank() == 1 ? ",)" : ")");
}

Tensor Tensor::uninitialised(const Shape& shape, DType dtype) {
  if (is_quantized(dtype) && (shape.rank() == 0 || shape[-1] % elements_of_block(dtype) != 0))
    throw ShapeError(fmt::format("{} has blocks of {} elements, which do not divide the rows of shape {}",
                                 name_of(dtype), elements_of_block(dtype), to_string(shape)));
  constexpr size_t alignment = 64;  // a cache line, and the widest vector register
  const size_t bytes = (bytes_of(dtype, shape.count()) + alignment) / alignment * alignment;
  void* memory = std::aligned_alloc(alignment, bytes);
  if (!memory) throw Error(fmt::format("no memory for a tensor of shape {}: {} bytes", to_string(shape), bytes));
  return Tensor(shape, dtype, Memory(memory, std::free), Place::host);
}

/// Uniform in [-1, 1), the same for every tensor of this size.
static void fill_with_noise(std::span<float> out) {
  uint32_t state = 2463534242u + uint32_t(out.size());
  for (float& x : out) {
    state ^= state << 13, state ^= state >> 17, state ^= state << 5;
    x = float(state) * 0x1p-31f - 1.0f;
  }
}

Tensor::Tensor(const Shape& shape, DType dtype) : Tensor(uninitialised(shape, dtype)) {
  if (dtype == DType::f32 && fresh_memory == FreshMemory::noise) {
    fill_with_noise({data<float>(), size_t(count())});
  } else if (fresh_memory == FreshMemory::zeros) {
    std::memset(data_, 0, bytes());
  } else if (dtype == DType::f32) {
    std::fill_n(data<float>(), count(), std::bit_cast<float>(never_written));
  } else {
    const bool integer = dtype == DType::i32 || dtype == DType::i64;
    std::memset(data_, integer ? 0 : 0xff, bytes());  // all ones is a NaN in every float format
  }
}

Tensor& Tensor::operator=(Tensor&& o) noexcept {
  shape_ = std::exchange(o.shape_, Shape(Shape::Nothing()));
  dtype_ = o.dtype_;
  place_ = o.place_;
  memory_ = std::move(o.memory_);
  data_ = std::exchange(o.data_, nullptr);
  return *this;
}

Tensor Tensor::view_of(void* data, const Shape& shape, DType dtype, Place place) {
  Tensor view;
  view.shape_ = shape, view.dtype_ = dtype, view.place_ = place;
  view.data_ = data;
  return view;
}

ConstTensor Tensor::view_of(const void* data, const Shape& shape, DType dtype, Place place) {
  return view_of(const_cast<void*>(data), shape, dtype, place);
}

Tensor Tensor::view_rows(int64_t first, int64_t n) {
  if (shape_.rank() == 0 || first < 0 || n < 0 || first > dim(0) || n > dim(0) - first)
    throw ShapeError(fmt::format("{} rows from {} on are not in a tensor of shape {}", n, first, to_string(shape_)));
  const int64_t row = dim(0) ? count() / dim(0) : 0;  // elements of one entry
  Tensor rows = view_of(static_cast<char*>(data_) + bytes_of(dtype_, first * row), shape_, dtype_, place_);
  rows.shape_.dims_[0] = n, rows.shape_.count_ = n * row;
  return rows;
}

Tensor Tensor::operator[](int64_t i) {
  Tensor entry = view_rows(i, 1);
  Shape& shape = entry.shape_;
  std::copy(shape.dims_ + 1, shape.dims_ + shape.rank_, shape.dims_);
  --shape.rank_;
  return entry;
}

Tensor Tensor::reshaped(const Shape& shape) {
  if (shape.count() != count())
    throw ShapeError(fmt::format("a tensor of shape {} cannot be seen as {}: {} elements are not {}", to_string(shape_),
                                 to_string(shape), count(), shape.count()));
  return view_of(data_, shape, dtype_, place_);
}

ConstTensor Tensor::view_rows(int64_t first, int64_t n) const { return const_cast<Tensor*>(this)->view_rows(first, n); }

ConstTensor Tensor::operator[](int64_t i) const { return (*const_cast<Tensor*>(this))[i]; }

ConstTensor Tensor::reshaped(const Shape& shape) const { return const_cast<Tensor*>(this)->reshaped(shape); }

Tensor Tensor::copy() const {
  if (!data_) return {};
  Tensor copy = uninitialised(shape_, dtype_);
  std::memcpy(copy.data_, data_, bytes());
  return copy;
}

double Tensor::value(int64_t i) const {
  if (uint64_t(i) >= uint64_t(count())) fail_index(std::span(&i, 1));
  switch (dtype_) {
    case DType::f32:
      return data<float>()[i];
    case DType::f64:
      return data<double>()[i];
    case DType::bf16:
      return to_float(data<bf16>()[i]);
    case DType::f16:
      return to_float(data<f16>()[i]);
    case DType::i32:
      return data<int32_t>()[i];
    case DType::i64:
      return double(data<int64_t>()[i]);
    case DType::q8_0:
      return value_of(data<q8_0>()[i / block_elements], i % block_elements);
    case DType::q4_0:
      return value_of(data<q4_0>()[i / block_elements], i % block_elements);
    case DType::q4_k:
      return value_of(data<q4_k>()[i / large_block_elements], i % large_block_elements);
    case DType::q6_k:
      return value_of(data<q6_k>()[i / large_block_elements], i % large_block_elements);
  }
  return 0;
}

void Tensor::fail_index(std::span<const int64_t> index) const {
  throw ShapeError(
      fmt::format("index ({}) is outside a tensor of shape {}", fmt::join(index, ", "), to_string(shape_)));
}

void Tensor::fail_dtype(DType wanted) const {
  throw ShapeError(fmt::format("a tensor of {} was used as {}", name_of(dtype_), name_of(wanted)));
}

/// From floats, which most conversions begin with; the others take a double between.
template <class Round>
static void round_each(Tensor& out, const Tensor& x, Round round) {
  auto* to = out.data<decltype(round(0.0f))>();
  const int64_t n = x.count();
  if (x.dtype() != DType::f32) {
    for (int64_t i = 0; i < n; ++i) to[i] = round(float(x.value(i)));
    return;
  }
  const float* from = x.data();
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) to[i] = round(from[i]);
}

void convert(Tensor& out, const Tensor& x) {
  const auto is_integer = [](DType type) { return type == DType::i32 || type == DType::i64; };
  if (out.shape() != x.shape())
    throw ShapeError(fmt::format("a tensor of shape {} is not converted to one of shape {}", to_string(x.shape()),
                                 to_string(out.shape())));
  if (x.dtype() == out.dtype()) {
    std::memcpy(out.raw(), x.raw(), x.bytes());
    return;
  }
  if (is_integer(x.dtype()) != is_integer(out.dtype()) || elements_of_block(out.dtype()) == large_block_elements)
    throw ShapeError(fmt::format("{} is not converted to {}", name_of(x.dtype()), name_of(out.dtype())));
  if (is_quantized(out.dtype()) && x.dtype() != DType::f32) return convert(out, converted(x, DType::f32));
  switch (out.dtype()) {
    case DType::f32:
      return round_each(out, x, [](float value) { return value; });
    case DType::bf16:
      return round_each(out, x, [](float value) { return to_bf16(value); });
    case DType::f16:
      return round_each(out, x, [](float value) { return to_f16(value); });
    case DType::q8_0:
      return quantize(out.data<q8_0>(), x.data(), x.count());
    case DType::q4_0:
      return quantize(out.data<q4_0>(), x.data(), x.count());
    case DType::f64:
      for (int64_t i = 0; i < x.count(); ++i) out.data<double>()[i] = x.value(i);
      return;
    case DType::i64:
      return void(std::copy_n(x.data<int32_t>(), x.count(), out.data<int64_t>()));
    case DType::i32:
      for (int64_t i = 0; i < x.count(); ++i) {
        const int64_t value = x.data<int64_t>()[i];
        if (value != int32_t(value)) throw ShapeError(fmt::format("{} does not fit in an i32", value));
        out.data<int32_t>()[i] = int32_t(value);
      }
      return;
    case DType::q4_k:
    case DType::q6_k:
      return;  // refused above
  }
}

Tensor converted(const Tensor& tensor, DType dtype) {
  if (!tensor) return {};
  Tensor out = Tensor::uninitialised(tensor.shape(), dtype);
  convert(out, tensor);
  return out;
}

}  // namespace rungs
