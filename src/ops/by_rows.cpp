// A network whose first axis is a count: what it gives for a row follows from that row and from the inputs
// that all rows share. Region 0 is the network for any count; the others are the same for the counts that
// `sizes` names, so that a run may cut its rows into blocks that kernels know.

#include "ops/arguments.h"
#include "ops/table.h"

namespace lanner::ops {

static Type with_first(const Type& type, const Dim& first) {
  Dims dims = type.dims();
  dims.at(0) = first;
  return type.with_dims(std::move(dims));
}

static Dim count_of(InferContext& context, std::size_t counted) {
  check(counted >= 1 && counted <= context.inputs(), ErrorCode::invalid_argument,
        "by_rows: {} of {} inputs are counted", counted, context.inputs());
  for (std::size_t i = 0; i < counted; ++i) {
    const Type& type = context.input(i);
    check(type.is_tensor() && type.ranked() && type.rank() > 0, ErrorCode::invalid_argument,
          "by_rows: input {} is {}, expected rows", i, type.to_string());
  }
  return context.input(0).dims()[0];
}

static void infer_by_rows(InferContext& context) {
  const std::vector<std::int64_t> sizes = context.attributes().get<std::vector<std::int64_t>>("sizes");
  const auto counted = static_cast<std::size_t>(context.attributes().get<std::int64_t>("counted"));
  check(sizes.size() + 1 == context.node().regions().size(), ErrorCode::invalid_argument,
        "by_rows: {} sizes for {} regions", sizes.size(), context.node().regions().size());
  const Dim count = count_of(context, counted);
  std::vector<Type> parameters;
  for (std::size_t i = 0; i < context.inputs(); ++i) parameters.push_back(context.input(i));
  const std::vector<Type> whole = context.infer_region(0, parameters);
  check(whole.size() == context.outputs(), ErrorCode::invalid_argument,
        "by_rows: the region gives {} values, the node has {} outputs", whole.size(), context.outputs());
  std::vector<Type> rows;
  for (std::size_t r = 0; r < sizes.size(); ++r) {
    check(sizes[r] > 0 && (r == 0 || sizes[r] > sizes[r - 1]), ErrorCode::invalid_argument,
          "by_rows: size {} is {}, expected more than the one before", r, sizes[r]);
    for (std::size_t i = 0; i < counted; ++i) parameters[i] = with_first(context.input(i), sizes[r]);
    std::vector<Type> block = context.infer_region(r + 1, parameters);
    check(block.size() == whole.size(), ErrorCode::invalid_argument,
          "by_rows: region {} gives {} values, the first gives {}", r + 1, block.size(), whole.size());
    for (std::size_t k = 0; k < block.size(); ++k) {
      const bool fits = block[k].is_static() && block[k].rank() > 0 && block[k].dims()[0] == Dim(sizes[r]);
      check(fits, ErrorCode::invalid_argument, "by_rows: result {} for {} rows is {}", k, sizes[r],
            block[k].to_string());
      block[k] = with_first(block[k], count);
      if (r > 0 && !(block[k] == rows[k]))
        fail(ErrorCode::invalid_argument, "by_rows: result {} is {} in one region and {} in another", k,
             rows[k].to_string(), block[k].to_string());
    }
    rows = std::move(block);
  }
  for (std::size_t k = 0; k < rows.size(); ++k) context.set_output(k, rows[k]);
}

static void run_by_rows(KernelContext& context) {
  std::vector<Item> parameters;
  for (std::size_t i = 0; i < context.inputs(); ++i) parameters.push_back(context.item(i));
  std::vector<Item> results = context.run_region(0, parameters);
  for (std::size_t i = 0; i < results.size(); ++i) context.set_item(i, std::move(results[i]));
}

std::vector<OpDef> by_rows_ops() {
  OpDef op;
  op.name = "by_rows";
  op.min_inputs = 1;
  op.max_inputs = OpDef::any;
  op.max_outputs = OpDef::any;
  op.regions = 4;
  op.attributes = {required_attribute("counted", AttributeKind::integer),
                   required_attribute("sizes", AttributeKind::integers)};
  op.infer = infer_by_rows;
  op.reference = run_by_rows;
  return {op};
}

} // namespace lanner::ops
