#pragma once
// A product with few rows and packed weights, and the steps behind it: what the CPU's kernels gemm and mlp
// compute.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/elementwise/instruction.h"
#include "backends/family.h"
#include "backends/product/product.h"
#include "graph/target.h"

namespace lanner {

/// A step of the epilogue on a range of a result row.
struct RowStep {
  const Formula* formula;
  Numbers numbers;
  Operand operand; ///< Absent, one row, or as many rows as the result.
  bool full = false;
};

struct DenseLayer {
  Product product;
  std::vector<RowStep> steps;
  bool relu = false; ///< The first step, done in registers.
};

/// Nothing, with `reason` set where the group begins with a product, when it is not supported.
std::optional<DenseLayer> read_dense_layer(const Group& group, std::string& reason);

/// The layout of the product's weights for this processor: the columns of a panel are contiguous.
Layout panel_layout(const Product& product);

/// For `prepare`: throws Error{unsupported} unless the plan stores the weights so. `kernel`: its name.
void check_panels(const Preparation& preparation, const Product& product, std::string_view kernel);

/// Seconds on so many cores: the larger of reading the weights and multiplying.
double seconds_on(int threads, const Product& product, const Target& target);

} // namespace lanner
