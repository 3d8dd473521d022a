#pragma once
// Raw images: pixels without a header, as in files of raw video and in NVENC's input buffers.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include <lanner/image.h>

namespace lanner {

/// Memory order of a raw image. PixelFormat has no name for the orders after `planes`.
enum class RawOrder : std::uint8_t {
  planes,         ///< The planes of the format, one after the other, without gaps.
  swapped_chroma, ///< Cr before Cb (YV12).
  argb10,         ///< Words of 32 bits, from the highest bits on: 2 of alpha, 10 each of red, green, blue.
  abgr10,         ///< As argb10, with blue, green, red.
};
struct RawFormat {
  PixelFormat format = PixelFormat::yuv420p; ///< Format of the image that image_from_bytes() returns.
  RawOrder order = RawOrder::planes;
};
/// A format by the name of a PixelFormat or by NVENC's name, in upper or lower case: NV12, YV12, IYUV,
/// YUV420, YUV420P, YUV444, YUV444_16BIT, YUV444_10BIT, NV16, P010, P210, ARGB, ABGR, ARGB10, ABGR10. Throws
/// Error{invalid_argument}.
RawFormat parse_raw_format(std::string_view name);
/// Bytes of an image of this format and size.
std::int64_t raw_bytes(const RawFormat& format, std::int32_t width, std::int32_t height);
/// An image that uses `bytes`, which `owner` keeps valid; argb10 and abgr10 are converted into new memory.
/// Throws Error{invalid_argument} if the number of bytes is not raw_bytes().
Image image_from_bytes(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                       const RawFormat& format, std::int32_t width, std::int32_t height);

} // namespace lanner
