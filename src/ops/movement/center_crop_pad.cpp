#include "base/check.h"
#include "ops/definition/strided.h"
#include "ops/table/arguments.h"
#include "ops/table/table.h"
#include "ops/traits.h"

namespace lanner::ops {

static void infer_center_crop_pad(InferContext& context) {
  const Type& x = context.input(0);
  if (!x.ranked()) return infer_like(context);
  const std::vector<std::size_t> axes = axes_attribute(context.attributes(), x.rank());
  const auto sizes = known_elements(context, 1);
  check(!sizes || sizes->size() == axes.size(), ErrorCode::invalid_argument,
        "shape has {} values, expected {}", sizes ? sizes->size() : 0, axes.size());
  Dims dims = x.dims();
  for (std::size_t i = 0; i < axes.size(); ++i) {
    dims[axes[i]] = sizes ? (*sizes)[i] : context.fresh("cropped", INT32_MAX);
    check(!dims[axes[i]].is_constant() || dims[axes[i]].value() >= 0, ErrorCode::invalid_argument,
          "shape holds {}, expected at least 0", dims[axes[i]].to_string());
  }
  context.set_output(0, x.with_dims(std::move(dims)));
}

static void run_center_crop_pad(KernelContext& context) {
  const Tensor& x = context.input(0);
  Tensor& y = context.output(0);
  clear_elements(y);
  Walk source = dense_walk(x.shape()), target = dense_walk(y.shape());
  Shape both = x.shape();
  for (std::size_t d = 0; d < x.rank(); ++d) {
    const std::int64_t in = x.shape()[d], out = y.shape()[d];
    both[d] = std::min(in, out);
    source.offset += (in - both[d]) / 2 * source.strides[d];
    target.offset += (out - both[d]) / 2 * target.strides[d];
  }
  copy_strided(both, x, source, y, target);
}

std::vector<OpDef> center_crop_pad_ops() {
  return {OpDef{.name = "center_crop_pad",
                .min_inputs = 2,
                .max_inputs = 2,
                .operands = {{"x", dtypes::any}, list_of_counts("shape")},
                .attributes = {optional_attribute("axes", AttributeKind::integers, axis_range())},
                .infer = infer_center_crop_pad,
                .reference = run_center_crop_pad,
                .expand = {},
                .traits = movement()}};
}

} // namespace lanner::ops
