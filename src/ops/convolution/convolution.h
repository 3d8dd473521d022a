#pragma once
// Shared by the convolutions: shapes, inference and the loops over groups, channels and taps.

#include <span>
#include <vector>

#include "ops/convolution/window.h"
#include "ops/definition/rows.h"
#include "ops/definition/visit.h"

namespace lanner::ops {

/// Concrete sizes of one convolution. `inputs` and `outputs` are channels of all groups.
struct Convolution {
  std::int64_t batch = 0, inputs = 0, outputs = 0, groups = 1;
  Window window;

  static Convolution read(const AttributeMap& attributes, const Shape& x, const Shape& w, const Shape& y);
};

/// Sets output 0 from image `x` [N, C, ...] and weights `w` [M, C / group, ...], with element type `type`.
void infer_convolution(InferContext& context, std::size_t x, std::size_t w, DType type);

/// Error{invalid_argument} where `kernel_shape` is given and differs from the weights' shape.
void check_kernel_shape(const AttributeMap& attributes, std::span<const Dim> kernel);

/// `window_attribute_specs` with `group` and `kernel_shape`.
std::vector<AttributeSpec> convolution_attribute_specs();

/// Floating-point operations where each element of `met` is multiplied by the weights, operand 1, of one
/// channel of their first axis.
std::uint64_t convolution_flops(const Node& node, const Value* met);

// Note [Vector loops] GCC leaves loops of unknown length scalar at -O2 unless a pragma asks for vectors; the
// innermost loops of products have one.

/// y[n, m] += sum over c and taps of x[n, c] * w[m, c]; y holds the bias, or zeros, on entry.
template<typename T>
void convolve(const Convolution& conv, std::span<const T> x, std::span<const T> w, std::span<T> y,
              int threads) {
  const Window& window = conv.window;
  const std::int64_t depth = conv.inputs / conv.groups, width = conv.outputs / conv.groups;
  const std::int64_t image = window.image_elements(), plane = window.position_count(), taps = window.taps();
  const std::int64_t stride = window.strides.back();
  for_each_row(threads, conv.batch * conv.outputs, [&](std::int64_t row) {
    const std::int64_t n = row / conv.outputs, m = row % conv.outputs;
    T* out = y.data() + row * plane;
    const T* in = x.data() + (n * conv.inputs + m / width * depth) * image;
    const T* weights = w.data() + m * depth * taps;
    for_each_tap(window, [&](std::int64_t t, std::span<const std::int64_t> tap) {
      for_each_run(window, tap, [&](std::int64_t from, std::int64_t to, std::int64_t count) {
        for (std::int64_t c = 0; c < depth; ++c) {
          const T weight = weights[c * taps + t];
          const T* source = in + c * image + from;
          if (stride == 1)
#pragma omp simd
            for (std::int64_t i = 0; i < count; ++i) out[to + i] += weight * source[i];
          else
            for (std::int64_t i = 0; i < count; ++i) out[to + i] += weight * source[i * stride];
        }
      });
    });
  });
}

/// Fills each plane of `y` with its channel's value of `bias`, or zero when `bias` is empty.
template<typename T>
void fill_bias(std::int64_t channels, std::int64_t plane, std::span<const T> bias, std::span<T> y) {
  for (std::size_t row = 0; row * static_cast<std::size_t>(plane) < y.size(); ++row) {
    const T value = bias.empty() ? T{} : bias[row % static_cast<std::size_t>(channels)];
    const auto offset = static_cast<std::ptrdiff_t>(row) * plane;
    std::fill_n(y.begin() + offset, plane, value);
  }
}

/// Runs a convolution or its adjoint in the type for computing: fills the result of `channels` planes of
/// `plane` elements with the bias, input 2, and calls add(x, w, y), which adds the products to it.
template<typename Add>
void run_products(KernelContext& context, std::int64_t channels, std::int64_t plane, Add add) {
  Tensor& y = context.output(0);
  const DType type = compute_dtype(y.dtype());
  const Tensor x = to_dtype(context.input(0), type), w = to_dtype(context.input(1), type);
  const Tensor bias = context.has(2) ? to_dtype(context.input(2), type) : Tensor::allocate(type, {0});
  WideOutput sum(y);
  visit_compute(type, [&]<typename T>(Tag<T>) {
    fill_bias(channels, plane, bias.as<T>(), sum.as<T>());
    add.template operator()<T>(x.as<T>(), w.as<T>(), sum.as<T>());
  });
  sum.store();
}

} // namespace lanner::ops
