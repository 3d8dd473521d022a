#pragma once
// Maps elements of a dense tensor to results of a reduction over some of its axes.

#include <cstdint>
#include <span>
#include <vector>

#include <lanner/shape.h>

#include "base/limits/counted_vector.h"

namespace lanner::ops {

/// For each axis, whether it is among `axes`.
std::vector<bool> reduced_flags(std::span<const std::size_t> axes, std::size_t rank);

/// Result i is computed from runs of `run` elements `stride` apart, one from results[i] + r for each r of
/// `runs`.
struct ReducePlan {
  CountedVector<std::int64_t> results, runs;
  std::int64_t run = 1, stride = 1;
};
ReducePlan plan_reduce(const Shape& shape, std::span<const std::size_t> axes);

} // namespace lanner::ops
