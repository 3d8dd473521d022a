#pragma once
// Demuxing: containers in, packets out.
// Objects of the video API are passive unless documented otherwise: they run on the caller's thread, own no
// threads (codecs may, see DecoderOptions::threads), are used by one thread at a time, and keep their source
// alive.

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
  /// Let playlists (HLS, DASH, concat) open further files. If false, opening any file but the source is an
  /// error.
  bool allow_nested_opens = false;
  std::string format; ///< FFmpeg's demuxer name; empty: detected by probing.
  CancelToken cancel;
};

/// Splits a container into packets.
class Demuxer {
public:
  virtual ~Demuxer() = default;
  virtual const std::string& format() const noexcept = 0; ///< `mov,mp4,m4a,...`.
  virtual const std::vector<StreamInfo>& streams() const noexcept = 0;
  virtual double duration() const noexcept = 0; ///< Seconds, 0 when unknown.
  /// Tags of the file, like `title`; those of a stream are in StreamInfo::metadata.
  virtual const std::map<std::string, std::string>& metadata() const noexcept = 0;
  /// The stream a player would show, -1 when there is none.
  virtual int best_video() const noexcept = 0;
  /// Reads only these streams from now on; the others are skipped where the container allows it.
  virtual void select(std::span<const int> streams) = 0;
  /// The next packet of any selected stream (all of them by default) in file order; nothing at the end.
  /// Throws Error{bad_data, cancelled}.
  virtual std::optional<Packet> next() = 0;
  /// What is missing, if next() found that the container ends early; else empty.
  virtual const std::string& damage() const noexcept = 0;
  /// Continues at the last keyframe of `stream` at or before `pts` (its ticks).
  virtual void seek(int stream, std::int64_t pts) = 0;
  /// Continues at byte `pos` (Packet::pos): for streams without timestamps. Throws Error{unsupported} for
  /// containers that cannot be read without their index tables.
  virtual void seek_to_byte(std::int64_t pos) = 0;
};
std::unique_ptr<Demuxer> open_demuxer(SourcePtr source, const DemuxerOptions& options = {});

} // namespace lanner
