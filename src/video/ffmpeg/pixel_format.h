#pragma once
// PixelFormat and ColorInfo in FFmpeg's terms.

#include <optional>

#include <lanner/image.h>

extern "C" {
#include <libavutil/frame.h>
#include <libavutil/pixfmt.h>
}

namespace lanner::ffmpeg {

/// A PixelFormat whose memory an FFmpeg format has as it is, perhaps with its planes in another order.
struct DirectFormat {
  PixelFormat format;
  std::array<std::uint8_t, 3> planes{0, 1, 2}; ///< FFmpeg's plane for each of ours.
  bool full_range = false;                     ///< The format itself says so (yuvj420p).
};

/// The twin of `format`; an alpha plane may be left behind. Nothing when pixels must be converted.
std::optional<DirectFormat> direct_format(AVPixelFormat format) noexcept;
/// The FFmpeg format of the same memory.
AVPixelFormat to_av(PixelFormat format) noexcept;
/// The PixelFormat that loses least of `format`.
PixelFormat nearest_format(AVPixelFormat format) noexcept;

ColorMatrix to_matrix(AVColorSpace space) noexcept;
AVColorSpace to_av(ColorMatrix matrix) noexcept;
ColorInfo color_info(AVColorSpace space, AVColorRange range, AVChromaLocation siting,
                     AVColorPrimaries primaries, AVColorTransferCharacteristic transfer) noexcept;
AVColorRange to_av(ColorRange range) noexcept;
AVChromaLocation to_av(ChromaSiting siting) noexcept;

} // namespace lanner::ffmpeg
