#pragma once
// Weights in the order in which a contraction's kernel reads them, where the plan cannot hold them so.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "backends/contraction/block.h"
#include "backends/contraction/contraction.h"

namespace lanner {

/// A kernel's own copy of the weights, group by group, panel by panel, step by step.
class WeightCopy {
public:
  /// `joined`: the taps of a line follow one another.
  WeightCopy(const Contraction& contraction, const BlockFunctions& functions, bool joined);

  std::vector<std::byte> of(const std::byte* weights) const;

private:
  std::int64_t place(std::int64_t column, std::int64_t tap, std::int64_t channel) const;

  std::int64_t unit_, element_, width_, columns_, channels_, taps_, groups_;
  bool by_column_, shifted_; ///< `shifted_`: weights are stored less 128, as i8.
  std::int64_t line_, run_, depth_, panels_;
};

} // namespace lanner
