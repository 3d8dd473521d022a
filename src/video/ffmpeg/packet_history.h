#pragma once
// Packets that a codec may have to decode once more.

#include <cstdint>
#include <deque>

#include "video/ffmpeg/av.h"

namespace lanner::ffmpeg {

// Note [Damage and threads]
// What FFmpeg's threads make of damage depends on who was faster: a thread that conceals has told the others
// before that its rows are done. So where a codec with threads speaks of an error, one without takes its
// place, decodes the packets so far again, leaves out what was given already, and goes on alone. A frame
// comes out of a codec after everything that it depends on was decoded, so none that an error touched has
// been given by then. What comes out is what one thread gives, in every run. Concealing draws on whatever was
// decoded before, across places where decoding may begin clean: so packets are kept from the beginning on,
// and only as many as memory is set apart for.

class PacketHistory {
public:
  struct Entry {
    std::int64_t mark; ///< The packet's number among those sent.
    PacketPtr packet;
    bool clean; ///< Decoding may begin here as if nothing had been before.
  };

  /// Keeps up to `bytes`.
  explicit PacketHistory(std::uint64_t bytes) : most_(bytes) {}
  /// The codec has no state: what comes next is the beginning.
  void clear();
  /// A packet was sent.
  void add(std::int64_t mark, const AVPacket& packet, bool clean);
  /// The frame that begins in packet `mark` was given.
  void gave(std::int64_t mark);
  /// Whether the packets begin where decoding may begin clean, and frames_given() tells their frames.
  bool complete() const noexcept { return complete_; }
  std::int64_t frames_given() const noexcept { return static_cast<std::int64_t>(given_.size()); }
  /// The packets, which are then no longer kept.
  std::deque<Entry> take();

private:
  bool shorten();

  std::uint64_t most_, bytes_ = 0;
  std::deque<Entry> entries_;
  std::deque<std::int64_t> given_; ///< Packets of the frames that were given.
  bool complete_ = true;
};

} // namespace lanner::ffmpeg
