#pragma once
// Compares a kernel's results with the reference definition's, within the rounding of their types.

#include <cstdint>
#include <string>

#include <lanner/tensor.h>

#include "graph/backend.h"
#include "graph/graph.h"

namespace lanner {

/// How far elements may differ from the reference.
struct Tolerance {
  double relative = 0; ///< Of the expected element.
  double absolute = 0;
  double fraction = 0; ///< Share of elements that may differ by more: those at a discontinuity.
};

/// Tolerances of a node's results, whose number the model file decides.
///
/// For reals: the rounding of the coarsest type that takes part, for each operand, step and sum of `node`.
/// Sums of products have room for another order and for Winograd's transforms, none for rounded inputs. A
/// sum's error grows with the root of its length: of rows that are divided by theirs, relative to each
/// element. Before a tanh it grows with the sum's own magnitude.
class Tolerances {
public:
  /// `node` must outlive it.
  Tolerances(const Node& node, const Tactic& tactic);
  /// The tolerance of the result whose reference is `expected`.
  Tolerance of(const Tensor& expected) const;

private:
  const Node& node_;
  double unit_ = 0, rows_ = 0, sums_ = 0;
  bool steps_ = false, product_ = false;
};

/// Elements that differ.
struct Difference {
  std::uint64_t elements = 0, compared = 0;
  std::uint64_t first = 0; ///< Offset in memory, in elements.
  bool padding = false;    ///< That offset is padding, which must be zero.
  double got = 0, expected = 0;

  bool within(const Tolerance& tolerance) const {
    return !padding &&
           static_cast<double>(elements) <=
               (tolerance.fraction > 0 ? 1 + tolerance.fraction * static_cast<double>(compared) : 0);
  }
  std::string to_string() const;
};

/// `wanted`, a row-major sample, in the layout that `got` is stored in; reals as f32 or f64.
Tensor as_stored(const Tensor& wanted, const Shape& shape, const Layout& layout);

/// Compares all elements and the padding of `got`, on the host, with `expected` of as_stored(), which may
/// hold fewer images: they are repeated. Elements whose expected value is not finite, or out of range of
/// got's type, are not compared.
Difference compare(const Tensor& got, const Tensor& expected, const Tolerance& tolerance);

} // namespace lanner
