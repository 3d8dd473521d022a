#pragma once
// Text subtitles of a codec that a container cannot hold, in one that it can, by FFmpeg's decoders and
// encoders.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "video/ffmpeg/av.h"

namespace lanner::ffmpeg {

/// The codec of text subtitles that `format` holds, for a stream that can be converted to it; none for
/// streams that are no text, and where FFmpeg or the container lacks a codec.
AVCodecID convertible_to(const AVOutputFormat& format, const AVStream& stream);

/// Converts the packets of one stream. Text and what FFmpeg carries over of styles are kept; positions, fonts
/// and drawings of ASS are not.
class SubtitleConverter {
public:
  using Write = std::function<void(PacketPtr)>;
  /// `write` gets the converted packets, in the source's time base, in order.
  SubtitleConverter(const AVStream& from, AVCodecID to, Write write);

  /// What the new stream is.
  void describe(AVCodecParameters& parameters) const;
  /// Throws Error{bad_data} for what cannot be decoded. Timed text of MP4 has no subtitles at the same time:
  /// such ones are joined, so that each is written when the next one is known.
  void send(const AVPacket& packet);
  void finish();

private:
  /// A subtitle that is on the screen.
  struct Event {
    std::int64_t end = 0;
    std::string line; ///< As ASS.
  };
  std::vector<std::string> lines_of(const AVPacket& packet);
  void show_until(std::int64_t time);
  void write_shown(std::int64_t end);
  void write_lines(const std::vector<std::string>& lines, std::int64_t pts, std::int64_t duration);
  std::int64_t ticks(std::int64_t milliseconds) const;

  CodecContextPtr decoder_, encoder_;
  Write write_;
  AVRational tick_;
  bool joins_;
  std::vector<Event> shown_;
  std::int64_t since_ = 0; ///< From when on nothing was written of what is shown.
  bool open_ = false;      ///< The last one ends when the next one begins.
};

} // namespace lanner::ffmpeg
