#pragma once
// The mask of attention.

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include <lanner/tensor.h>

namespace lanner::ops {

/// The value that attn_mask adds to each score: minus infinity where a boolean mask is false or a mask is
/// shorter than the keys.
class AttentionMask {
public:
  AttentionMask() = default; ///< Adds nothing.
  /// `scores` is [batch, heads, queries, keys], to which the mask broadcasts.
  AttentionMask(const Tensor& mask, const Shape& scores);
  double at(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const;

private:
  std::vector<double> values_;
  bool additive_ = false;
  std::array<std::int64_t, 4> strides_{};
  std::int64_t length_ = std::numeric_limits<std::int64_t>::max(); ///< Keys that the mask covers.
};

} // namespace lanner::ops
