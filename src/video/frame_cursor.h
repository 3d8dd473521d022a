#pragma once
// Decodes one stream from any packet on and says of every frame which packet it came from.

#include <deque>
#include <functional>
#include <memory>
#include <optional>

#include <lanner/video_reader.h>

#include "video/packet_table.h"

namespace lanner {

// Note [Frames by ordinal]
// Timestamps cannot name frames: they may be missing, or come twice. So packets are given to the decoder with
// their ordinal (place in file order) as pts and without a dts. Decoders carry a packet's pts to the frame
// that begins in it, through any reordering, and use it for nothing else. The frame's real time is looked up
// by that ordinal.

/// A decoded frame with its packet's ordinal, -1 when the decoder lost it.
struct TaggedFrame {
  Frame frame;
  std::int64_t ordinal = -1;
};

class FrameCursor {
public:
  FrameCursor(SourcePtr source, const VideoReaderOptions& options);

  /// Another one over the same source, at its beginning.
  FrameCursor again() const { return FrameCursor(source_, options_); }

  const StreamInfo& stream() const noexcept { return stream_; }
  const Demuxer& demuxer() const noexcept { return *demuxer_; }
  const Decoder& decoder() const noexcept { return *decoder_; }

  /// The next frame in the decoder's order; its pts and duration are those of its packet. Throws
  /// Error{bad_data} at the end of a stream that gave none.
  std::optional<TaggedFrame> next();
  /// Ordinal of the packet that is read next.
  std::int64_t position() const noexcept { return position_; }
  /// Continues at the stream's first packet, with all state as after opening.
  void restart();
  /// Continues at packet `ordinal` of `table`, a place to start. Seeks where the container finds the way,
  /// else reads up to it.
  void start_at(std::int64_t ordinal, PacketTable& table);
  /// All packets of the stream, by a demuxer of its own.
  PacketTable read_table(const Control& control) const;

private:
  std::unique_ptr<Demuxer> new_demuxer() const;
  std::optional<Packet> next_packet();
  std::optional<Packet> stream_packet();
  bool enter(std::int64_t ordinal, PacketTable& table, const std::function<void()>& seek);
  void skip_to(std::int64_t ordinal);
  TaggedFrame tag(Frame frame);

  struct Times {
    std::int64_t pts, duration;
  };
  void remember(const Packet& packet);

  SourcePtr source_;
  VideoReaderOptions options_;
  StreamInfo stream_;
  std::unique_ptr<Demuxer> demuxer_;
  std::unique_ptr<Decoder> decoder_;
  std::int64_t position_ = 0;
  std::optional<Packet> pending_; ///< Read but not yet given to the decoder.
  std::deque<Times> times_;       ///< Of the newest packets, up to position_.
  bool drained_ = false, gave_frames_ = false, from_start_ = true;
};

} // namespace lanner
