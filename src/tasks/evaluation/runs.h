#pragma once
// Operations on masks as run lengths (GroundTruthObject::mask).

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <lanner/limits.h>
#include <lanner/task.h>

namespace lanner::tasks {

using Runs = std::vector<std::uint32_t>;

/// Number of inside pixels.
std::uint64_t area_of(const Runs& runs);
/// Pixels inside both.
std::uint64_t shared_area(const Runs& a, const Runs& b);
/// The union of masks of one picture.
Runs joined(const Runs& a, const Runs& b);
/// Left, top, width, height of the inside pixels; zeros where there are none.
std::array<double, 4> bounds_of(const Runs& runs, std::int32_t height);
/// The mask as pixels of its bounding box.
Mask mask_of_runs(const Runs& runs, std::int32_t width, std::int32_t height);

/// Parses COCO's packed text: see packed_run_lengths(). Throws Error{bad_data} for invalid text, or another
/// number of pixels.
Runs unpacked_runs(std::string_view text, std::int32_t width, std::int32_t height);
/// Throws Error{bad_data} unless the runs cover the picture.
void check_runs(const Runs& runs, std::int32_t width, std::int32_t height);

/// The pixels that COCO's tools count as inside a polygon, given as alternating x and y. Throws
/// Error{limit_exceeded} for an edge longer than `limits.pixels`.
Runs runs_of_polygon(std::span<const double> corners, std::int32_t width, std::int32_t height,
                     const Limits& limits);

} // namespace lanner::tasks
