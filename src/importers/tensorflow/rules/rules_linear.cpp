// Linear algebra beyond products.

#include <lanner/error.h>

#include "base/check.h"
#include "importers/tensorflow/rules/rules.h"

namespace lanner::tensorflow {
namespace {

void inverse(RuleContext& context) {
  Value* x = context.required(0);
  Value* made = context.emit("ms.inverse", {x});
  if (context.integer("adjoint", 0) != 0) {
    std::vector<std::int64_t> order;
    for (std::size_t d = 0; d < rank_of(context, 0); ++d) order.push_back(static_cast<std::int64_t>(d));
    std::swap(order.at(order.size() - 1), order.at(order.size() - 2));
    made = transpose(context, made, std::move(order));
  }
  context.set_output(0, made);
}

/// The three numbers of the last dim, turned by `first` places: a1 b2 - a2 b1, and so on.
void cross(RuleContext& context) {
  Value *a = context.required(0), *b = context.required(1);
  const auto turned = [&](Value* x, std::int64_t first) {
    return context.emit("gather", {x, context.ints({first, (first + 1) % 3, (first + 2) % 3})},
                        with("axis", std::int64_t{-1}));
  };
  Value* plus = context.emit("mul", {turned(a, 1), turned(b, 2)});
  Value* minus = context.emit("mul", {turned(a, 2), turned(b, 1)});
  context.set_output(0, context.emit("sub", {plus, minus}));
}

} // namespace

void add_linear_rules(Rules& rules) {
  rules["MatrixInverse"] = inverse;
  rules["MatrixDeterminant"] = same("det");
  rules["BatchMatrixInverse"] = inverse;
  rules["BatchMatrixDeterminant"] = same("det");
  rules["Cross"] = cross;
}

} // namespace lanner::tensorflow
