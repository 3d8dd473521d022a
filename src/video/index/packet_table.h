#pragma once
// All packets of one stream, and the frames that they give.

#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <lanner/cancel.h>
#include <lanner/demuxer.h>

#include "video/bitstream/bitstream.h"

namespace lanner {

/// The source does not give the packets, or decoding the frames, that the index foretells.
class IndexContradicted final : public std::exception {
public:
  const char* what() const noexcept override { return "the index does not hold"; }
};

/// A packet without its bytes. Its place in PacketTable is called its ordinal.
struct PacketEntry {
  std::int64_t pts = no_pts, dts = no_pts, duration = 0, pos = -1;
  std::uint32_t size = 0;
  EntryPoint start = EntryPoint::none;
  bool key = false;
  bool shown = true;
  bool corrupt = false;
  bool disposable = false; ///< No other picture of the stream depends on it.
  bool delayed = false;    ///< See PacketTraits::delayed.
  friend bool operator==(const PacketEntry&, const PacketEntry&) = default;
};

/// Whether decoding that begins at the packet gives exact frames.
constexpr bool is_exact(EntryPoint entry) noexcept {
  return entry != EntryPoint::none && entry != EntryPoint::inexact;
}

/// Packets of one stream in file order. Immutable: any number of threads may use one.
class PacketTable {
public:
  explicit PacketTable(std::vector<PacketEntry> packets) : packets_(std::move(packets)) {}

  std::int64_t size() const noexcept { return static_cast<std::int64_t>(packets_.size()); }
  const std::vector<PacketEntry>& packets() const noexcept { return packets_; }
  const PacketEntry& operator[](std::int64_t ordinal) const {
    return packets_[static_cast<std::size_t>(ordinal)];
  }
  /// The ordinal of the packet that looks like `packet`, -1 when there is none or more than one.
  std::int64_t find(const Packet& packet) const;

private:
  std::vector<PacketEntry> packets_;
  mutable std::once_flag sorted_;
  mutable std::vector<std::pair<std::uint64_t, std::int64_t>> by_look_; ///< Only finding needs it.
};

/// A frame of the stream: which packet it begins in, and its time.
struct ShownFrame {
  std::int64_t ordinal = 0;
  std::int64_t pts = no_pts, duration = 0;
  friend bool operator==(const ShownFrame&, const ShownFrame&) = default;
};

/// The next packet. Damage that stops the container's reading ends the stream like its end, with a line in
/// the log, unless `raise_on_damage`, and sets `damaged`.
std::optional<Packet> next_or_end(Demuxer& demuxer, bool raise_on_damage, bool& damaged);

struct PacketList {
  std::vector<PacketEntry> packets;
  /// Whether the frames follow from the packets alone: every shown packet has a pts of its own that agrees
  /// with the order of the pictures, decoding can begin at the first and shows what lies around it, none is
  /// damaged and none can be a single field, share its picture with others or be without one.
  bool frames_are_certain = false;
  bool damaged = false; ///< Reading ended at damage.
};
/// Reads what is left in `demuxer` of `stream`. Throws Error{limit_exceeded, cancelled, io}.
PacketList read_packets(Demuxer& demuxer, int stream, const Limits& limits, const Control& control);

/// The frames by the packets' word, in presentation order: by pts, or in file order when one is missing.
std::vector<ShownFrame> predict_frames(const std::vector<PacketEntry>& packets);

/// Gives a frame without a time the previous one's end, where that is known, else the next one's begin less
/// its own duration. Where none of the first frames_for_a_time has a time (H.264 in AVI, whose packets tell
/// when they are decoded alone), frames follow one another from `first_dts` on, that of the first packet.
void fill_missing_times(std::vector<ShownFrame>& frames, std::int64_t first_dts);
inline constexpr std::size_t frames_for_a_time = 8;
/// How long a frame is shown that begins at `pts` with the next one at `next`; `told` where either is not
/// known or they do not rise.
std::int64_t shown_for(std::int64_t pts, std::int64_t next, std::int64_t told);
/// How long the last frame is shown that begins at `pts`, where the container says that the stream ends at
/// `end`; `told` where it does not, or rounds it to milliseconds.
std::int64_t shown_until(std::int64_t pts, std::int64_t end, std::int64_t told, const Rational& time_base);
/// Gives the packet of the last frame its duration by the end of the stream.
void show_until(std::vector<PacketEntry>& packets, std::int64_t end, const Rational& time_base);
/// When a frame of that duration begins whose end is at `next`; no_pts where either is not known.
std::int64_t begin_before(std::int64_t next, std::int64_t duration);

} // namespace lanner
