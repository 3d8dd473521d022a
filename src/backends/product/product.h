#pragma once
// matmul and gemm nodes, and groups that begin with one, in one common form.

#include <optional>
#include <string>

#include "backends/epilogue.h"
#include "backends/group.h"

namespace lanner {

/// result = a x b + bias, then the epilogue. `a` is rows x depth with leading batch dims, `b` depth x
/// columns.
struct Product {
  Operand a, b;
  Operand bias;             ///< `columns` numbers, or absent.
  bool transpose_a = false; ///< Stored as depth x rows.
  bool transpose_b = false; ///< Stored as columns x depth.
  Shape result;
  Epilogue epilogue; ///< Spread::channel is the last axis.

  std::int64_t depth() const;
  std::int64_t columns() const { return result.rank() == 0 ? 1 : result.back(); }
  /// Rows of a with all its leading dims merged; for a `b` of rank 2.
  std::int64_t rows() const { return columns() == 0 ? 0 : result.elements() / columns(); }
  /// `b` is one matrix, so that the product is a single one of rows() x depth() by depth() x columns().
  bool single() const;
  double operations() const;
};

/// Nothing when the group does not begin with a product (then `reason` stays empty) or is not supported.
std::optional<Product> product_of(const Group& group, std::string& reason);

/// The layout of a transposed matrix: the last two axes swapped.
Layout exchanged_layout(const Shape& shape);

/// Storages of a node's `inputs` inputs where the product's matrices have layouts `a` and `b` and all others
/// `otherwise`. Nothing where one input would need two storages.
std::optional<std::vector<Storage>> product_storages(const Product& product, std::size_t inputs,
                                                     const Storage& a, const Storage& b,
                                                     const Storage& otherwise = {});

} // namespace lanner
