#pragma once
// Pictures in the size of a file that is being written.

#include <cstdint>

#include <lanner/image.h>
#include <lanner/video_writer.h>

namespace lanner {

/// A host picture stretched to another size in its own format, depth and colours, by bicubic interpolation.
/// Its alpha plane is left out.
Image resized_image(const Image& image, std::int32_t width, std::int32_t height);

/// The picture in that size: stretched (SizeChange::scale), or in its own shape between black bars
/// (SizeChange::pad).
Image fitted_image(const Image& image, std::int32_t width, std::int32_t height, SizeChange how);

} // namespace lanner
