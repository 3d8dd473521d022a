#pragma once
// Animated WebP files, by the chunks of their RIFF container (RFC 9649, 2.3 and 2.7). Bytes are not trusted.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "video/bitstream/bits.h"

namespace lanner {

struct WebpCanvas {
  std::int32_t width = 0, height = 0;
};

/// A file's own header and its first chunk, VP8X.
inline constexpr std::size_t webp_head_bytes = 12 + 8 + 10;
/// Of a file that begins so and says that it is animated; nothing for every other one.
std::optional<WebpCanvas> animated_webp(Bytes head) noexcept;

/// A chunk's name and size, its content not counted.
inline constexpr std::size_t webp_chunk_head = 8;
std::uint32_t little_endian(Bytes bytes, std::size_t at, std::size_t count) noexcept;
bool has_name(Bytes bytes, std::size_t at, const char (&name)[5]) noexcept;

/// What the head of a frame's chunk (ANMF) says.
struct WebpFrame {
  std::int32_t x = 0, y = 0, width = 0, height = 0;
  std::int64_t duration = 0; ///< Milliseconds, at least 1.
  bool blends = false;       ///< With the canvas below it; else its pixels replace those.
  bool clears = false;       ///< What it covers is transparent once it is no longer shown.
  bool alpha = false;        ///< May have pixels that are not opaque.

  bool covers(const WebpCanvas& canvas) const noexcept {
    return width == canvas.width && height == canvas.height;
  }
};

/// What webp_frame() looks at, of the chunk with its name and size.
inline constexpr std::size_t webp_frame_head = webp_chunk_head + 16 + webp_chunk_head + 5;
/// Throws Error{bad_data} for a chunk without room for its own fields, and a frame outside of the canvas.
WebpFrame webp_frame(Bytes chunk, const WebpCanvas& canvas);

/// The frame's picture as a file of its own: what every WebP decoder reads. Throws Error{bad_data} where the
/// chunk holds none.
std::vector<std::byte> still_webp(Bytes chunk, const WebpFrame& frame);

/// The first frame's chunk in a whole file. Throws Error{bad_data} where there is none.
Bytes first_webp_frame(Bytes file);

/// Tells which frames need none of those before them: the first, one that covers the canvas with pixels of
/// its own, and one behind a frame that left the canvas empty.
class WebpKeys {
public:
  explicit WebpKeys(const WebpCanvas& canvas) : canvas_(canvas) {}
  /// Of the next frame of the file.
  bool next(const WebpFrame& frame) noexcept;

private:
  WebpCanvas canvas_;
  bool empty_ = true; ///< Nothing is left of the frames before.
};

} // namespace lanner
