#pragma once
// The constants that a plan file holds.

#include <map>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "ops/definition/recipe.h"
#include "tensor/safetensors.h"

namespace lanner {

/// Throws Error{bad_data} unless a layout fits a shape: a permutation of its dims with small blocks of dims
/// that it has.
void check_layout(const Layout& layout, const Shape& shape);

/// A constant of a plan: one recipe, whatever number of graphs reads it in whatever storages.
struct PlanWeight {
  Recipe recipe;
  DType dtype = DType::f32;
  Shape shape;
  Tensor value; ///< In the layout that it is kept in, a view of the file; undefined in a stripped plan.
  bool computed = false; ///< By its recipe, of source weights that the file has: `value` is undefined.
  Type type() const { return {dtype, shape}; }
};

/// Reads the table `lanner.weights`, of which nothing is believed. Throws Error{bad_data, limit_exceeded}.
std::map<std::string, PlanWeight, std::less<>> read_plan_weights(const Safetensors& file,
                                                                 const Limits& limits);

} // namespace lanner
