#include "video/bitstream/webp_chunks.h"

#include <algorithm>
#include <string_view>

#include "base/check.h"

namespace lanner {

namespace {

constexpr std::size_t file_head = 12, frame_fields = 16;
/// Flags of VP8X.
constexpr unsigned animation_flag = 0x02, alpha_flag = 0x10;

/// A frame without a duration is shown for as long as browsers show it, and FFmpeg shows one of a GIF.
constexpr std::int64_t usual_duration = 100;

struct Chunk {
  std::size_t at = 0, size = 0; ///< Of its name; of its content.
  std::size_t end() const noexcept { return at + webp_chunk_head + size; }
};

/// The chunk at `at`; nothing at the end, and where less is left than it says.
std::optional<Chunk> chunk_at(Bytes bytes, std::size_t at) noexcept {
  if (at > bytes.size() || bytes.size() - at < webp_chunk_head) return std::nullopt;
  const std::size_t size = little_endian(bytes, at + 4, 4);
  if (size > bytes.size() - at - webp_chunk_head) return std::nullopt;
  return Chunk{at, size};
}

std::size_t behind(const Chunk& chunk) noexcept {
  return chunk.end() + chunk.size % 2;
}

/// Whether the first chunk inside of a frame lets pixels be transparent; the file's flag may be wrong. What
/// is not known counts as transparent.
bool may_have_alpha(Bytes chunk) noexcept {
  constexpr std::size_t picture = webp_chunk_head + frame_fields, lossless_alpha = picture + webp_chunk_head;
  if (has_name(chunk, picture, "VP8 ")) return false;
  if (!has_name(chunk, picture, "VP8L")) return true;
  return (byte_at(chunk, lossless_alpha + 4) & 0x10) != 0; // Behind a signature and two sizes of 14 bits.
}

void append_number(std::vector<std::byte>& file, std::size_t value, int count) {
  for (int i = 0; i < count; ++i) file.push_back(static_cast<std::byte>(value >> 8 * i));
}

void append_text(std::vector<std::byte>& file, std::string_view text) {
  for (const char c : text) file.push_back(static_cast<std::byte>(c));
}

void append_chunk(std::vector<std::byte>& file, Bytes bytes, const Chunk& chunk) {
  const Bytes whole = bytes.subspan(chunk.at, chunk.end() - chunk.at);
  file.insert(file.end(), whole.begin(), whole.end());
  if (chunk.size % 2) file.push_back(std::byte{0});
}

} // namespace

std::uint32_t little_endian(Bytes bytes, std::size_t at, std::size_t count) noexcept {
  std::uint32_t value = 0;
  for (std::size_t i = count; i-- > 0;) value = value << 8 | byte_at(bytes, at + i);
  return value;
}

bool has_name(Bytes bytes, std::size_t at, const char (&name)[5]) noexcept {
  for (std::size_t i = 0; i < 4; ++i)
    if (byte_at(bytes, at + i) != static_cast<unsigned char>(name[i])) return false;
  return true;
}

std::optional<WebpCanvas> animated_webp(Bytes head) noexcept {
  if (head.size() < webp_head_bytes || !has_name(head, 0, "RIFF") || !has_name(head, 8, "WEBP") ||
      !has_name(head, file_head, "VP8X"))
    return std::nullopt;
  constexpr std::size_t fields = file_head + webp_chunk_head;
  if (little_endian(head, file_head + 4, 4) < webp_head_bytes - fields ||
      !(byte_at(head, fields) & animation_flag))
    return std::nullopt;
  return WebpCanvas{static_cast<std::int32_t>(little_endian(head, fields + 4, 3) + 1),
                    static_cast<std::int32_t>(little_endian(head, fields + 7, 3) + 1)};
}

WebpFrame webp_frame(Bytes chunk, const WebpCanvas& canvas) {
  constexpr std::size_t fields = webp_chunk_head;
  check(has_name(chunk, 0, "ANMF") && little_endian(chunk, 4, 4) >= frame_fields &&
            chunk.size() >= fields + frame_fields,
        ErrorCode::bad_data, "the chunk is none of an animation's frame, or ends within its fields");
  const auto number = [&](std::size_t at) {
    return static_cast<std::int32_t>(little_endian(chunk, fields + at, 3));
  };
  WebpFrame frame{2 * number(0), 2 * number(3), number(6) + 1, number(9) + 1};
  check(frame.x + frame.width <= canvas.width && frame.y + frame.height <= canvas.height, ErrorCode::bad_data,
        "a frame of {}x{} at {},{} lies outside of the canvas of {}x{}", frame.width, frame.height, frame.x,
        frame.y, canvas.width, canvas.height);
  frame.duration = number(12) > 0 ? number(12) : usual_duration;
  const unsigned flags = byte_at(chunk, fields + 15);
  frame.blends = !(flags & 2);
  frame.clears = flags & 1;
  frame.alpha = may_have_alpha(chunk);
  return frame;
}

std::vector<std::byte> still_webp(Bytes chunk, const WebpFrame& frame) {
  std::optional<Chunk> alpha, picture;
  for (auto part = chunk_at(chunk, webp_chunk_head + frame_fields); part && !picture;
       part = chunk_at(chunk, behind(*part))) {
    if (has_name(chunk, part->at, "ALPH")) alpha = part;
    const bool lossless = has_name(chunk, part->at, "VP8L");
    if (lossless) alpha.reset(); // Its pixels have their own.
    if (lossless || has_name(chunk, part->at, "VP8 ")) picture = part;
  }
  check(picture.has_value(), ErrorCode::bad_data, "an animation's frame holds no whole picture");
  std::vector<std::byte> file;
  file.reserve(chunk.size() + webp_head_bytes);
  append_text(file, "RIFF");
  append_number(file, 0, 4); // Known below.
  append_text(file, "WEBP");
  if (alpha) {
    append_text(file, "VP8X");
    append_number(file, webp_head_bytes - file_head - webp_chunk_head, 4);
    append_number(file, alpha_flag, 4);
    append_number(file, static_cast<std::size_t>(frame.width - 1), 3);
    append_number(file, static_cast<std::size_t>(frame.height - 1), 3);
    append_chunk(file, chunk, *alpha);
  }
  append_chunk(file, chunk, *picture);
  const std::size_t size = file.size() - webp_chunk_head;
  for (std::size_t i = 0; i < 4; ++i) file[4 + i] = static_cast<std::byte>(size >> 8 * i);
  return file;
}

Bytes first_webp_frame(Bytes file) {
  for (auto chunk = chunk_at(file, file_head); chunk; chunk = chunk_at(file, behind(*chunk)))
    if (has_name(file, chunk->at, "ANMF")) return file.subspan(chunk->at, chunk->end() - chunk->at);
  fail(ErrorCode::bad_data, "an animated WebP without a whole frame");
}

bool WebpKeys::next(const WebpFrame& frame) noexcept {
  const bool key = empty_ || (frame.covers(canvas_) && !(frame.blends && frame.alpha));
  empty_ = frame.clears && (key || frame.covers(canvas_));
  return key;
}

} // namespace lanner
