#pragma once
// What elements choose, as the kernels of selections.cu find it. Plain C++ too, so that it is tested without
// a GPU.

#include <cstdint>
#include <cstring>

#include "backends/indexing/index_kernel.h"
#include "ops/detection/box_overlap.h"

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

/// What orders candidates: the higher comes first, of equal scores the box in front. Never 0, which is no
/// box.
LANNER_HOST_DEVICE inline std::uint64_t candidate_key(float score, std::int64_t box) {
  const float plain = score + 0.0F; // -0 is 0.
  std::uint32_t bits;
  memcpy(&bits, &plain, sizeof bits);
  bits ^= bits >> 31 ? ~std::uint32_t{0} : std::uint32_t{1} << 31;
  return std::uint64_t{bits} << 32 | static_cast<std::uint32_t>(~box);
}

LANNER_HOST_DEVICE inline std::uint32_t box_of(std::uint64_t key) {
  return ~static_cast<std::uint32_t>(key);
}

/// A candidate beside its box, as the definition reads it.
struct Candidate {
  std::uint64_t key;
  lanner::ops::Box box;
};

} // namespace lanner::cuda
