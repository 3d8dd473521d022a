#pragma once
// Selects the rows of a detector's output that the host must look at, as the kernels of task_rows.cu do. Also
// plain C++, so that it is tested without a GPU.

#include <cmath>
#include <cstdint>

#include "image/cuda/host_device.h"

namespace lanner::tasks::cuda {

/// Scores of rows: class c of row r is element `begin + r * pitch + c * step`. Finds all rows that may pass,
/// and those with an element that is not finite; it may find others too: the host decides.
struct ScanParameters {
  const void* values = nullptr;
  std::int64_t rows = 0, begin = 0, pitch = 0, step = 0;
  std::int32_t classes = 0;
  std::int32_t background = -1; ///< Class that is ignored; -1: none.
  bool softmax = false;
  bool by_warp = false;        ///< Elements of a row are adjacent, so that a warp reads them together.
  bool has_objectness = false; ///< Element `objectness + r * pitch`, tested before classes.
  std::int64_t objectness = 0;
  float least = 0;            ///< Lower scores do not pass.
  float least_objectness = 0; ///< Lower objectness does not pass.
  float least_log = 0;        ///< softmax: a smaller share, as its logarithm, does not pass.
  float least_product = 0;    ///< Largest product of objectness and score; -infinity: not known.
  /// For heat maps [classes, height, width]: a row is a cell of one class, and passes where it is a peak.
  std::int32_t peak_width = 0, peak_height = 0;
};

/// For the block that lists flagged rows.
inline constexpr int listing_threads = 1024;
/// Row flags are read in words of this many; flags beyond the last row are 0.
inline constexpr int flags_each = 16;
LANNER_HOST_DEVICE inline std::int64_t padded_flags(std::int64_t rows) {
  return (rows + flags_each - 1) / flags_each * flags_each;
}

inline constexpr float lowest = -3.402823466e+38f;

LANNER_HOST_DEVICE inline bool is_finite(float value) {
  return value - value == 0;
}

/// Summary of a row's elements.
struct RowSummary {
  float most = lowest; ///< Over all classes.
  float rest = lowest; ///< Over classes that are not ignored.
  bool finite = true;

  LANNER_HOST_DEVICE void add(float value, bool counts) {
    if (!is_finite(value)) finite = false;
    if (value > most) most = value;
    if (counts && value > rest) rest = value;
  }
  LANNER_HOST_DEVICE void add(const RowSummary& other) {
    finite = finite && other.finite;
    if (other.most > most) most = other.most;
    if (other.rest > rest) rest = other.rest;
  }
};

LANNER_HOST_DEVICE inline std::int64_t score_index(const ScanParameters& p, std::int64_t row,
                                                   std::int32_t c) {
  return p.begin + row * p.pitch + c * p.step;
}

/// Whether the row fails before its classes are read; without objectness the argument is ignored.
LANNER_HOST_DEVICE inline bool hopeless(const ScanParameters& p, float objectness) {
  return p.has_objectness && is_finite(objectness) && objectness < p.least_objectness;
}

/// Decision from the summary: 0 the row does not count, 1 it does, 2 the softmax's sum decides.
LANNER_HOST_DEVICE inline int verdict(const ScanParameters& p, const RowSummary& row, float objectness) {
  if (!row.finite || (p.has_objectness && !is_finite(objectness))) return 1;
  if (!p.softmax)
    return row.rest >= p.least && (!p.has_objectness || objectness * row.rest >= p.least_product);
  return row.rest - row.most < p.least_log ? 0 : 2;
}

/// exp(x - row max) for the softmax.
LANNER_HOST_DEVICE inline float share_of(float value, float most) {
  return expf(value - most);
}
LANNER_HOST_DEVICE inline bool enough_share(const ScanParameters& p, const RowSummary& row, float sum) {
  return share_of(row.rest, row.most) >= expf(p.least_log) * sum;
}

/// A row by one thread. `load(i)` is element i.
template<typename Load>
LANNER_HOST_DEVICE bool counts_alone(const ScanParameters& p, std::int64_t row, const Load& load) {
  const float objectness = p.has_objectness ? load(row * p.pitch + p.objectness) : 0;
  if (hopeless(p, objectness)) return false;
  RowSummary summary;
  for (std::int32_t c = 0; c < p.classes; ++c) summary.add(load(score_index(p, row, c)), c != p.background);
  const int decided = verdict(p, summary, objectness);
  if (decided != 2) return decided == 1;
  float sum = 0;
  for (std::int32_t c = 0; c < p.classes; ++c) sum += share_of(load(score_index(p, row, c)), summary.most);
  return enough_share(p, summary, sum);
}

/// A cell of a heat map is a peak: no neighbour is higher.
template<typename Load>
LANNER_HOST_DEVICE bool is_peak(const ScanParameters& p, std::int64_t cell, const Load& load) {
  const float value = load(p.begin + cell);
  if (!is_finite(value)) return true;
  if (value < p.least) return false;
  const std::int64_t x = cell % p.peak_width, line = cell / p.peak_width, y = line % p.peak_height;
  for (std::int64_t dy = -1; dy <= 1; ++dy)
    for (std::int64_t dx = -1; dx <= 1; ++dx) {
      const bool inside = x + dx >= 0 && x + dx < p.peak_width && y + dy >= 0 && y + dy < p.peak_height;
      if (inside && load(p.begin + (line + dy) * p.peak_width + x + dx) > value) return false;
    }
  return true;
}

/// Elements of each found row to copy to the host, in the output's type, row by row.
struct GatherTable {
  const void* values = nullptr;
  std::int64_t begin = 0, pitch = 0, step = 0;
  std::int64_t modulo = 0;   ///< Row numbering restarts after this many; 0: never.
  std::int32_t channels = 0; ///< Elements of a row.
  std::int32_t bytes = 0;    ///< Bytes of an element: 2 or 4.
  void* to = nullptr;
};
inline constexpr int most_tables = 4;
struct GatherParameters {
  GatherTable tables[most_tables];
  std::int32_t count = 0;              ///< Number of tables.
  std::int64_t first = 0, room = 0;    ///< Found rows from `first` on, at most `room`.
  const std::int32_t* rows = nullptr;  ///< Found rows.
  const std::int64_t* found = nullptr; ///< How many.
  std::int32_t* numbers = nullptr;     ///< Written: the rows' indices; may be null.
};

/// Element `i` of table `t`, counted over all rows from the first on.
LANNER_HOST_DEVICE inline void gather_number(const GatherParameters& p, const GatherTable& t,
                                             std::int64_t i) {
  const std::int64_t place = i / t.channels, channel = i - place * t.channels;
  const std::int64_t row = p.rows[p.first + place];
  const std::int64_t from = t.begin + (t.modulo > 0 ? row % t.modulo : row) * t.pitch + channel * t.step;
  if (t.bytes == 2)
    static_cast<std::uint16_t*>(t.to)[i] = static_cast<const std::uint16_t*>(t.values)[from];
  else
    static_cast<std::uint32_t*>(t.to)[i] = static_cast<const std::uint32_t*>(t.values)[from];
}

} // namespace lanner::tasks::cuda
