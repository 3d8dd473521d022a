// Elements selected by index: gather, gather_elements, gather_nd.

#include "base/check.h"
#include "ops/definition/known_moves.h"
#include "ops/definition/strided.h"
#include "ops/table/arguments.h"
#include "ops/table/table.h"
#include "ops/traits.h"

namespace lanner::ops {

static void infer_gather(InferContext& context) {
  const Type &data = context.input(0), &indices = context.input(1);
  if (!data.ranked() || !indices.ranked()) return context.set_output(0, Type::unranked(data.dtype()));
  const std::size_t axis = resolve_axis(context.attributes().integer("axis", 0), data.rank());
  Dims dims = data.dims();
  const auto place = dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
  dims.insert(place, indices.dims().begin(), indices.dims().end());
  const Type type = data.with_dims(std::move(dims));
  context.set_output(0, type);
  set_known_moved(context, type);
}

static void run_gather(KernelContext& context) {
  const Tensor& data = context.input(0);
  Tensor& out = context.output(0);
  const AxisView view =
      view_axis(data.shape(), resolve_axis(context.attributes().integer("axis", 0), data.rank()));
  std::vector<std::int64_t> indices = read_integers(context.input(1), "indices");
  for (std::int64_t& index : indices) index = resolve_index(index, view.size);
  if (out.elements() == 0) return; // The outer dims may have any size.
  const RunCopy copy_run(data.dtype());
  std::int64_t at = 0;
  for (std::int64_t outer = 0; outer < view.outer; ++outer) {
    for (const std::int64_t index : indices) {
      copy_run(out.data(), at, data.data(), (outer * view.size + index) * view.inner, view.inner);
      at += view.inner;
    }
  }
}

static void infer_gather_elements(InferContext& context) {
  const Type &data = context.input(0), &indices = context.input(1);
  if (data.ranked()) {
    require_rank(context, 1, data.rank());
    resolve_axis(context.attributes().integer("axis", 0), data.rank());
  }
  if (!indices.ranked()) return context.set_output(0, Type::unranked(data.dtype()));
  context.set_output(0, Type(data.dtype(), indices.dims()));
}

/// The indices may be larger than the data only along `axis`.
static void require_inside(const Shape& inner, const Shape& outer, std::size_t axis, std::string_view what) {
  for (std::size_t d = 0; d < outer.rank(); ++d)
    check(d == axis || inner[d] <= outer[d], ErrorCode::invalid_argument,
          "{} of shape {} exceed data of shape {}", what, inner.to_string(), outer.to_string());
}

static void run_gather_elements(KernelContext& context) {
  const Tensor &data = context.input(0), &indices_input = context.input(1);
  Tensor& out = context.output(0);
  const std::size_t axis = resolve_axis(context.attributes().integer("axis", 0), data.rank());
  require_inside(out.shape(), data.shape(), axis, "indices");
  const std::vector<std::int64_t> indices = read_integers(indices_input, "indices");
  const std::vector<std::int64_t> strides = dense_strides(data.shape());
  const RunCopy copy_run(data.dtype());
  std::vector<std::int64_t> place(out.rank());
  for (std::size_t i = 0; i < indices.size(); ++i) {
    std::int64_t from = resolve_index(indices[i], data.shape()[axis]) * strides[axis];
    for (std::size_t d = 0; d < place.size(); ++d)
      if (d != axis) from += place[d] * strides[d];
    copy_run(out.data(), static_cast<std::int64_t>(i), data.data(), from, 1);
    for (std::size_t d = place.size(); d-- > 0;) {
      if (++place[d] < out.shape()[d]) break;
      place[d] = 0;
    }
  }
}

static void infer_gather_nd(InferContext& context) {
  const Type &data = context.input(0), &indices = context.input(1);
  if (!data.ranked() || !indices.ranked()) return context.set_output(0, Type::unranked(data.dtype()));
  const std::int64_t batch = context.attributes().integer("batch_dims", 0);
  check(batch >= 0 && batch < static_cast<std::int64_t>(std::min(data.rank(), indices.rank())),
        ErrorCode::invalid_argument, "gather_nd: batch_dims {} out of range for {} and {}", batch,
        data.to_string(), indices.to_string());
  const Dim& depth = indices.dims().back();
  if (!depth.is_constant()) return context.set_output(0, Type::unranked(data.dtype()));
  const std::int64_t used = batch + depth.value();
  check(depth.value() >= 1 && used <= static_cast<std::int64_t>(data.rank()), ErrorCode::invalid_argument,
        "gather_nd: indices of depth {} after {} batch dims into {}", depth.value(), batch, data.to_string());
  Dims dims(indices.dims().begin(), indices.dims().end() - 1);
  for (std::size_t d = 0; d < static_cast<std::size_t>(batch); ++d)
    require_equal(dims[d], data.dims()[d], "gather_nd: a batch dim of the indices");
  dims.insert(dims.end(), data.dims().begin() + used, data.dims().end());
  context.set_output(0, data.with_dims(std::move(dims)));
}

static void run_gather_nd(KernelContext& context) {
  const Tensor& data = context.input(0);
  Tensor& out = context.output(0);
  const Shape& shape = context.input(1).shape();
  const std::vector<std::int64_t> indices = read_integers(context.input(1), "indices");
  const std::vector<std::int64_t> strides = dense_strides(data.shape());
  const auto batch = static_cast<std::size_t>(context.attributes().integer("batch_dims", 0));
  const auto depth = static_cast<std::size_t>(shape.back());
  std::int64_t batches = 1;
  for (std::size_t d = 0; d < batch; ++d) batches *= shape[d];
  if (out.elements() == 0) return;
  const std::int64_t run = strides[batch + depth - 1];
  const std::int64_t batch_stride = batch == 0 ? 0 : strides[batch - 1];
  const std::size_t tuples = indices.size() / depth;
  const std::size_t per_batch = tuples / static_cast<std::size_t>(batches);
  const RunCopy copy_run(data.dtype());
  for (std::size_t i = 0; i < tuples; ++i) {
    std::int64_t from = static_cast<std::int64_t>(i / per_batch) * batch_stride;
    for (std::size_t k = 0; k < depth; ++k)
      from += resolve_index(indices[i * depth + k], data.shape()[batch + k]) * strides[batch + k];
    copy_run(out.data(), static_cast<std::int64_t>(i) * run, data.data(), from, run);
  }
}

static OpDef gather_op(std::string name, AttributeSpec attribute, void (*infer)(InferContext&),
                       void (*run)(KernelContext&)) {
  OpDef op;
  op.name = std::move(name);
  op.min_inputs = op.max_inputs = 2;
  op.operands = {{"data", dtypes::any}, {"indices", dtypes::counts}};
  op.attributes = {std::move(attribute)};
  op.traits = movement();
  op.infer = infer;
  op.reference = run;
  return op;
}

/// Indices of some rows into shared data, or indices and data of some images.
static bool splits_indices(const Split& split) {
  const Value* data = split.node.input(0);
  if (!data || !split.node.input(1) || !data->type.ranked()) return false;
  const bool along_rows =
      data->type.rank() > 0 && is_first_axis(split.node.attributes.integer("axis", 0), *data);
  if (split.parts[1]) return split.shared[0] && along_rows;
  return split.parts[0] && split.shared[1] && !along_rows;
}

std::vector<OpDef> gather_ops() {
  OpDef gather = gather_op("gather", integer_attribute("axis", 0, axis_range()), infer_gather, run_gather);
  gather.traits.split = splits_indices;
  OpDef elements = gather_op("gather_elements", integer_attribute("axis", 0, axis_range()),
                             infer_gather_elements, run_gather_elements);
  gather.traits.index_input = elements.traits.index_input = 1;
  return {std::move(gather), std::move(elements),
          gather_op("gather_nd", integer_attribute("batch_dims", 0, between(0, 64)), infer_gather_nd,
                    run_gather_nd)};
}

} // namespace lanner::ops
