#pragma once
// The packets of one stream with their ordinals, from any of them on.

#include <functional>
#include <memory>
#include <optional>

#include <lanner/video_reader.h>

#include "video/index/packet_table.h"

namespace lanner {

/// Reads one stream of a source. One thread at a time; several cursors may share a source that itself may be
/// used by several threads (see shared_source.h).
class PacketCursor {
public:
  /// `raise_on_damage`: a container that ends early is Error{bad_data}.
  PacketCursor(SourcePtr source, const DemuxerOptions& options, int stream, bool raise_on_damage);

  const StreamInfo& stream() const noexcept { return stream_; }
  const Demuxer& demuxer() const noexcept { return *demuxer_; }
  /// Ordinal of the packet that next() gives.
  std::int64_t position() const noexcept { return position_; }
  std::optional<Packet> next();

  /// Continues at the stream's first packet.
  void restart();
  /// Continues at packet `ordinal` of `table`. Seeks where the container finds the way, else reads up to it:
  /// forwards from here where it lies ahead. Throws IndexContradicted where the table is not this stream's.
  void go_to(std::int64_t ordinal, const PacketTable& table);
  /// When the last picture is no longer shown, behind the last packet; no_pts where the container does not
  /// say, or not all of it could be read.
  std::int64_t told_end() const;
  /// All packets of the stream, before next() was called; this is the end then.
  PacketList read_list(const Control& control);

private:
  std::unique_ptr<Demuxer> new_demuxer() const;
  std::optional<Packet> stream_packet();
  bool seek_to(std::int64_t ordinal, const PacketTable& table);
  bool enter(std::int64_t ordinal, const PacketTable& table, const std::function<void()>& seek);
  bool is_near(std::int64_t ordinal, const PacketTable& table) const;
  void move_to(std::int64_t ordinal, const PacketTable& table);
  void read_up_to(std::int64_t ordinal);
  void expect_packet(std::int64_t ordinal, const PacketTable& table);

  SourcePtr source_;
  DemuxerOptions options_;
  bool raise_on_damage_;
  std::unique_ptr<Demuxer> demuxer_;
  StreamInfo stream_;
  std::int64_t position_ = 0;
  std::optional<Packet> pending_; ///< The packet at position_, read already.
  bool damaged_ = false;          ///< Reading ended at damage.
  bool lost_ = false;             ///< A seek was left in the middle: position_ means nothing.
  bool from_start_ = true;        ///< What was read came without a seek.
  bool seeks_fail_ = false;       ///< A seek has not found its packet: this container is read forwards.
};

} // namespace lanner
