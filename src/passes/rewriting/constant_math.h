#pragma once
// Arithmetic of passes on constants: nodes that are folded at once, so that what a constant was made of stays
// known (ops/definition/recipe.h). No pass makes a constant out of others in another way.

#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace lanner::passes {

/// Folds a node of constants by its definition, where that is of moderate size and work (fold_constants.cpp):
/// its first result as a constant in its place, and the node is gone. Null: it stays as it is.
Value* fold_node(Node& node);

/// Results are constants before `before`. Null where an operand is null or the result is not to be had; what
/// is not used by the time this ends is gone.
class ConstantMath {
public:
  explicit ConstantMath(Node& before) : before_(before) {}
  ~ConstantMath();
  ConstantMath(const ConstantMath&) = delete;

  Value* apply(std::string_view kind, std::vector<Value*> inputs, AttributeMap attributes = {});
  Value* number(double value); ///< f64, rank 0.
  Value* cast(Value* value, DType type);
  Value* reshape(Value* value, const Shape& shape);
  Value* expand(Value* value, const Shape& shape);

private:
  Value* integers(const Shape& shape);
  Value* keep(Value* made);

  Node& before_;
  std::vector<Value*> made_;
};

} // namespace lanner::passes
