#pragma once
// Dispatch from a DType known at run time to a C++ type, by a function template.

#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include <lanner/dtype.h>
#include <lanner/error.h>
#include <lanner/tensor.h>

#include "base/check.h"

namespace lanner::ops {

template<typename... Ts>
struct Types {};

template<typename... As, typename... Bs>
Types<As..., Bs...> join(Types<As...>, Types<Bs...>);

using FloatTypes = Types<float, double, Half, BFloat16>;
using SignedIntegerTypes = Types<std::int8_t, std::int16_t, std::int32_t, std::int64_t>;
using UnsignedIntegerTypes = Types<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>;
using IntegerTypes = decltype(join(SignedIntegerTypes{}, UnsignedIntegerTypes{}));
using NumberTypes = decltype(join(FloatTypes{}, IntegerTypes{}));
using NumberAndBoolTypes = decltype(join(NumberTypes{}, Types<bool>{}));
using WholeByteTypes = decltype(join(NumberAndBoolTypes{}, Types<std::string>{}));

template<typename T>
struct Tag {
  using type = T;
};

/// Calls `body(Tag<T>{})` with the T of `types` whose dtype is `type`; Error{unsupported} when none is. Use:
/// `visit_dtype(x.dtype(), FloatTypes{}, [&]<typename T>(Tag<T>) { ... });`
template<typename... Ts, typename Body>
void visit_dtype(DType type, Types<Ts...>, Body&& body) {
  const bool found = ((type == dtype_of<Ts>() && (body(Tag<Ts>{}), true)) || ...);
  if (found) return;
  std::string known;
  ((known += known.empty() ? "" : ", ", known += to_string(dtype_of<Ts>())), ...);
  fail(ErrorCode::unsupported, "element type {} is not supported here; expected one of {}", to_string(type),
       known);
}

template<typename T>
inline constexpr bool is_half = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

/// The type in which arithmetic on T is done: float for 16-bit floats, else T.
template<typename T>
using Compute = std::conditional_t<is_half<T>, float, T>;

template<typename T>
Compute<T> widen(const T& value) {
  return static_cast<Compute<T>>(value);
}
template<typename T>
T narrow(Compute<T> value) {
  return static_cast<T>(value);
}

/// The type in which kernels written for float and double compute a tensor of `type`.
inline DType compute_dtype(DType type) {
  return type == DType::f64 ? DType::f64 : DType::f32;
}

/// `tensor` itself when it already has type `type`, else a converted row-major copy.
inline Tensor to_dtype(const Tensor& tensor, DType type) {
  if (tensor.dtype() == type) return tensor;
  Tensor result = Tensor::allocate(type, tensor.shape());
  copy_tensor(tensor, result);
  return result;
}

/// `visit_dtype` for kernels written for float and double; 16-bit floats compute in float.
template<typename Body>
void visit_compute(DType type, Body&& body) {
  visit_dtype(compute_dtype(type), Types<float, double>{}, std::forward<Body>(body));
}

/// An output in the type that its kernel computes in: the output itself, or a wider tensor that `store`
/// converts into it.
class WideOutput {
public:
  explicit WideOutput(Tensor& target) : WideOutput(target, compute_dtype(target.dtype())) {}
  WideOutput(Tensor& target, DType type)
      : target_(target), wide_(type == target.dtype() ? target : Tensor::allocate(type, target.shape())) {}

  template<typename T>
  std::span<T> as() {
    return wide_.as<T>();
  }
  void store() {
    if (wide_.dtype() != target_.dtype()) copy_tensor(wide_, target_);
  }

private:
  Tensor& target_;
  Tensor wide_;
};

} // namespace lanner::ops
