#pragma once
// Outputs that are maps of the picture.

#include "tasks/read/reader.h"

namespace lanner::tasks {

/// Elements of a map [C, h, w] or [h, w, C]: channel c at (x, y) is `values[c * channel + y * row + x *
/// column]`.
struct MapValues {
  Values values;
  std::string_view part; ///< Its description in messages.
  std::int64_t channels = 0, height = 0, width = 0;
  std::int64_t channel = 0, row = 0, column = 0;
};

/// The output of a part, as one of these or [h, w]. `counted`: its channels where known, 0: 1 or 3. Throws
/// Error{invalid_argument} for other shapes and where the first or the last dim may be the channels, and
/// Error{bad_data} for numbers that are not finite; where they are remote, the kernel that reads them checks
/// this.
MapValues map_values(const PictureRun& run, std::string_view part, std::int64_t counted);

[[noreturn]] void fail_not_finite(std::string_view part);

} // namespace lanner::tasks
