/// A Tensor is a shape, a dtype and contiguous row-major memory: its own, or a view of somebody else's.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>

#include "rungs/base/error.hpp"
#include "rungs/tensor/dtype.hpp"

/// The library that every lesson stands on. It knows no lesson.
namespace rungs {

/// Up to four dimensions, outermost first. The element count is checked for overflow when a shape is made.
class Shape {
 public:
  static constexpr int max_rank = 4;

  Shape() = default;
  /// \throws ShapeError for more than four dimensions, a negative one, or a count above 2⁵⁹.
  Shape(std::initializer_list<int64_t> dims) : Shape(std::span(dims.begin(), dims.size())) {}
  explicit Shape(std::span<const int64_t> dims);

  int rank() const { return rank_; }
  /// The number of elements: the product of all dimensions, 1 for a scalar.
  int64_t count() const { return count_; }
  /// Dimension i; from the back when i is negative, so [-1] is the innermost. \throws ShapeError
  int64_t operator[](int i) const {
    const int k = i < 0 ? i + rank_ : i;
    if (k < 0 || k >= rank_) fail(i);
    return dims_[size_t(k)];
  }
  bool operator==(const Shape& o) const { return rank_ == o.rank_ && std::equal(dims_, dims_ + rank_, o.dims_); }

 private:
  friend class Tensor;
  struct Nothing {};
  explicit Shape(Nothing) : count_(0), rank_(1) {}  // (0), of no tensor
  [[noreturn]] void fail(int i) const;
  int64_t dims_[max_rank] = {};
  int64_t count_ = 1;
  int rank_ = 0;
};

/// "(3, 4)"
std::string to_string(const Shape& shape);

/// What stands in memory that nobody has written yet.
enum class FreshMemory {
  nan,    ///< one special NaN, so that reading it shows at once; also tells "never written" from "went wrong"
  noise,  ///< the same finite noise for the same size: NaN spreads and makes different mistakes look alike
  zeros,  ///< what a program that adds to fresh memory counts on
};

/// Sets what tensors made from now on hold. The default is FreshMemory::nan.
void set_fresh_memory(FreshMemory kind);

/// The NaN of FreshMemory::nan.
inline constexpr uint32_t never_written = 0x7fc0dead;

/// Where a tensor's memory lies, and so which operations may touch it.
enum class Place { host, gpu };

class ConstTensor;

/// Moves, but copies only when asked: `copy()` is a new tensor, `view()` the same memory. A view does not keep the
/// memory alive. A const tensor gives views that cannot be written through.
class Tensor {
 public:
  using Memory = std::unique_ptr<void, void (*)(void*)>;

  /// No tensor at all: `if (bias)` is false.
  Tensor() = default;
  /// Owns fresh memory, 64-byte aligned, filled as set_fresh_memory says (integers with zeros).
  explicit Tensor(const Shape& shape, DType dtype = DType::f32);
  /// Takes over memory that came from elsewhere, a device for example.
  Tensor(const Shape& shape, DType dtype, Memory memory, Place place)
      : shape_(shape), dtype_(dtype), place_(place), memory_(std::move(memory)), data_(memory_.get()) {}
  /// Looks at memory that somebody else owns.
  static Tensor view_of(void* data, const Shape& shape, DType dtype, Place place = Place::host);
  static ConstTensor view_of(const void* data, const Shape& shape, DType dtype, Place place = Place::host);
  /// Owns memory whose content is undefined.
  static Tensor uninitialised(const Shape& shape, DType dtype = DType::f32);

  Tensor(Tensor&& o) noexcept
      : shape_(o.shape_), dtype_(o.dtype_), place_(o.place_), memory_(std::move(o.memory_)), data_(o.data_) {
    o.shape_ = Shape(Shape::Nothing()), o.data_ = nullptr;
  }
  Tensor& operator=(Tensor&& o) noexcept;

  explicit operator bool() const { return data_ != nullptr; }
  const Shape& shape() const { return shape_; }
  DType dtype() const { return dtype_; }
  Place place() const { return place_; }
  int64_t dim(int i) const { return shape_[i]; }
  int64_t count() const { return data_ ? shape_.count() : 0; }
  size_t bytes() const { return bytes_of(dtype_, count()); }
  /// The tensor seen as a matrix: the innermost dimension is the column, all others together the row.
  int64_t cols() const { return shape_.rank() == 0 ? 1 : shape_[-1]; }
  int64_t rows() const { return cols() == 0 ? 0 : count() / cols(); }

  /// The elements in memory order. \throws ShapeError when T is not the dtype.
  template <class T = float>
  T* data() {
    if (dtype_of<T> != dtype_) fail_dtype(dtype_of<T>);
    return static_cast<T*>(data_);
  }
  template <class T = float>
  const T* data() const {
    return const_cast<Tensor*>(this)->data<T>();
  }
  void* raw() { return data_; }
  const void* raw() const { return data_; }

  /// One element by its indices, as many as there are dimensions. \throws ShapeError outside the tensor.
  template <class T = float, class... I>
  T& at(I... index) {
    const int64_t i[] = {int64_t(index)...};
    return data<T>()[offset(i, sizeof...(I))];
  }
  template <class T = float, class... I>
  const T& at(I... index) const {
    return const_cast<Tensor*>(this)->at<T>(index...);
  }
  /// The f32 element at (i), (i, j), ...: what lessons use. \throws ShapeError outside the tensor.
  template <class... I>
  float& operator()(I... index) {
    return at<float>(index...);
  }
  template <class... I>
  float operator()(I... index) const {
    return at<float>(index...);
  }
  /// Element i in memory order. \throws ShapeError outside the tensor.
  float& flat(int64_t i) {
    if (uint64_t(i) >= uint64_t(count())) fail_index(std::span(&i, 1));
    return data<float>()[i];
  }
  float flat(int64_t i) const { return const_cast<Tensor*>(this)->flat(i); }
  /// Element i in memory order of any dtype, as a double.
  double value(int64_t i) const;

  /// Entries [first, first + n) of the outermost dimension: the same memory, not a copy. \throws ShapeError
  Tensor view_rows(int64_t first, int64_t n);
  ConstTensor view_rows(int64_t first, int64_t n) const;
  /// Entry i of the outermost dimension, which disappears: (B, S, D)[i] is (S, D). \throws ShapeError
  Tensor operator[](int64_t i);
  ConstTensor operator[](int64_t i) const;
  /// The same memory under another shape of the same count. \throws ShapeError
  Tensor reshaped(const Shape& shape);
  ConstTensor reshaped(const Shape& shape) const;
  Tensor view() { return reshaped(shape_); }
  ConstTensor view() const;
  Tensor copy() const;

 private:
  /// Of pointers and no std::span: a learner's file is compiled without optimization, and this is its innermost loop.
  size_t offset(const int64_t* index, size_t count) const {
    if (count != size_t(shape_.rank_)) fail_index({index, count});
    uint64_t at = 0;
    for (size_t d = 0; d < count; ++d) {
      const auto size = uint64_t(shape_.dims_[d]);
      if (uint64_t(index[d]) >= size) fail_index({index, count});
      at = at * size + uint64_t(index[d]);
    }
    return at;
  }
  [[noreturn]] void fail_index(std::span<const int64_t> index) const;
  [[noreturn]] void fail_dtype(DType wanted) const;

  Shape shape_{Shape::Nothing()};
  DType dtype_ = DType::f32;
  Place place_ = Place::host;
  Memory memory_{nullptr, nullptr};
  void* data_ = nullptr;
};

/// A tensor that cannot be written through: a view of a const tensor, or weights, which may be mapped read-only. Goes
/// wherever a `const Tensor&` is wanted, and never becomes a Tensor again, but by copy().
class ConstTensor {
 public:
  ConstTensor() = default;
  ConstTensor(Tensor&& tensor) : tensor_(std::move(tensor)) {}

  operator const Tensor&() const { return tensor_; }
  explicit operator bool() const { return bool(tensor_); }
  const Shape& shape() const { return tensor_.shape(); }
  DType dtype() const { return tensor_.dtype(); }
  Place place() const { return tensor_.place(); }
  int64_t dim(int i) const { return tensor_.dim(i); }
  int64_t count() const { return tensor_.count(); }
  size_t bytes() const { return tensor_.bytes(); }
  int64_t cols() const { return tensor_.cols(); }
  int64_t rows() const { return tensor_.rows(); }
  template <class T = float>
  const T* data() const {
    return tensor_.data<T>();
  }
  const void* raw() const { return tensor_.raw(); }
  template <class T = float, class... I>
  const T& at(I... index) const {
    return tensor_.at<T>(index...);
  }
  template <class... I>
  float operator()(I... index) const {
    return tensor_(index...);
  }
  float flat(int64_t i) const { return tensor_.flat(i); }
  double value(int64_t i) const { return tensor_.value(i); }
  ConstTensor view_rows(int64_t first, int64_t n) const { return tensor_.view_rows(first, n); }
  ConstTensor operator[](int64_t i) const { return tensor_[i]; }
  ConstTensor reshaped(const Shape& shape) const { return tensor_.reshaped(shape); }
  ConstTensor view() const { return tensor_.view(); }
  Tensor copy() const { return tensor_.copy(); }

 private:
  Tensor tensor_;
};

inline ConstTensor Tensor::view() const { return reshaped(shape_); }

/// out = x, each element rounded to the dtype of out. Same shape. Integers and floats do not mix, and nothing becomes
/// q4_k or q6_k. \throws ShapeError
void convert(Tensor& out, const Tensor& x);
/// A new tensor of another dtype. \throws ShapeError as convert
Tensor converted(const Tensor& tensor, DType dtype);

}  // namespace rungs
