#pragma once
// Containers, taken apart.
// Every noun of video is passive unless it says otherwise: it runs on the caller's thread, holds no thread of
// its own (codecs may, see DecoderOptions::threads) and is used by one thread at a time. Objects keep their
// source alive.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <lanner/cancel.h>
#include <lanner/limits.h>
#include <lanner/packet.h>
#include <lanner/source.h>

namespace lanner {

struct DemuxerOptions {
  Limits limits;
  /// Playlists (HLS, DASH, concat) may open further files. Off: every open besides the source is refused.
  bool allow_nested_opens = false;
  std::string format; ///< FFmpeg's demuxer name; empty probes.
  CancelToken cancel;
};

/// Splits a container into packets.
class Demuxer {
public:
  virtual ~Demuxer() = default;
  virtual const std::string& format() const noexcept = 0; ///< `mov,mp4,m4a,...`.
  virtual const std::vector<StreamInfo>& streams() const noexcept = 0;
  virtual double duration() const noexcept = 0; ///< Seconds, 0 when unknown.
  /// What the container says of the whole, like `title`; of a stream it is in StreamInfo::metadata.
  virtual const std::map<std::string, std::string>& metadata() const noexcept = 0;
  /// The stream a player would show, -1 when there is none.
  virtual int best_video() const noexcept = 0;
  /// Reads only these streams from now on; the others are skipped where the container allows it.
  virtual void select(std::span<const int> streams) = 0;
  /// The next packet of any selected stream (all of them by default) in file order; nothing at the end.
  /// Throws Error{bad_data, cancelled}.
  virtual std::optional<Packet> next() = 0;
  /// What next() found missing when the container ended early; empty while nothing is known to be.
  virtual const std::string& damage() const noexcept = 0;
  /// Continues at the last keyframe of `stream` at or before `pts` (its ticks).
  virtual void seek(int stream, std::int64_t pts) = 0;
  /// Continues with what begins at byte `pos` (Packet::pos): the way in streams without timestamps. Throws
  /// Error{unsupported} for containers that can only be entered through their tables.
  virtual void seek_to_byte(std::int64_t pos) = 0;
};
std::unique_ptr<Demuxer> open_demuxer(SourcePtr source, const DemuxerOptions& options = {});

} // namespace lanner
