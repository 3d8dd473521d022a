#pragma once
// Selection by value, as in the kernels of selections.cu. Plain C++ too, so that it is tested without a GPU.

#include <cstdint>
#include <cstring>

#include "backends/indexing/index_kernel.h"
#include "ops/detection/box_overlap.h"

namespace lanner::cuda {

/// non_zero; elements are in chunks of one block each.
struct NonZeroParameters {
  std::int64_t elements = 0, chunk = 0;
  std::uint64_t value_bits =
      0; ///< Mask of an element's bits without the sign: all are 0 where the element is zero.
  int rank = 0;
  std::int64_t sizes[max_index_axes] = {};
};

template<typename T>
LANNER_HOST_DEVICE bool is_set(T element, const NonZeroParameters& p) {
  return (element & p.value_bits) != 0;
}

/// Result `i` of `count`: the element's indices, one row per axis.
LANNER_HOST_DEVICE inline void write_indices(std::int64_t element, std::int64_t* out, std::int64_t i,
                                             std::int64_t count, const NonZeroParameters& p) {
  for (int d = p.rank - 1; d >= 0; --d) {
    out[d * count + i] = element % p.sizes[d];
    element /= p.sizes[d];
  }
}

/// non_max_suppression. Each class of each image is processed by one block, which has `boxes` slots in the
/// list of candidates and `most` in the list of selected boxes.
struct SuppressionParameters {
  std::int64_t classes = 0, boxes = 0, most = 0;
  float overlap = 0, score = 0;
  bool centered = false;
};

/// Sort key of candidates: the higher score first, of equal scores the lower box index. Never 0, which means
/// no box.
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

/// A candidate's box, read as the definition reads it.
struct Candidate {
  std::uint64_t key;
  lanner::ops::Box box;
};

} // namespace lanner::cuda
