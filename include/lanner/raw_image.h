#pragma once
// Pictures as bytes alone, as files of raw video and NVENC's buffers have them.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include <lanner/image.h>

namespace lanner {

/// Memory order of raw pictures that PixelFormat has no name for.
enum class RawOrder : std::uint8_t {
  planes,         ///< The planes of the format, one after the other, without gaps.
  swapped_chroma, ///< Cr before Cb (YV12).
  argb10,         ///< Words of 32 bits: 2 of opacity, 10 each of red, green and blue, from the highest on.
  abgr10
};
struct RawFormat {
  PixelFormat format = PixelFormat::yuv420p; ///< What image_from_bytes() makes of it.
  RawOrder order = RawOrder::planes;
};
/// A format by PixelFormat's name or NVENC's, in any case: NV12, YV12, IYUV, YUV420, YUV420P, YUV444,
/// YUV444_16BIT, YUV444_10BIT, NV16, P010, P210, ARGB, ABGR, ARGB10, ABGR10. Throws Error{invalid_argument}.
RawFormat parse_raw_format(std::string_view name);
/// Bytes that such a picture takes.
std::int64_t raw_bytes(const RawFormat& format, std::int32_t width, std::int32_t height);
/// A picture over `bytes`, which `owner` keeps; a copy of argb10 and abgr10. Throws Error{invalid_argument}
/// where there are not as many bytes as the picture takes.
Image image_from_bytes(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                       const RawFormat& format, std::int32_t width, std::int32_t height);

} // namespace lanner
