#pragma once
// resize, and pad where it repeats elements, as separable weighted sums.

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include <lanner/tensor.h>

#include "base/limits/counted_vector.h"
#include "graph/attribute.h"

namespace lanner::ops {

/// How elements along one axis of a result are computed from those along the same axis of the input: index
/// `i` is the sum of the elements at `indices` from `begins[i]` to `begins[i + 1]`, each times its weight.
struct ResampledAxis {
  std::size_t axis = 0;
  CountedVector<std::int32_t> begins, indices;
  CountedVector<float> weights;
};

/// A node's parameters: its attributes, the shapes of its first input and its output, and the values of its
/// other inputs, null where one is absent.
struct TapsQuestion {
  const AttributeMap& attributes;
  const Shape& input;
  const Shape& output;
  std::function<const Tensor*(std::size_t)> value;
};

/// The axes that change, those that shrink most first. Nothing where a result is not such a sum (a fixed
/// value outside the input, a pad by a constant), or tables would be large. Throws what the operator's
/// definition throws.
std::optional<std::vector<ResampledAxis>> resize_taps(const TapsQuestion& question);
std::optional<std::vector<ResampledAxis>> pad_taps(const TapsQuestion& question);

} // namespace lanner::ops
