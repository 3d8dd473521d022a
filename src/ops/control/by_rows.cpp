// A network whose first axis is a count: each row of the result depends only on that row of the input and on
// the shared inputs. Each region is the network for the number of rows that `sizes` gives for it, so that a
// run can split its rows into blocks of known size; surplus rows of the last block are dropped.

#include <algorithm>

#include "base/check.h"
#include "ops/definition/strided.h"
#include "ops/table/arguments.h"
#include "ops/table/table.h"
#include "ops/traits.h"

namespace lanner::ops {

static Type with_first(const Type& type, const Dim& first) {
  Dims dims = type.dims();
  dims.at(0) = first;
  return type.with_dims(std::move(dims));
}

static Dim count_of(InferContext& context, std::size_t counted) {
  check(counted >= 1 && counted <= context.inputs(), ErrorCode::invalid_argument,
        "row_blocks: {} of {} inputs are counted", counted, context.inputs());
  for (std::size_t i = 0; i < counted; ++i) {
    const Type& type = context.input(i);
    check(type.is_tensor() && type.ranked() && type.rank() > 0, ErrorCode::invalid_argument,
          "row_blocks: input {} is {}, expected rows", i, type.to_string());
  }
  return context.input(0).dims()[0];
}

static std::vector<Type> infer_block(InferContext& context, std::size_t r, std::int64_t size,
                                     std::span<const Type> parameters) {
  std::vector<Type> block = context.infer_region(r, parameters);
  check(block.size() == context.outputs(), ErrorCode::invalid_argument,
        "row_blocks: the region gives {} values, the node has {} outputs", block.size(), context.outputs());
  for (std::size_t k = 0; k < block.size(); ++k) {
    const bool fits = block[k].is_static() && block[k].rank() > 0 && block[k].dims()[0] == Dim(size);
    check(fits, ErrorCode::invalid_argument, "row_blocks: result {} for {} rows is {}", k, size,
          block[k].to_string());
  }
  return block;
}

static void infer_by_rows(InferContext& context) {
  const auto& sizes = context.attributes().get<std::vector<std::int64_t>>("sizes");
  const auto counted = static_cast<std::size_t>(context.attributes().get<std::int64_t>("counted"));
  check(!sizes.empty() && sizes.size() == context.node().regions().size(), ErrorCode::invalid_argument,
        "row_blocks: {} sizes for {} regions", sizes.size(), context.node().regions().size());
  const Dim count = count_of(context, counted);
  std::vector<Type> parameters, rows;
  for (std::size_t i = 0; i < context.inputs(); ++i) parameters.push_back(context.input(i));
  for (std::size_t r = 0; r < sizes.size(); ++r) {
    check(sizes[r] > 0 && (r == 0 || sizes[r] > sizes[r - 1]), ErrorCode::invalid_argument,
          "row_blocks: size {} is {}, expected more than the one before", r, sizes[r]);
    for (std::size_t i = 0; i < counted; ++i) parameters[i] = with_first(context.input(i), sizes[r]);
    std::vector<Type> block = infer_block(context, r, sizes[r], parameters);
    for (Type& type : block) type = with_first(type, count);
    check(r == 0 || block == rows, ErrorCode::invalid_argument,
          "row_blocks: results for {} rows have other types than for {}", sizes[r], sizes.front());
    rows = std::move(block);
  }
  for (std::size_t k = 0; k < rows.size(); ++k) context.set_output(k, rows[k]);
}

static Shape with_rows(const Shape& shape, std::int64_t rows) {
  std::vector<std::int64_t> dims = shape.dims();
  dims.at(0) = rows;
  return Shape(std::move(dims));
}

/// Copies whole rows of elements that are whole bytes.
static void copy_rows(const Tensor& from, std::int64_t first, Tensor& to, std::int64_t position,
                      std::int64_t count) {
  const std::int64_t row = from.elements() / std::max<std::int64_t>(1, from.shape()[0]);
  RunCopy(from.dtype())(to.data(), position * row, from.data(), first * row, count * row);
}

static void run_by_rows(KernelContext& context) {
  const std::int64_t size = context.attributes().get<std::vector<std::int64_t>>("sizes").back();
  const auto counted = static_cast<std::size_t>(context.attributes().get<std::int64_t>("counted"));
  const Region& region = *context.node().regions().back();
  const std::int64_t rows = context.input(0).shape()[0];
  for (std::size_t i = 0; i < counted; ++i)
    check(context.input(i).shape() == with_rows(region.parameter(i)->type.shape(), rows),
          ErrorCode::invalid_argument, "row_blocks: input {} is {}, expected {} rows of {}", i,
          context.input(i).shape().to_string(), rows, region.parameter(i)->type.to_string());
  std::vector<Tensor> outputs;
  for (std::size_t k = 0; k < context.outputs(); ++k) {
    const Type& type = region.outputs()[k]->type;
    outputs.push_back(context.allocate(k, type.dtype(), with_rows(type.shape(), rows)));
  }
  for (std::int64_t first = 0; first < rows; first += size) {
    const std::int64_t taken = std::min(size, rows - first);
    std::vector<Item> parameters;
    for (std::size_t i = 0; i < context.inputs(); ++i) {
      parameters.push_back(context.item(i));
      if (i >= counted) continue;
      Tensor block = Tensor::zeros(context.input(i).dtype(), with_rows(context.input(i).shape(), size));
      copy_rows(context.input(i), first, block, 0, taken);
      parameters.back() = Item(std::move(block));
    }
    const std::vector<Item> results = context.run_region(context.node().regions().size() - 1, parameters);
    for (std::size_t k = 0; k < outputs.size(); ++k)
      copy_rows(results[k].tensor, 0, outputs[k], first, taken);
  }
}

std::vector<OpDef> by_rows_ops() {
  OpDef op;
  op.name = "row_blocks";
  op.min_inputs = 1;
  op.max_inputs = OpDef::any;
  op.max_outputs = OpDef::any;
  op.regions = 5;
  op.operands = {any_operand("input")};
  op.attributes = {
      required_attribute("counted", AttributeKind::integer, at_least(1)),
      required_attribute("sizes", AttributeKind::integers, between(1, INT32_MAX).counted(1, 64))};
  op.infer = infer_by_rows;
  op.reference = run_by_rows;
  op.traits = of_pattern(Pattern::region);
  return {op};
}

} // namespace lanner::ops
