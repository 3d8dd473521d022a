#pragma once
// Tensors: a typed, shaped view of shared memory.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <lanner/device.h>
#include <lanner/dtype.h>
#include <lanner/error.h>
#include <lanner/layout.h>
#include <lanner/limits.h>
#include <lanner/shape.h>

namespace lanner {

/// The C++ type that holds one element: `dtype_of<float>() == DType::f32`.
template<typename T>
constexpr DType dtype_of();

/// A dense tensor in some Layout over memory that it shares with its copies. Copying a Tensor copies the
/// view, not the elements. Concurrent reads are safe; a write needs exclusive access.
class Tensor {
public:
  Tensor() = default;
  // Out of line: nearly every file copies and destroys some.
  Tensor(const Tensor& other);
  Tensor(Tensor&& other) noexcept = default;
  Tensor& operator=(const Tensor& other);
  Tensor& operator=(Tensor&& other) noexcept;
  ~Tensor();
  /// Uninitialised memory for `shape`, aligned to 64 bytes, on `device`. Throws Error{limit_exceeded,
  /// out_of_memory}, and Error{unsupported} for a GPU that cannot be used. `string` tensors hold constructed,
  /// empty strings and are on the host.
  static Tensor allocate(DType type, Shape shape, Layout layout = {}, Device device = {},
                         const Limits& limits = {});
  /// Like allocate, with every byte zero.
  static Tensor zeros(DType type, Shape shape, Layout layout = {});
  /// A view of memory that `owner` keeps alive; `data` points at the first element.
  static Tensor wrap(void* data, DType type, Shape shape, std::shared_ptr<const void> owner,
                     Layout layout = {}, Device device = {});
  /// A row-major host tensor with a copy of `values`.
  template<typename T>
  static Tensor from(std::span<const T> values, Shape shape);
  template<typename T>
  static Tensor scalar(T value) {
    return from<T>(std::span<const T>(&value, 1), Shape{});
  }

  bool defined() const noexcept { return data_ != nullptr || owner_ != nullptr; }
  DType dtype() const noexcept { return dtype_; }
  const Shape& shape() const noexcept { return shape_; }
  const Layout& layout() const noexcept { return layout_; }
  Device device() const noexcept { return device_; }
  std::size_t rank() const noexcept { return shape_.rank(); }
  std::int64_t elements() const { return shape_.elements(); }
  std::uint64_t bytes() const { return layout_.bytes(shape_, dtype_); }

  void* data() noexcept { return data_; }
  const void* data() const noexcept { return data_; }
  const std::shared_ptr<const void>& owner() const noexcept { return owner_; }

  /// The elements as `T`, which must be the tensor's own type and the tensor in host memory; else
  /// Error{internal}. In a blocked layout the span covers the padding too.
  template<typename T>
  std::span<T> as();
  template<typename T>
  std::span<const T> as() const;

  /// The same row-major elements with another shape of equal element count.
  Tensor reshaped(Shape shape) const;
  /// A deep copy in row-major order on the host.
  Tensor clone() const;
  /// A copy in the same layout on another device, complete at return; the tensor itself if it is already
  /// there. Work pending on it in other streams is not waited for.
  Tensor to(Device device) const;

private:
  void require(DType type) const;
  std::uint64_t storage_elements() const;

  void* data_ = nullptr;
  std::shared_ptr<const void> owner_;
  DType dtype_ = DType::f32;
  Device device_;
  Shape shape_;
  Layout layout_;
};

/// 16-bit floats as bits, with conversions that round to nearest even.
struct Half {
  std::uint16_t bits = 0;
  Half() = default;
  explicit Half(float value) noexcept;
  explicit operator float() const noexcept;
};
struct BFloat16 {
  std::uint16_t bits = 0;
  BFloat16() = default;
  explicit BFloat16(float value) noexcept;
  explicit operator float() const noexcept;
};

template<>
constexpr DType dtype_of<float>() {
  return DType::f32;
}
template<>
constexpr DType dtype_of<double>() {
  return DType::f64;
}
template<>
constexpr DType dtype_of<Half>() {
  return DType::f16;
}
template<>
constexpr DType dtype_of<BFloat16>() {
  return DType::bf16;
}
template<>
constexpr DType dtype_of<std::int8_t>() {
  return DType::i8;
}
template<>
constexpr DType dtype_of<std::uint8_t>() {
  return DType::u8;
}
template<>
constexpr DType dtype_of<std::int16_t>() {
  return DType::i16;
}
template<>
constexpr DType dtype_of<std::uint16_t>() {
  return DType::u16;
}
template<>
constexpr DType dtype_of<std::int32_t>() {
  return DType::i32;
}
template<>
constexpr DType dtype_of<std::uint32_t>() {
  return DType::u32;
}
template<>
constexpr DType dtype_of<std::int64_t>() {
  return DType::i64;
}
template<>
constexpr DType dtype_of<std::uint64_t>() {
  return DType::u64;
}
template<>
constexpr DType dtype_of<bool>() {
  return DType::boolean;
}
template<>
constexpr DType dtype_of<std::string>() {
  return DType::string;
}

template<typename T>
Tensor Tensor::from(std::span<const T> values, Shape shape) {
  errors::check(static_cast<std::int64_t>(values.size()) == shape.elements(), ErrorCode::invalid_argument,
                "tensor: {} values given for shape {}", values.size(), shape.to_string());
  Tensor result = allocate(dtype_of<T>(), std::move(shape));
  std::copy(values.begin(), values.end(), result.as<T>().begin());
  return result;
}

template<typename T>
std::span<T> Tensor::as() {
  require(dtype_of<T>());
  return {static_cast<T*>(data_), storage_elements()};
}
template<typename T>
std::span<const T> Tensor::as() const {
  require(dtype_of<T>());
  return {static_cast<const T*>(data_), storage_elements()};
}

/// Copies `from` into `to`: same logical shape, any two layouts, and any two numeric types (converted by
/// ONNX's Cast rules). Both on the host.
void copy_tensor(const Tensor& from, Tensor& to);

} // namespace lanner
