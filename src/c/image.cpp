// Images of the C interface.

#include <lanner/dlpack.h>
#include <lanner/option_table.h>

#include "boundary.h"
#include "check.h"
#include "handles.h"

namespace lanner::c {
namespace {

/// The caller's memory as an image of the size and format of `like`.
Image view(const void* const* planes, const std::int64_t* pitches, const Image& like) {
  Image image = like;
  image.owner = nullptr;
  const PixelFormatInfo& facts = format_info(like.format);
  for (int p = 0; p < plane_count(like.format); ++p) {
    Plane& plane = plane_at(image, p);
    const std::int64_t row = plane_row_bytes(image, p);
    check(pitches[p] >= row, ErrorCode::invalid_argument,
          "pitch {} of plane {}: its rows of {} {}x{} have {} bytes", pitches[p], p, facts.name, like.width,
          like.height, row);
    plane.pitch = pitches[p];
    const auto* first = &required(static_cast<const std::byte*>(planes[p]), fmt::format("planes[{}]", p));
    plane.data = const_cast<std::byte*>(first); // Read by copy_image() alone.
  }
  return image;
}

} // namespace
} // namespace lanner::c

using namespace lanner;

lanner_status lanner_image_load(const char* path, lanner_image** image, lanner_error** error) noexcept {
  return c::guarded(error, [&] {
    c::required(image, "image") = nullptr;
    *image = new lanner_image{load_image(c::text(path, "path"))};
  });
}

lanner_status lanner_image_create(const char* format, int32_t width, int32_t height,
                                  const void* const* planes, const int64_t* pitches, lanner_image** image,
                                  lanner_error** error) noexcept {
  return c::guarded(error, [&] {
    c::required(image, "image") = nullptr;
    c::required(planes, "planes");
    c::required(pitches, "pitches");
    Image own = Image::allocate(parse_pixel_format(c::text(format, "format")), width, height);
    copy_image(c::view(planes, pitches, own), own);
    *image = new lanner_image{std::move(own)};
  });
}

lanner_status lanner_image_describe(const lanner_image* image, lanner_image_info* info,
                                    lanner_error** error) noexcept {
  return c::guarded(error, [&] {
    c::required(info, "info");
    const Image& own = c::required(image, "image").image;
    // NOLINTNEXTLINE(bugprone-suspicious-stringview-data-usage): names of formats are literals
    c::write_struct(info, {0, own.width, own.height, to_string(own.format).data()});
  });
}

lanner_status lanner_image_to_tensor(const lanner_image* image, const char* preprocess,
                                     DLManagedTensorVersioned** tensor, lanner_error** error) noexcept {
  return c::guarded(error, [&] {
    c::required(tensor, "tensor") = nullptr;
    const Image& own = c::required(image, "image").image;
    *tensor = to_dlpack_versioned(to_tensor(own, parse_preprocess(&c::required(preprocess, "preprocess"))));
  });
}

lanner_status lanner_image_save(const lanner_image* image, const char* path, lanner_error** error) noexcept {
  return c::guarded(error, [&] { save_image(c::text(path, "path"), c::required(image, "image").image); });
}

void lanner_image_destroy(lanner_image* image) noexcept {
  delete image;
}
