#pragma once
// Masks as run lengths (GroundTruthObject::mask): what is in them, and how they are made.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <lanner/limits.h>
#include <lanner/task.h>

namespace lanner::tasks {

using Runs = std::vector<std::uint32_t>;

/// Pixels inside.
std::uint64_t area_of(const Runs& runs);
/// Pixels inside of both.
std::uint64_t shared_area(const Runs& a, const Runs& b);
/// What lies in one of them at least; both of one picture.
Runs joined(const Runs& a, const Runs& b);
/// Left, top, width, height of what is inside; zeros where nothing is.
std::array<double, 4> bounds_of(const Runs& runs, std::int32_t height);
/// The same mask as pixels where something is inside.
Mask mask_of_runs(const Runs& runs, std::int32_t width, std::int32_t height);

/// Reads COCO's packed text: see packed_run_lengths(). Throws Error{bad_data} for what is none, or is of
/// another number of pixels.
Runs unpacked_runs(std::string_view text, std::int32_t width, std::int32_t height);
/// Throws Error{bad_data} unless the runs cover the picture.
void check_runs(const Runs& runs, std::int32_t width, std::int32_t height);

/// The pixels that COCO's tools count as inside of a polygon, x and y in turns. Throws Error{limit_exceeded}
/// for one whose edge is longer than `limits.pixels`.
Runs runs_of_polygon(std::span<const double> corners, std::int32_t width, std::int32_t height,
                     const Limits& limits);

} // namespace lanner::tasks
