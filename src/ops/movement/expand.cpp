// expand and tile: repetition of a tensor along its axes.

#include <array>

#include "base/check.h"
#include "base/limits/account.h"
#include "ops/definition/strided.h"
#include "ops/table/arguments.h"
#include "ops/table/table.h"
#include "ops/traits.h"

namespace lanner::ops {

static void infer_expand(InferContext& context) {
  require_rank(context, 1, 1);
  const Type& input = context.input(0);
  if (!input.ranked()) return context.set_output(0, input);
  if (const auto wanted = known_elements(context, 1)) {
    const Type type = input.with_dims(broadcast_dims(input.dims(), *wanted));
    context.set_output(0, type);
    const auto shape = static_shape(context, 0);
    if (!shape || !type.is_static()) return;
    if (auto elements = broadcast_known(known_elements(context, 0), *shape, type.shape()))
      set_known_elements(context, 0, type, std::move(*elements));
    return;
  }
  const auto length = static_length(context, 1);
  if (!length) return context.set_output(0, Type::unranked(input.dtype()));
  // Dims of the input other than 1 stay; the rest is data-dependent.
  const std::size_t rank = std::max(*length, input.rank());
  check_rank(rank, "expand");
  Dims dims;
  for (std::size_t i = 0; i < rank; ++i) {
    const std::size_t missing = rank - input.rank();
    const Dim own = i < missing ? Dim(1) : input.dims()[i - missing];
    const bool stays = i < rank - *length || (own.is_constant() && own.value() != 1);
    dims.push_back(stays ? own : context.fresh("expand", Dim(INT64_MAX)));
  }
  context.set_output(0, input.with_dims(std::move(dims)));
}

static void run_expand(KernelContext& context) {
  const Tensor& input = context.input(0);
  Tensor& out = context.output(0);
  const std::array shapes = {input.shape(), Shape(read_integers(context.input(1), "shape"))};
  require_shape(out, broadcast(shapes), "expand");
  const std::vector<std::int64_t> strides = dense_strides(input.shape());
  Walk source{0, std::vector<std::int64_t>(out.rank(), 0)};
  const std::size_t missing = out.rank() - input.rank();
  for (std::size_t i = 0; i < input.rank(); ++i)
    if (input.shape()[i] != 1) source.strides[missing + i] = strides[i];
  copy_strided(out.shape(), input, source, out, dense_walk(out.shape()), context.threads());
}

static void infer_tile(InferContext& context) {
  const Type& input = context.input(0);
  const auto repeats = known_elements(context, 1);
  if (!input.ranked()) return context.set_output(0, input);
  Dims dims;
  if (repeats) {
    check(repeats->size() == input.rank(), ErrorCode::invalid_argument, "tile: {} repeats given for {}",
          repeats->size(), input.to_string());
    for (std::size_t i = 0; i < repeats->size(); ++i) {
      check(!(*repeats)[i].is_constant() || (*repeats)[i].value() >= 0, ErrorCode::invalid_argument,
            "tile: repeats {}, expected none below 0", to_string(*repeats));
      dims.push_back(input.dims()[i] * (*repeats)[i]);
    }
  } else {
    for (std::size_t i = 0; i < input.rank(); ++i) dims.push_back(context.fresh("tile", Dim(INT64_MAX)));
  }
  const Type type = input.with_dims(std::move(dims));
  context.set_output(0, type);
  const auto elements = known_elements(context, 0);
  if (!elements || input.rank() != 1 || !type.is_static() || type.shape().elements() > max_known_elements)
    return;
  Dims repeated;
  for (std::int64_t i = 0; i < type.shape().elements(); ++i)
    repeated.push_back((*elements)[static_cast<std::size_t>(i) % elements->size()]);
  set_known_elements(context, 0, type, std::move(repeated));
}

/// Each axis becomes two: the copy, with stride 0 in the input, and the index in it.
static void run_tile(KernelContext& context) {
  const Tensor& input = context.input(0);
  Tensor& out = context.output(0);
  const std::vector<std::int64_t> repeats = read_integers(context.input(1), "repeats");
  Shape expected = input.shape();
  for (std::size_t i = 0; i < expected.rank() && i < repeats.size(); ++i)
    expected[i] = (Dim(expected[i]) * Dim(repeats[i])).value();
  require_shape(out, expected, "tile");
  if (out.elements() == 0) return;
  const std::vector<std::int64_t> strides = dense_strides(input.shape()),
                                  out_strides = dense_strides(out.shape());
  Shape shape;
  Walk source, target;
  for (std::size_t i = 0; i < input.rank(); ++i) {
    const std::int64_t size = input.shape()[i];
    shape.push_back(out.shape()[i] / size);
    source.strides.push_back(0);
    target.strides.push_back(out_strides[i] * size);
    shape.push_back(size);
    source.strides.push_back(strides[i]);
    target.strides.push_back(out_strides[i]);
  }
  copy_strided(shape, input, source, out, target, context.threads());
}

std::vector<OpDef> expand_ops() {
  OpDef expand;
  expand.name = "expand";
  expand.min_inputs = expand.max_inputs = 2;
  expand.operands = {{"x", dtypes::any}, list_of_counts("shape")};
  expand.infer = infer_expand;
  expand.reference = run_expand;
  OpDef tile;
  tile.name = "tile";
  tile.min_inputs = tile.max_inputs = 2;
  tile.operands = {{"x", dtypes::any}, list_of_counts("repeats")};
  tile.infer = infer_tile;
  tile.reference = run_tile;
  expand.traits = tile.traits = movement();
  return {expand, tile};
}

} // namespace lanner::ops
