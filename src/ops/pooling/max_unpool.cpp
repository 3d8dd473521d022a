#include "base/check.h"
#include "ops/convolution/window.h"
#include "ops/definition/strided.h"
#include "ops/table/arguments.h"
#include "ops/table/table.h"
#include "ops/traits.h"

namespace lanner::ops {

/// Spatial sizes of max_pool's input, as far as the attributes determine them.
static Dims pooled_from(const AttributeMap& attributes, std::span<const Dim> x) {
  const std::vector<std::int64_t> kernel = attributes.integers("kernel_shape");
  check(kernel.size() == x.size(), ErrorCode::invalid_argument, "kernel_shape has {} values, expected {}",
        kernel.size(), x.size());
  const auto window = WindowAttributes::read(attributes, x.size());
  Dims sizes;
  for (std::size_t d = 0; d < x.size(); ++d) {
    sizes.push_back((x[d] - 1) * window.strides[d] + kernel[d] - window.begin[d] - window.end[d]);
    check(!sizes[d].is_constant() || sizes[d].value() >= 0, ErrorCode::invalid_argument,
          "pads leave {} elements of spatial axis {}", sizes[d].to_string(), d);
  }
  return sizes;
}

static void infer_max_unpool(InferContext& context) {
  const Type& x = context.input(0);
  if (!x.ranked()) return infer_like(context);
  check(x.rank() >= 3, ErrorCode::invalid_argument, "input is {}, expected rank 3 or more", x.to_string());
  Dims dims{x.dims()[0], x.dims()[1]};
  for (Dim& size : pooled_from(context.attributes(), std::span(x.dims()).subspan(2)))
    dims.push_back(std::move(size));
  if (context.has(2)) {
    const auto given = known_elements(context, 2);
    check(!given || given->size() == x.rank(), ErrorCode::invalid_argument,
          "output_shape has {} values, expected {}", given ? given->size() : 0, x.rank());
    for (std::size_t d = 0; d < dims.size(); ++d)
      dims[d] = given ? (*given)[d] : context.fresh("unpooled", INT32_MAX);
  }
  context.set_output(0, x.with_dims(std::move(dims)));
}

// Indices refer to the output: max_pool's refer to its input, whose shape output_shape gives where kernel and
// strides allow several. (ONNX's own reference indexes the smallest of those and sets the rest to 0.)
static void run_max_unpool(KernelContext& context) {
  const Tensor& x = context.input(0);
  Tensor& y = context.output(0);
  clear_elements(y);
  const auto places = context.input(1).as<std::int64_t>();
  check(static_cast<std::int64_t>(places.size()) == x.elements(), ErrorCode::invalid_argument,
        "{} indices for {} values", places.size(), x.elements());
  const RunCopy copy_run(x.dtype());
  for (std::size_t i = 0; i < places.size(); ++i) {
    check(places[i] >= 0 && places[i] < y.elements(), ErrorCode::invalid_argument,
          "index {} is out of range for the {} elements of {}", places[i], y.elements(),
          y.shape().to_string());
    copy_run(y.data(), places[i], x.data(), static_cast<std::int64_t>(i), 1);
  }
}

std::vector<OpDef> max_unpool_ops() {
  return {OpDef{.name = "max_unpool",
                .min_inputs = 2,
                .max_inputs = 3,
                .operands = {{"x", dtypes::any, 0, "_ _ _ ..."},
                             {"indices", DType::i64},
                             list_of_counts("output_shape")},
                .attributes = {required_attribute("kernel_shape", AttributeKind::integers,
                                                  window_range(1).counted(1, 64)),
                               optional_attribute("pads", AttributeKind::integers, window_range(0)),
                               optional_attribute("strides", AttributeKind::integers, window_range(1))},
                .infer = infer_max_unpool,
                .reference = run_max_unpool,
                .expand = {},
                .traits = movement()}};
}

} // namespace lanner::ops
