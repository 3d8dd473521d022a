#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "ops/definition/visit.h"
#include "ops/elementwise/quantization.h"
#include "ops/table/table.h"
#include "ops/traits.h"

namespace lanner::ops {

// quantize_linear, dequantize_linear and dynamic_quantize_linear.

static constexpr DTypeSet stored_types = dtypes::integers | dtypes::tiny_integers | dtypes::tiny_floats;
static constexpr DTypeSet reals = dtypes::all_floats | DType::i32;

/// Checks that scales fit the input, and that there is a zero point for each scale.
static void check_parameters(const InferContext& context) {
  const auto x = static_shape(context, 0), scale = static_shape(context, 1), zero = static_shape(context, 2);
  if (x && scale)
    ParameterIndex(*x, *scale, context.attributes().integer("axis", 1),
                   context.attributes().integer("block_size", 0));
  check(!scale || !zero || zero->elements() == scale->elements(), ErrorCode::invalid_argument,
        "the zero point has {} values, the scale {}", zero ? zero->elements() : 0,
        scale ? scale->elements() : 0);
}

static void infer_quantize(InferContext& context) {
  const DType zero_point = context.has(2) ? context.input(2).dtype() : DType::u8;
  const DType type = context.attributes().get<DType>("output_dtype", zero_point);
  check(!context.has(2) || zero_point == type, ErrorCode::invalid_argument,
        "output_dtype is {}, y_zero_point's type {}", to_string(type), to_string(zero_point));
  check_parameters(context);
  context.set_output(0, context.input(0).with_dtype(type));
}

static QuantizationTable table_of(const KernelContext& context) {
  const AttributeMap& attributes = context.attributes();
  return quantization_table(context.input(0).shape(), context.input(1),
                            context.has(2) ? context.input(2) : Tensor(), attributes.integer("axis", 1),
                            attributes.integer("block_size", 0));
}

static void run_quantize(KernelContext& context) {
  QuantizationTable table = table_of(context);
  table.precision = context.attributes().get<DType>("precision", table.precision);
  quantize(context.input(0), table, context.attributes().flag("saturate", true), context.output(0));
}

static void infer_dequantize(InferContext& context) {
  const DType type = context.attributes().get<DType>("output_dtype", context.input(1).dtype());
  check_parameters(context);
  context.set_output(0, context.input(0).with_dtype(type));
}

static void run_dequantize(KernelContext& context) {
  dequantize(context.input(0), table_of(context), context.output(0));
}

static void infer_dynamic_quantize(InferContext& context) {
  context.set_output(0, context.input(0).with_dtype(DType::u8));
  context.set_output(1, Type(DType::f32, Dims{}));
  context.set_output(2, Type(DType::u8, Dims{}));
}

static void run_dynamic_quantize(KernelContext& context) {
  const auto x = context.input(0).as<float>();
  float least = 0, most = 0; // The range includes zero, so that zero is stored exactly.
  for (const float value : x) {
    least = std::min(least, value);
    most = std::max(most, value);
  }
  // For all zeros any scale works, except 0, which would make them NaN in the division.
  const float scale = most == least ? 1.0f : (most - least) / 255.0f;
  const auto range = stored_range(DType::u8);
  const double zero = scale == 0 ? 0 : quantized(static_cast<double>(-least / scale), 0, range);
  const auto y = context.output(0).as<std::uint8_t>();
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double scaled = scale == 0 ? 0 : static_cast<double>(x[i] / scale);
    y[i] = static_cast<std::uint8_t>(quantized(scaled, zero, range));
  }
  context.output(1).as<float>()[0] = scale;
  context.output(2).as<std::uint8_t>()[0] = static_cast<std::uint8_t>(zero);
}

std::vector<OpDef> quantize_linear_ops() {
  const std::vector<AttributeSpec> shared = {
      integer_attribute("axis", 1, axis_range()), integer_attribute("block_size", 0, between(0, INT32_MAX)),
      optional_attribute("output_dtype", AttributeKind::dtype, element_types(stored_types | dtypes::floats))};
  OpDef quantize{.name = "quantize_linear",
                 .min_inputs = 2,
                 .max_inputs = 3,
                 .operands = {{"x", reals}, {"scale", reals}, {"zero_point", stored_types}},
                 .attributes = shared,
                 .infer = infer_quantize,
                 .reference = run_quantize,
                 .expand = {},
                 .traits = {.pattern = Pattern::elementwise, .discontinuous = true, .type_bound = true}};
  quantize.attributes.push_back(
      optional_attribute("precision", AttributeKind::dtype, element_types(dtypes::floats)));
  quantize.attributes.push_back(flag_attribute("saturate", true));
  OpDef dequantize{
      .name = "dequantize_linear",
      .min_inputs = 2,
      .max_inputs = 3,
      .operands = {{"x", stored_types, 'X'}, {"scale", reals}, {"zero_point", stored_types, 'X'}},
      .attributes = shared,
      .infer = infer_dequantize,
      .reference = run_dequantize,
      .expand = {},
      .traits = {.pattern = Pattern::elementwise, .type_bound = true}};
  OpDef dynamic{.name = "dynamic_quantize_linear",
                .min_inputs = 1,
                .max_inputs = 1,
                .min_outputs = 3,
                .max_outputs = 3,
                .operands = {{"x", DType::f32}},
                .attributes = {},
                .infer = infer_dynamic_quantize,
                .reference = run_dynamic_quantize,
                .expand = {},
                .traits = {.pattern = Pattern::composite, .discontinuous = true, .type_bound = true}};
  return {std::move(quantize), std::move(dequantize), std::move(dynamic)};
}

} // namespace lanner::ops
