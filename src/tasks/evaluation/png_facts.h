#pragma once
// Class numbers in image files.

#include <cstddef>
#include <span>

#include <lanner/limits.h>
#include <lanner/tensor.h>

namespace lanner::tasks {

/// i32 [height, width] of an image file: values of a gray image as stored (for PNG also with fewer than 8
/// bits and with 16), or a PNG's palette indices. Throws Error{bad_data} for a colour image without a
/// palette, and for pixels whose colour occurs twice in the palette.
Tensor read_class_numbers(std::span<const std::byte> file, const Limits& limits);

} // namespace lanner::tasks
