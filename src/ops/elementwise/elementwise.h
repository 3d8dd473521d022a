#pragma once
// Loops shared by elementwise operators. Floats of 16 bits and fewer are computed in f32 and rounded once.

#include <array>
#include <string>

#include "base/check.h"
#include "graph/op.h"
#include "ops/definition/broadcast.h"
#include "ops/definition/known.h"
#include "ops/definition/visit.h"
#include "ops/traits.h"
#include "tensor/strings.h"

namespace lanner::ops {

using ComputeTypes = decltype(join(Types<float, double>{}, IntegerTypes{}));

/// The type in which kernels compute elements of `type`: itself for integers, booleans, f32 and f64, else
/// f32.
inline DType kernel_dtype(DType type) {
  return is_float(type) ? compute_dtype(type) : type;
}

/// Calls `body(result)` with a tensor of type `type` and out's shape, and stores its elements in `out`.
template<typename Body>
void through_dtype(Tensor& out, DType type, Body&& body) {
  if (out.dtype() == type) return body(out);
  Tensor result = Tensor::allocate(type, out.shape());
  body(result);
  copy_tensor(result, out);
}

template<typename From, typename To, typename Function>
void map_elements(const Tensor& x, Tensor& out, Function function) {
  const auto from = x.as<From>();
  const auto to = out.as<To>();
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = function(from[i]);
}

/// out[i] = function(x[i]) for elements of one of `types` (as returned by kernel_dtype), where out has x's
/// dtype.
template<typename AllowedTypes, typename Function>
void map_numbers(KernelContext& context, AllowedTypes types, Function function) {
  const DType type = kernel_dtype(context.input(0).dtype());
  const Tensor x = to_dtype(context.input(0), type);
  through_dtype(context.output(0), type, [&](Tensor& out) {
    visit_dtype(type, types, [&]<typename T>(Tag<T>) { map_elements<T, T>(x, out, function); });
  });
}

/// out = function(a, b) over the broadcast shape of `out`. `out` may share memory with an operand of its
/// shape.
template<typename A, typename B, typename Out, typename Function>
void combine_elements(const Tensor& a, const Tensor& b, Tensor& out, Function function) {
  const A* const a_data = a.as<A>().data();
  const B* const b_data = b.as<B>().data();
  Out* const out_data = out.as<Out>().data();
  const std::array shapes = {a.shape(), b.shape()};
  const BroadcastLoop loop(out.shape(), shapes);
  loop.run([&](std::int64_t at, const BroadcastLoop::Offsets& offsets, std::int64_t count) {
    const A* const x = a_data + offsets[0];
    const B* const y = b_data + offsets[1];
    Out* const z = out_data + at;
    if (loop.step(0) != 0 && loop.step(1) != 0) {
      for (std::int64_t i = 0; i < count; ++i) z[i] = function(x[i], y[i]);
    } else if (loop.step(0) != 0) {
      B scalar;
      assign_element(scalar, *y);
      for (std::int64_t i = 0; i < count; ++i) z[i] = function(x[i], scalar);
    } else {
      A scalar;
      assign_element(scalar, *x);
      for (std::int64_t i = 0; i < count; ++i) z[i] = function(scalar, y[i * loop.step(1)]);
    }
  });
}

/// Output 0 has input 0's type.
inline void infer_same(InferContext& context) {
  context.set_output(0, context.input(0));
}

/// Like infer_same, for an input that must be of a float type.
inline void infer_same_float(InferContext& context) {
  const DType dtype = context.input(0).dtype();
  check(is_float(dtype), ErrorCode::invalid_argument, "{}: input is {}, expected a float type",
        context.node().kind(), to_string(dtype));
  context.set_output(0, context.input(0));
}

/// An elementwise operator of `inputs` inputs and one output.
inline OpDef elementwise_op(std::string name, int inputs) {
  OpDef op;
  op.name = std::move(name);
  op.min_inputs = op.max_inputs = inputs;
  op.elementwise = true;
  op.traits = {.pattern = Pattern::elementwise, .split = splits_elements};
  return op;
}

} // namespace lanner::ops
