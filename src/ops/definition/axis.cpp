#include "ops/definition/axis.h"

#include <lanner/error.h>

#include "base/check.h"

namespace lanner::ops {

std::size_t resolve_axis(std::int64_t axis, std::size_t rank, std::string_view what) {
  const auto count = static_cast<std::int64_t>(rank);
  check(axis >= -count && axis < count, ErrorCode::invalid_argument, "{} {} out of range for rank {}", what,
        axis, rank);
  return static_cast<std::size_t>(axis < 0 ? axis + count : axis);
}

std::vector<std::size_t> resolve_axes(std::span<const std::int64_t> axes, std::size_t rank,
                                      std::string_view what) {
  std::vector<std::size_t> result;
  std::vector<bool> seen(rank);
  for (const std::int64_t axis : axes) {
    const std::size_t resolved = resolve_axis(axis, rank, what);
    check(!seen[resolved], ErrorCode::invalid_argument, "{} contain axis {} twice", what, resolved);
    seen[resolved] = true;
    result.push_back(resolved);
  }
  return result;
}

std::int64_t resolve_index(std::int64_t index, std::int64_t size) {
  check(index >= -size && index < size, ErrorCode::invalid_argument, "index {} out of range for size {}",
        index, size);
  return index < 0 ? index + size : index;
}

} // namespace lanner::ops
