#pragma once
// matmul and gemm nodes, and groups that begin with one, read as one kind of product.

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
  bool transpose_a = false; ///< Stored depth x rows.
  bool transpose_b = false; ///< Stored columns x depth.
  Shape result;
  Epilogue epilogue; ///< Spread::channel is the last axis.

  std::int64_t depth() const;
  std::int64_t columns() const { return result.rank() == 0 ? 1 : result.back(); }
  /// Rows of a when all its leading dims are taken together; for a `b` of rank 2.
  std::int64_t rows() const { return columns() == 0 ? 0 : result.elements() / columns(); }
  /// `b` is one matrix, so that the product is a single one of rows() x depth() by depth() x columns().
  bool single() const;
  double operations() const;
};

/// Nothing when the group does not begin with a product (then `reason` stays empty) or cannot be read as one.
std::optional<Product> product_of(const Group& group, std::string& reason);

/// The last two axes exchanged, which is how a transposed matrix lies.
Layout exchanged_layout(const Shape& shape);

/// How a node's `inputs` inputs are stored where the product's matrices lie as `a` and `b` and all else as
/// `otherwise`. Nothing where one input would have to lie in two ways.
std::optional<std::vector<Storage>> product_storages(const Product& product, std::size_t inputs,
                                                     const Storage& a, const Storage& b,
                                                     const Storage& otherwise = {});

} // namespace lanner
