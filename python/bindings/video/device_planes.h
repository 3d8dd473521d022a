#pragma once
// Pictures in a GPU's memory by the CUDA array interface.

#include <lanner/raw_image.h>

#include "calls/bindings.h"

namespace lanner::python {

/// Whether it is an object with the CUDA array interface, or a list or tuple of such.
bool has_cuda_planes(nb::handle object);

/// A picture on `device` over the memory of one array of all planes, or of one for each plane, in the order
/// of `format`; rows may have gaps between them. What its own streams were given is waited for, unless it is
/// `stream`, which reads the picture. The object has to live until then. Throws Error{invalid_argument} for
/// planes of other sizes.
Image picture_of_planes(nb::handle object, const RawFormat& format, std::int32_t width, std::int32_t height,
                        Device device, Stream stream);

} // namespace lanner::python
