#pragma once
// Still pictures' files, from which a decoder could make far more than the picture: text and profiles that
// unpack to a thousand times their size, tags that all name the same megabyte, scans without end.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <lanner/limits.h>

extern "C" {
#include <libavcodec/codec_id.h>
}

namespace lanner::ffmpeg {

/// A picture as a decoder is given it.
struct PictureParts {
  std::vector<std::byte> changed; ///< Empty: the file as it is.
  std::uint64_t beside = 0;       ///< Bytes that the codec takes beside the picture's own.

  std::span<const std::byte> of(std::span<const std::byte> file) const noexcept {
    return changed.empty() ? file : std::span<const std::byte>(changed);
  }
};

/// Whether files of this codec have such parts.
bool has_parts(AVCodecID codec) noexcept;

/// Texts and colour profiles are hidden from the codec, Exif tags but the orientation too. Throws
/// Error{limit_exceeded} for a JPEG whose scans go over its pixels more often than `limits.pixels` allow, and
/// Error{bad_data} for a TIFF whose tags hold more than the file. `name` begins the message.
PictureParts needed_parts(AVCodecID codec, std::span<const std::byte> file, std::string_view name,
                          const Limits& limits);

} // namespace lanner::ffmpeg
