#include "ops/definition/known_axes.h"

#include "base/check.h"
#include "ops/definition/known.h"

namespace lanner::ops {

std::optional<std::vector<std::int64_t>> known_axes(const InferContext& context, std::size_t i,
                                                    std::size_t rank) {
  if (const auto count = static_length(context, i))
    check(*count <= rank, ErrorCode::invalid_argument, "input {} has {} axes, expected at most {}", i, *count,
          rank);
  return known_integers(context, i);
}

} // namespace lanner::ops
