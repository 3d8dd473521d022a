#pragma once
// Strided, read-only array views over a picture's memory.

#include <lanner/decoder.h>

#include "calls/bindings.h"

namespace lanner::python {

/// One plane of samples, or several consecutive ones. Sizes in samples, strides in bytes.
struct View {
  std::shared_ptr<const void> owner;
  void* data = nullptr;
  bool wide = false; ///< u16 samples, else u8.
  std::vector<std::int64_t> shape, strides;
  Device device;
  Stream stream; ///< The samples are complete in this stream's order; null: they are complete.
};

/// plane_at() of an image: [height, width], or [height, width, 2 to 4] where samples are interleaved.
View plane_view(const Image& image, std::size_t plane, Stream stream);
/// The image as one array where possible: interleaved [height, width, 2 to 4]; planes of equal size and
/// distance [planes, height, width]; semi-planar 4:2:0 or 4:2:2 with contiguous chroma, [height + chroma
/// height, width]. Throws nb::attribute_error (AttributeError) for others.
View image_view(const Image& image, Stream stream);

/// The three array protocols, for classes with views.
nb::dict array_interface(const View& view);
nb::dict cuda_array_interface(const View& view);
nb::object dlpack(const View& view, nb::handle stream, nb::handle max_version, nb::handle copy);
nb::tuple dlpack_device(const View& view);

void register_view(nb::module_& module);

} // namespace lanner::python
