#pragma once
// The kernels that find elements and keep boxes, part by part on the host.

#include <cstdint>
#include <functional>
#include <string>

#include "backends/cuda/selection_kernel.h"

namespace lanner::fake {

template<typename T>
std::function<void()> counted_elements(void** arguments, unsigned blocks) {
  return [x = *static_cast<const T**>(arguments[0]), counts = *static_cast<std::int64_t**>(arguments[1]),
          p = *static_cast<const cuda::NonZeroParameters*>(arguments[2]), blocks] {
    for (unsigned block = 0; block < blocks; ++block) {
      counts[block] = 0;
      for (std::int64_t i = block * p.chunk; i < (block + 1) * p.chunk && i < p.elements; ++i)
        counts[block] += cuda::is_set(x[i], p);
    }
  };
}

template<typename T>
std::function<void()> placed_elements(void** arguments, unsigned blocks) {
  return
      [x = *static_cast<const T**>(arguments[0]), counts = *static_cast<const std::int64_t**>(arguments[1]),
       out = *static_cast<std::int64_t**>(arguments[2]), count = *static_cast<std::int64_t**>(arguments[3]),
       p = *static_cast<const cuda::NonZeroParameters*>(arguments[4]), blocks] {
        *count = 0;
        for (unsigned block = 0; block < blocks; ++block) *count += counts[block];
        std::int64_t place = 0;
        for (std::int64_t i = 0; i < p.elements; ++i)
          if (cuda::is_set(x[i], p)) cuda::write_indices(i, out, place++, *count, p);
      };
}

/// All of one class, whose candidates are listed first; returns how many boxes are kept.
inline std::int64_t suppress(const float* boxes, const float* scores, cuda::Candidate* candidates,
                             std::int32_t* kept, const cuda::SuppressionParameters& p) {
  std::int64_t listed = 0;
  for (std::int64_t i = 0; i < p.boxes; ++i)
    if (scores[i] >= p.score)
      candidates[listed++] = {cuda::candidate_key(scores[i], i), ops::read_box(boxes + 4 * i, p.centered)};
  for (std::int64_t count = 0; count < p.most; ++count) {
    cuda::Candidate best{};
    for (std::int64_t k = 0; k < listed; ++k)
      if (candidates[k].key > best.key) best = candidates[k];
    if (!best.key) return count;
    kept[count] = static_cast<std::int32_t>(cuda::box_of(best.key));
    for (std::int64_t k = 0; k < listed; ++k)
      if (candidates[k].key == best.key || ops::overlap(candidates[k].box, best.box) > p.overlap)
        candidates[k].key = 0;
  }
  return p.most;
}

inline std::function<void()> suppressed_boxes(void** arguments, unsigned blocks) {
  return
      [boxes = *static_cast<const float**>(arguments[0]), scores = *static_cast<const float**>(arguments[1]),
       places = *static_cast<cuda::Candidate**>(arguments[2]),
       kept = *static_cast<std::int32_t**>(arguments[3]), counts = *static_cast<std::int64_t**>(arguments[4]),
       p = *static_cast<const cuda::SuppressionParameters*>(arguments[5]), blocks] {
        for (unsigned block = 0; block < blocks; ++block)
          counts[block] = suppress(boxes + block / p.classes * p.boxes * 4, scores + block * p.boxes,
                                   places + block * p.boxes, kept + block * p.most, p);
      };
}

inline std::function<void()> listed_boxes(void** arguments, unsigned blocks) {
  return
      [kept = *static_cast<const std::int32_t**>(arguments[0]),
       counts = *static_cast<const std::int64_t**>(arguments[1]),
       out = *static_cast<std::int64_t**>(arguments[2]), count = *static_cast<std::int64_t**>(arguments[3]),
       p = *static_cast<const cuda::SuppressionParameters*>(arguments[4]), blocks] {
        std::int64_t* row = out;
        for (unsigned block = 0; block < blocks; ++block)
          for (std::int64_t k = 0; k < counts[block]; ++k, row += 3) {
            row[0] = block / p.classes;
            row[1] = block % p.classes;
            row[2] = kept[block * p.most + k];
          }
        *count = (row - out) / 3;
      };
}

/// The work of a kernel of this name; empty for other names.
inline std::function<void()> selection_kernel(const std::string& name, void** arguments, unsigned blocks) {
  if (name == "count_non_zero_1") return counted_elements<std::uint8_t>(arguments, blocks);
  if (name == "count_non_zero_4") return counted_elements<std::uint32_t>(arguments, blocks);
  if (name == "count_non_zero_8") return counted_elements<std::uint64_t>(arguments, blocks);
  if (name == "place_non_zero_1") return placed_elements<std::uint8_t>(arguments, blocks);
  if (name == "place_non_zero_4") return placed_elements<std::uint32_t>(arguments, blocks);
  if (name == "place_non_zero_8") return placed_elements<std::uint64_t>(arguments, blocks);
  if (name == "suppress_boxes") return suppressed_boxes(arguments, blocks);
  if (name == "list_boxes") return listed_boxes(arguments, blocks);
  return {};
}

} // namespace lanner::fake
