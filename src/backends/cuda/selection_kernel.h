#pragma once
// What elements choose, as the kernels of selections.cu find it. Plain C++ too, so that it is tested without
// a GPU.

#include <cstdint>

#include "backends/cuda/index_kernel.h"
#include "ops/box_overlap.h"

namespace lanner::cuda {

/// Of non_zero, whose elements are in chunks of one block each.
struct NonZeroParameters {
  std::int64_t elements = 0, chunk = 0;
  std::uint64_t value_bits = 0; ///< Of an element, without a sign: 0 where none is set.
  int rank = 0;
  std::int64_t sizes[max_index_axes] = {};
};

template<typename T>
LANNER_HOST_DEVICE bool is_set(T element, const NonZeroParameters& p) {
  return (element & p.value_bits) != 0;
}

/// Result `i` of `count`: the element's indices, one row an axis.
LANNER_HOST_DEVICE inline void write_indices(std::int64_t element, std::int64_t* out, std::int64_t i,
                                             std::int64_t count, const NonZeroParameters& p) {
  for (int d = p.rank - 1; d >= 0; --d) {
    out[d * count + i] = element % p.sizes[d];
    element /= p.sizes[d];
  }
}

/// Of non_max_suppression. Each class of each image is one block's, and has `boxes` places of the list of
/// candidates and `most` of the list of kept boxes.
struct SuppressionParameters {
  std::int64_t classes = 0, boxes = 0, most = 0;
  float overlap = 0, score = 0;
  bool centered = false;
};

/// A candidate, and whether it comes before another: no box comes last.
struct ScoredBox {
  float score;
  std::int32_t box;
};
LANNER_HOST_DEVICE inline bool before(const ScoredBox& a, const ScoredBox& b) {
  if (a.box < 0 || b.box < 0) return b.box < 0 && a.box >= 0;
  return a.score > b.score || (a.score == b.score && a.box < b.box);
}

} // namespace lanner::cuda
