#include "backends/reduction/reduction.h"

#include <numeric>

#include "ops/table/arguments.h"

namespace lanner {

static std::vector<std::size_t> axes_from(std::size_t first, std::size_t rank) {
  std::vector<std::size_t> axes(rank > first ? rank - first : 0);
  std::iota(axes.begin(), axes.end(), first);
  return axes;
}

std::optional<std::vector<std::size_t>> reduced_axes(const GroupOp& op) {
  const std::size_t rank = op.input(0).shape().rank();
  std::vector<std::size_t> axes;
  if (op.kind().starts_with("global_")) {
    axes = axes_from(2, rank);
  } else {
    if (op.input(1)) {
      const Tensor* given = op.input(1).constant;
      if (!given || given->dtype() != DType::i64) return std::nullopt;
      axes = ops::resolve_axes(given->as<std::int64_t>(), rank);
    }
    if (axes.empty() && !op.attributes().flag("noop_with_empty_axes")) axes = axes_from(0, rank);
  }
  if (axes.empty()) return std::nullopt;
  return axes;
}

DType accumulated_in(const std::string& kind) {
  return kind == "reduce_l2" || kind == "reduce_sum_square" ? DType::f64 : DType::f32;
}

bool adds_up(const GroupOp& op) {
  const std::string& kind = op.kind();
  if (kind == "resize") return op.attributes().string("mode", "nearest") != "nearest";
  return kind != "max_pool" && kind != "global_max_pool" && kind != "reduce_max" && kind != "reduce_min" &&
         kind != "batch_normalization";
}

} // namespace lanner
