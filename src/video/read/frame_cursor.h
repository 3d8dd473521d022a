#pragma once
// Decodes one stream from any packet on and says of every frame which packet it came from.

#include <deque>
#include <functional>
#include <memory>
#include <optional>

#include <lanner/video_reader.h>

#include "base/check.h"
#include "video/read/packet_cursor.h"

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

/// What a decoder does not get.
struct PacketFilter {
  std::function<bool(std::int64_t ordinal)> skips; ///< Null skips none.
  std::int64_t last = INT64_MAX;                   ///< Ordinal of the last packet; the end comes behind it.
};

/// Who may ask a cursor to stop.
struct StopTokens {
  CancelToken caller, owner;
  void check() const {
    caller.check();
    owner.check();
  }
};

/// One thread at a time.
class FrameCursor {
public:
  /// `source` may be shared with other cursors: see shared_source.h.
  FrameCursor(SourcePtr source, const VideoReaderOptions& options);

  const StreamInfo& stream() const noexcept { return packets_.stream(); }
  const Demuxer& demuxer() const noexcept { return packets_.demuxer(); }
  const Decoder& decoder() const noexcept { return *decoder_; }
  const PacketCursor& packets() const noexcept { return packets_; }

  /// The next frame in the decoder's order; its pts and duration are those of its packet. Throws
  /// Error{bad_data} at the end of a stream that gave none, DamagedPicture with the packet's ordinal as pts.
  std::optional<TaggedFrame> next();
  /// Ordinal of the packet that is read next.
  std::int64_t position() const noexcept { return packets_.position() - (pending_ ? 1 : 0); }
  /// When the stream's first packet is decoded, once it was read; no_pts where it does not say.
  std::int64_t first_dts() const noexcept { return first_dts_; }
  /// See PacketCursor::told_end().
  std::int64_t told_end() const { return packets_.told_end(); }
  /// Every packet from the stream's first on was given since the decoder had no state.
  bool is_linear() const noexcept { return linear_; }
  /// Continues at the stream's first packet, with all state as after opening.
  void restart();
  /// Continues at packet `ordinal` of `table`, a place to start, with what `filter` leaves.
  void start_at(std::int64_t ordinal, const PacketTable& table, PacketFilter filter = {});
  /// Replaces the filter from here on.
  void set_filter(PacketFilter filter);
  /// next() throws Error{cancelled} at the next packet once one of the tokens is set.
  void set_stop(StopTokens stop) { stop_ = std::move(stop); }

private:
  std::optional<TaggedFrame> decode_next();
  std::optional<Packet> next_packet();
  void remember(const Packet& packet);
  std::optional<TaggedFrame> tag(Frame frame);
  void forget();

  struct Times {
    std::int64_t pts, duration;
    bool discard;
  };
  /// Null where they are not known, or no longer.
  const Times* times_of(std::int64_t ordinal) const;

  std::string name_;
  DecoderOptions options_;
  PacketCursor packets_;
  std::unique_ptr<Decoder> decoder_;
  PacketFilter filter_;
  StopTokens stop_;
  std::optional<Packet> pending_; ///< Read but not yet given to the decoder.
  std::deque<Times> times_;       ///< Of the newest packets, up to the last one read.
  std::int64_t first_dts_ = no_pts;
  bool drained_ = false, gave_frames_ = false, from_start_ = true, linear_ = true;
};

} // namespace lanner
