#include "ops/definition/broadcast.h"

#include <algorithm>

#include "base/check.h"

namespace lanner::ops {

Dim broadcast_dim(const Dim& a, const Dim& b) {
  if (a == b) return a;
  const auto x = a.constant(), y = b.constant();
  if (x == 1) return b;
  if (y == 1) return a;
  if (x && y)
    fail(ErrorCode::invalid_argument, "sizes {} and {} do not broadcast: expected equal sizes or 1", *x, *y);
  if (x) return a;
  if (y) return b;
  return max(a, b);
}

Dims broadcast_dims(const Dims& a, const Dims& b) {
  const Dims& longer = a.size() >= b.size() ? a : b;
  const Dims& shorter = a.size() >= b.size() ? b : a;
  Dims result = longer;
  const std::size_t shift = longer.size() - shorter.size();
  for (std::size_t i = 0; i < shorter.size(); ++i)
    result[shift + i] = broadcast_dim(longer[shift + i], shorter[i]);
  return result;
}

Type broadcast_type(const InferContext& context, DType dtype) {
  Dims dims;
  for (std::size_t i = 0; i < context.inputs(); ++i) {
    if (!context.has(i)) continue;
    if (!context.input(i).ranked()) return Type::unranked(dtype);
    try {
      dims = broadcast_dims(dims, context.input(i).dims());
    } catch (const Error& error) {
      throw error.within(fmt::format("input {} of dims {} after {}", i, to_string(context.input(i).dims()),
                                     to_string(dims)));
    }
  }
  return Type(dtype, std::move(dims));
}

DType common_dtype(const InferContext& context) {
  const DType dtype = context.input(0).dtype();
  for (std::size_t i = 1; i < context.inputs(); ++i) {
    if (!context.has(i)) continue;
    const DType other = context.input(i).dtype();
    check(other == dtype, ErrorCode::invalid_argument,
          "input {} is {}, expected {} as input 0 is; cast one of them", i, to_string(other),
          to_string(dtype));
  }
  return dtype;
}

BroadcastLoop::BroadcastLoop(const Shape& result, std::span<const Shape> operands) {
  check(operands.size() <= max_operands, ErrorCode::internal, "broadcast: {} operands", operands.size());
  std::vector<std::vector<std::int64_t>> dense;
  for (const Shape& operand : operands) dense.push_back(dense_strides(operand));
  // From the innermost dim outwards: a dim joins the previous loop when it is contiguous in every operand.
  std::vector<std::int64_t> sizes;
  std::vector<Offsets> strides;
  for (std::size_t d = result.rank(); d-- > 0;) {
    const std::int64_t size = result[d];
    if (size == 0) empty_ = true;
    if (size == 1) continue;
    Offsets stride{};
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const std::size_t missing = result.rank() - operands[i].rank();
      if (d >= missing && operands[i][d - missing] != 1) stride[i] = dense[i][d - missing];
    }
    bool joins = !sizes.empty();
    for (std::size_t i = 0; joins && i < operands.size(); ++i)
      joins = stride[i] == strides.back()[i] * sizes.back();
    if (joins) {
      sizes.back() *= size;
    } else {
      sizes.push_back(size);
      strides.push_back(stride);
    }
  }
  if (!sizes.empty()) {
    inner_ = sizes.front();
    inner_steps_ = strides.front();
    sizes_.assign(sizes.rbegin(), sizes.rend() - 1);
    strides_.assign(strides.rbegin(), strides.rend() - 1);
  }
}

bool BroadcastLoop::advance(std::vector<std::int64_t>& index, Offsets& offsets) const {
  for (std::size_t d = sizes_.size(); d-- > 0;) {
    if (++index[d] < sizes_[d]) {
      for (std::size_t i = 0; i < max_operands; ++i) offsets[i] += strides_[d][i];
      return true;
    }
    index[d] = 0;
    for (std::size_t i = 0; i < max_operands; ++i) offsets[i] -= strides_[d][i] * (sizes_[d] - 1);
  }
  return false;
}

} // namespace lanner::ops
