#pragma once
// All packets of one stream, and the frames that they give.

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include <lanner/cancel.h>
#include <lanner/demuxer.h>

#include "video/bitstream.h"

namespace lanner {

/// A packet without its bytes. Its place in PacketTable::packets is called its ordinal.
struct PacketEntry {
  std::int64_t pts = no_pts, dts = no_pts, duration = 0, pos = -1;
  std::uint64_t size = 0;
  EntryPoint start = EntryPoint::none;
  bool key = false;
  bool shown = true;
  bool corrupt = false;
};

/// Packets of one stream in file order.
struct PacketTable {
  int stream = 0;
  Rational time_base;
  std::vector<PacketEntry> packets;
  /// The ordinal of the packet that looks like `packet`, -1 when there is none or more than one.
  std::int64_t find(const Packet& packet);

private:
  std::unordered_map<std::uint64_t, std::int64_t> by_look_;
};

/// A frame of the stream: which packet it begins in, and its time.
struct ShownFrame {
  std::int64_t ordinal = 0;
  std::int64_t pts = no_pts, duration = 0;
};

/// The next packet. Damage that stops the container's reading ends the stream like its end, with a line in
/// the log, unless `raise_on_damage`.
std::optional<Packet> next_or_end(Demuxer& demuxer, bool raise_on_damage);

/// Reads what is left in `demuxer` of `stream`. Throws Error{limit_exceeded, cancelled, io}.
PacketTable read_packets(Demuxer& demuxer, int stream, const Limits& limits, const Control& control);

/// Whether the frames follow from the packets alone: every shown packet has a pts of its own, the first is a
/// place to start, none is damaged and none can be a single field.
bool frames_are_certain(const PacketTable& table, const StreamInfo& stream);

/// The frames by the packets' word, in presentation order: by pts, or in file order when one is missing.
std::vector<ShownFrame> predict_frames(const PacketTable& table);

/// Gives a frame without a time the previous one's end, where that is known.
void fill_missing_times(std::vector<ShownFrame>& frames);

} // namespace lanner
