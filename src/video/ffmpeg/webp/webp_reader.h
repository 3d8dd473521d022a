#pragma once
// The chunks of an animated WebP's file, one after the other.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <lanner/limits.h>
#include <lanner/source.h>

#include "video/bitstream/webp_chunks.h"
#include "video/ffmpeg/byte_io.h"

namespace lanner::ffmpeg {

/// Where a frame's chunk lies, and when the frame is shown, in milliseconds.
struct WebpPlace {
  std::uint64_t pos = 0;
  std::uint32_t size = 0; ///< Of the chunk, its name and size included.
  std::int64_t pts = 0, duration = 0;
  bool key = false; ///< Needs no frame before.
};

class WebpReader {
public:
  WebpReader(SourcePtr source, const Limits& limits, const StopWatch& stop, const WebpCanvas& canvas);

  /// The next frame, nothing at the end. `content`, where it is given, becomes its chunk; without, sources
  /// are read here and there. Throws Error{bad_data, limit_exceeded, cancelled, io}.
  std::optional<WebpPlace> next(std::vector<std::byte>* content);
  /// The chunk of a frame that next() has given; nothing where the file was cut since.
  std::optional<std::vector<std::byte>> read(const WebpPlace& place);
  /// What is missing where next() found that the file ends early, else empty.
  const std::string& damage() const noexcept { return damage_; }

private:
  std::size_t read_at(std::uint64_t pos, std::span<std::byte> into);
  /// Reads the chunk at `pos` behind those of its bytes that are there.
  bool complete(std::uint64_t pos, std::uint64_t size, std::vector<std::byte>& into);
  bool is_there(std::uint64_t end) const;
  void ends_early(std::uint64_t at);
  WebpPlace place_of(Bytes chunk, std::uint64_t size);

  SourcePtr source_;
  const Limits& limits_;
  const StopWatch& stop_;
  WebpCanvas canvas_;
  WebpKeys keys_;
  std::uint64_t at_, end_; ///< Of the next chunk; of the file, by its own header.
  std::uint64_t frames_ = 0;
  std::int64_t time_ = 0;
  std::string damage_;
};

} // namespace lanner::ffmpeg
