#pragma once
// Which parts of a picture a second network looks at.

#include <cstdint>
#include <span>
#include <vector>

#include <lanner/crop_runner.h>

namespace lanner::tasks {

/// Of each box of the result, where it is of one of the classes (or there are none), the pixels that it
/// covers with its margin, rounded outwards; all zero for those that are left out and those without a pixel.
/// Throws Error{invalid_argument} where parts of the result do not fit each other.
std::vector<PixelRect> crop_regions(const TaskResult& found, std::span<const std::int64_t> classes,
                                    const CropOptions& options);

/// What the network that was given a region of a picture saw of it: less than the region where `spec` crops.
PixelRect seen_region(const Preprocess& spec, const PixelRect& region);

/// Of a resolved task: nothing was found.
TaskResult empty_result(const Task& task);

} // namespace lanner::tasks
