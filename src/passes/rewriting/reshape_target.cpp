#include "passes/rewriting/reshape_target.h"
#include <utility>

#include "passes/rewriting/rewrite.h"

namespace lanner::passes {

std::optional<std::vector<std::int64_t>> reshape_target(const Type& from, const Type& to) {
  std::vector<std::int64_t> target;
  bool rest_given = false;
  for (std::size_t i = 0; i < to.rank(); ++i) {
    const Dim& dim = to.dims()[i];
    if (const auto size = dim.constant()) {
      // A size of 0 would mean "copy".
      if (*size == 0) return std::nullopt;
      target.push_back(*size);
    } else if (i < from.rank() && from.dims()[i] == dim) {
      target.push_back(0);
    } else if (!std::exchange(rest_given, true)) {
      target.push_back(-1);
    } else {
      return std::nullopt;
    }
  }
  return target;
}

Value* emit_reshape(Node& before, Value* value, const std::vector<std::int64_t>& target, Type type) {
  Value* shape = integers_before(before, target, "shape");
  return emit_before(before, "reshape", std::vector<Value*>{value, shape}, {}, std::move(type));
}

} // namespace lanner::passes
