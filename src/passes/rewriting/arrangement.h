#pragma once
// What a chain of transposes and reshapes does to a value, as one permutation.

#include <cstddef>
#include <optional>
#include <vector>

#include "graph/graph.h"
#include "ops/definition/permutation.h"

namespace lanner::passes {

/// How the elements of a source are arranged in a result. Dims of both are products of the same factors, in
/// order from outer to inner; dims of size 1 have none. Sizes may be symbolic.
class Arrangement {
public:
  /// The source itself. Dims must not be 0.
  explicit Arrangement(const Dims& source);

  void transpose(const ops::Permutation& p);
  /// Regroups the result. False, with the arrangement spoilt, where sizes are not known to divide each other.
  bool reshape(const Dims& to);

  const Dims& source() const noexcept { return source_dims_; }
  const Dims& result() const noexcept { return result_dims_; }
  /// Whether the result's last dim is the source's last dim, so that an operation on rows of the one is an
  /// operation on rows of the other.
  bool keeps_last() const;
  /// Whether the elements are in the same order.
  bool keeps_order() const;

  /// Operations on rows give another size to the last dim of both; keeps_last() must hold.
  void set_last(const Dim& size);
  /// Splits the source's dims so that one of them is the result's dim `axis`, and returns its number; nothing
  /// where no part of one dim is.
  std::optional<std::size_t> isolate(std::size_t axis);
  /// A slice: another size for the result's dim and the source's dim that is it.
  void set_size(std::size_t source_axis, std::size_t axis, const Dim& size);
  /// Divides this arrangement into one that makes the result's last dim and keeps the order of all other
  /// factors, which is returned, and one that then keeps the last dim.
  Arrangement take_last();

  /// The reshape, transpose and reshape that arrange the source. The first dims are those of the source and
  /// the last those of the result where the one or the other reshape is not needed.
  struct Moves {
    Dims split;
    ops::Permutation order;
  };
  Moves moves() const;

private:
  using Axis = std::vector<std::size_t>; ///< Factors, from outer to inner.
  std::vector<std::size_t> factors(const std::vector<Axis>& axes) const;
  Dim size(const Axis& axis) const;
  std::optional<ops::Permutation> permutation() const;
  void split_factor(std::size_t factor, const Dim& outer, const Dim& inner);

  std::vector<Dim> sizes_; ///< By factor.
  std::vector<Axis> source_, result_;
  Dims source_dims_, result_dims_;
};

} // namespace lanner::passes
