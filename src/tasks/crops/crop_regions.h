#pragma once
// The regions of an image that a second network runs on.

#include <cstdint>
#include <span>
#include <vector>

#include <lanner/crop_runner.h>

namespace lanner::tasks {

/// For each box of the result that is of one of the classes (of any class if there are none), the pixels that
/// it covers with its margin, rounded outwards; all zero for boxes left out and those without a pixel. Throws
/// Error{invalid_argument} where parts of the result do not fit each other.
std::vector<PixelRect> crop_regions(const TaskResult& found, std::span<const std::int64_t> classes,
                                    const CropOptions& options);

/// The part of a region that the network saw: smaller than the region where `spec` crops.
PixelRect seen_region(const Preprocess& spec, const PixelRect& region);

/// The empty result of a resolved task.
TaskResult empty_result(const Task& task);

} // namespace lanner::tasks
