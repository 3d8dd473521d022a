#pragma once
// The constants of a plan file.

#include <map>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "ops/definition/recipe.h"
#include "tensor/safetensors.h"

namespace lanner {

/// Throws Error{bad_data} unless a layout fits a shape: a permutation of its dims with small blocks of
/// existing dims.
void check_layout(const Layout& layout, const Shape& shape);

/// A constant of a plan: one recipe, shared by all graphs and storages.
struct PlanWeight {
  Recipe recipe;
  DType dtype = DType::f32;
  Shape shape;
  Tensor value; ///< In its stored layout, a view of the file; undefined in a stripped plan.
  bool computed =
      false; ///< To be computed from source weights in the file by its recipe: `value` is undefined.
  Type type() const { return {dtype, shape}; }
};

/// Reads and validates the table `lanner.weights`. Throws Error{bad_data, limit_exceeded}.
std::map<std::string, PlanWeight, std::less<>> read_plan_weights(const Safetensors& file,
                                                                 const Limits& limits);

} // namespace lanner
