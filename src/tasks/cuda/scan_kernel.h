#pragma once
// Which rows of a detector's output the host has to look at, as the kernels of task_rows.cu find them. Plain
// C++ too, so that it is tested without a GPU.

#include <cmath>
#include <cstdint>

#include "image/cuda/host_device.h"

namespace lanner::tasks::cuda {

/// Scores of rows: class c of row r is number `begin + r * pitch + c * step`. All rows that may pass are
/// found, and those that hold a number that is not finite; others may be among them: the host decides.
struct ScanParameters {
  const void* values = nullptr;
  std::int64_t rows = 0, begin = 0, pitch = 0, step = 0;
  std::int32_t classes = 0;
  std::int32_t background = -1; ///< Class that does not count; -1: none.
  bool softmax = false;
  bool by_warp = false;        ///< Numbers of a row lie side by side, so that a warp reads them together.
  bool has_objectness = false; ///< It is number `objectness + r * pitch`, and decides before classes do.
  std::int64_t objectness = 0;
  float least = 0;            ///< Scores below do not pass.
  float least_objectness = 0; ///< Nor what has less of it.
  float least_log = 0;        ///< softmax: of what is less, as the logarithm of its share, none passes.
  float least_product = 0;    ///< Of objectness and score; -infinity: that is not known.
  /// Of heat maps [classes, height, width]: a row is a cell of one class, and passes where it is a peak.
  std::int32_t peak_width = 0, peak_height = 0;
};

/// Of the block that lists flagged rows.
inline constexpr int listing_threads = 1024;
/// Flags of rows are read so many at a time; behind the last row they are 0.
inline constexpr int flags_each = 16;
LANNER_HOST_DEVICE inline std::int64_t padded_flags(std::int64_t rows) {
  return (rows + flags_each - 1) / flags_each * flags_each;
}

inline constexpr float lowest = -3.402823466e+38f;

LANNER_HOST_DEVICE inline bool is_finite(float value) {
  return value - value == 0;
}

/// What is seen of the numbers of a row.
struct RowSummary {
  float most = lowest; ///< Of all classes.
  float rest = lowest; ///< Of those that count.
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

LANNER_HOST_DEVICE inline std::int64_t place_of(const ScanParameters& p, std::int64_t row, std::int32_t c) {
  return p.begin + row * p.pitch + c * p.step;
}

/// Whether classes of the row need not be looked at; `objectness` may be anything where there is none.
LANNER_HOST_DEVICE inline bool hopeless(const ScanParameters& p, float objectness) {
  return p.has_objectness && is_finite(objectness) && objectness < p.least_objectness;
}

/// What the summary alone tells: 0 the row does not count, 1 it does, 2 the softmax's sum decides.
LANNER_HOST_DEVICE inline int verdict(const ScanParameters& p, const RowSummary& row, float objectness) {
  if (!row.finite || (p.has_objectness && !is_finite(objectness))) return 1;
  if (!p.softmax)
    return row.rest >= p.least && (!p.has_objectness || objectness * row.rest >= p.least_product);
  return row.rest - row.most < p.least_log ? 0 : 2;
}

/// Of a softmax's numbers, beside the row's most.
LANNER_HOST_DEVICE inline float share_of(float value, float most) {
  return expf(value - most);
}
LANNER_HOST_DEVICE inline bool enough_share(const ScanParameters& p, const RowSummary& row, float sum) {
  return share_of(row.rest, row.most) >= expf(p.least_log) * sum;
}

/// A row by one thread. `load(i)` is number i.
template<typename Load>
LANNER_HOST_DEVICE bool counts_alone(const ScanParameters& p, std::int64_t row, const Load& load) {
  const float objectness = p.has_objectness ? load(row * p.pitch + p.objectness) : 0;
  if (hopeless(p, objectness)) return false;
  RowSummary summary;
  for (std::int32_t c = 0; c < p.classes; ++c) summary.add(load(place_of(p, row, c)), c != p.background);
  const int decided = verdict(p, summary, objectness);
  if (decided != 2) return decided == 1;
  float sum = 0;
  for (std::int32_t c = 0; c < p.classes; ++c) sum += share_of(load(place_of(p, row, c)), summary.most);
  return enough_share(p, summary, sum);
}

/// A cell of a heat map: nothing around it is higher.
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

/// Numbers of each found row that come to the host, in the output's type, row by row.
struct GatherTable {
  const void* values = nullptr;
  std::int64_t begin = 0, pitch = 0, step = 0;
  std::int64_t modulo = 0;   ///< Rows are counted anew behind so many; 0: not.
  std::int32_t channels = 0; ///< Of a row.
  std::int32_t bytes = 0;    ///< Of a number: 2 or 4.
  void* to = nullptr;
};
inline constexpr int most_tables = 4;
struct GatherParameters {
  GatherTable tables[most_tables];
  std::int32_t count = 0;              ///< Of tables.
  std::int64_t first = 0, room = 0;    ///< Found rows from `first` on, at most `room`.
  const std::int32_t* rows = nullptr;  ///< Found rows.
  const std::int64_t* found = nullptr; ///< How many.
  std::int32_t* numbers = nullptr;     ///< Receives the rows' numbers; may be null.
};

/// Number `i` of table `t`, `i` counting all numbers of the rows from the first on.
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
