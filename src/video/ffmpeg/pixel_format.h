#pragma once
// PixelFormat and ColorInfo in FFmpeg's terms.

#include <cstring>
#include <optional>

#include <lanner/image.h>

#include "video/bitstream/color_codes.h"

extern "C" {
#include <libavcodec/codec_par.h>
#include <libavutil/frame.h>
#include <libavutil/pixfmt.h>
}

namespace lanner::ffmpeg {

/// A PixelFormat whose memory an FFmpeg format has as it is, plane_at() by plane.
struct DirectFormat {
  PixelFormat format;
  bool full_range = false; ///< The format itself says so (yuvj420p).
};

/// The twin of `format`. Nothing when pixels must be converted.
std::optional<DirectFormat> direct_format(AVPixelFormat format) noexcept;
/// The FFmpeg format of the same memory; AV_PIX_FMT_NONE where it has none.
AVPixelFormat to_av(PixelFormat format) noexcept;
/// The same, or the planes of the same samples where FFmpeg has no twin (...msb, rgb_planar).
AVPixelFormat like_in_av(PixelFormat format) noexcept;
/// What an encoder that takes an FFmpeg format stores.
struct StoredFormat {
  PixelFormat format;
  bool full_range = false;
  bool swapped = false; ///< Its samples are big endian, as in PNG.
};
/// Nothing for formats that no Image is given as.
std::optional<StoredFormat> stored_format(AVPixelFormat format) noexcept;
/// The PixelFormat that frames of `format` come in.
PixelFormat nearest_format(AVPixelFormat format) noexcept;

AVColorSpace to_av(ColorMatrix matrix) noexcept;
AVColorRange to_av(ColorRange range) noexcept;
AVChromaLocation to_av(ChromaSiting siting) noexcept;

/// An enum's number. Decoders copy code points from files into FFmpeg's enums unchecked, and C++ has no other
/// way to look at a number that the enum does not name.
template<typename Enum>
int code_of(const Enum& value) noexcept {
  static_assert(sizeof(Enum) == sizeof(int));
  int code;
  std::memcpy(&code, &value, sizeof code);
  return code;
}

/// A matrix that this FFmpeg has no name for, and so gives as unspecified; `unspecified` for every other one.
ColorMatrix matrix_without_name(const ColorCodes& codes) noexcept;

/// The colour description in an AVFrame or in AVCodecParameters; code points without a meaning are
/// unspecified.
ColorInfo color_of(const AVFrame& frame) noexcept;
ColorInfo color_of(const AVCodecParameters& parameters) noexcept;

} // namespace lanner::ffmpeg
