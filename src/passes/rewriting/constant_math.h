#pragma once
// Arithmetic on constants for passes: nodes that are folded at once, so that the recipe of a constant stays
// known (ops/definition/recipe.h). Passes compute constants from others in no other way.

#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace lanner::passes {

/// Folds a node of constants by its definition, where size and work are moderate (fold_constants.cpp): its
/// first result becomes a constant and the node is removed. Null: the node stays.
Value* fold_node(Node& node);

/// Results are constants inserted before `before`. Null where an operand is null or the result cannot be
/// computed; results without uses are removed in the destructor.
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
