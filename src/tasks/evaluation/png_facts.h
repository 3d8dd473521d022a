#pragma once
// Numbers of classes as pictures keep them.

#include <cstddef>
#include <span>

#include <lanner/limits.h>
#include <lanner/tensor.h>

namespace lanner::tasks {

/// i32 [height, width] of a picture's file: a gray one's values, as they lie in the file (of PNG also those
/// below 8 bits and of 16), or a PNG's palette numbers. Throws Error{bad_data} for a picture in colours
/// without a palette, and for pixels whose colour stands in the palette twice.
Tensor read_class_numbers(std::span<const std::byte> file, const Limits& limits);

} // namespace lanner::tasks
