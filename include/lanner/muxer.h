#pragma once
// Packets in, containers out.
// Every noun of video is passive unless it says otherwise: it runs on the caller's thread, holds no thread of
// its own (codecs may, see DecoderOptions::threads) and is used by one thread at a time. Objects keep their
// source alive.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>

#include <lanner/demuxer.h>
#include <lanner/hdr.h>
#include <lanner/packet.h>

namespace lanner {

/// What is said of a file beside its streams.
struct MuxerOptions {
  std::string format; ///< FFmpeg's name of the container; empty: by the file's extension.
  /// MP4 and MOV in fragments, each of which begins with a keyframe: what was written can be played while the
  /// rest is not there yet. Without it the index is moved to the front (faststart) when the file is finished.
  bool fragmented = false;
  std::map<std::string, std::string> metadata; ///< Tags of the whole, like `title`.
};

/// Writes a container beside `path` and renames it on finish(); an object that dies before leaves nothing
/// behind.
class Muxer {
public:
  virtual ~Muxer() = default;
  virtual const std::string& format() const noexcept = 0; ///< FFmpeg's name: `mp4`, `matroska`.
  /// Whether this container keeps codec headers apart: what EncoderOptions::global_header must be.
  virtual bool wants_global_header() const noexcept = 0;
  /// Declares a stream before the first write; returns its index. `mirror`, `rotation` and `metadata` are
  /// written where the container has a place for them. Throws Error{invalid_argument} for
  /// H.264 and HEVC without the headers that this container keeps apart.
  virtual int add_stream(const StreamInfo& stream) = 0;
  /// Why packets of this stream of `from` cannot be copied into this container; empty where they can.
  virtual std::string refusal(const Demuxer& from, int stream) const = 0;
  /// Declares a stream whose packets are those of a demuxer, with all that its container says of it: tags,
  /// language, disposition, side data; an attachment has no packets. Returns its index; the time base of its
  /// packets is that of the demuxed stream. Throws Error{unsupported} where there is a refusal().
  virtual int copy_stream(const Demuxer& from, int stream) = 0;
  /// Takes over the chapters between two times of `from` in seconds; `begin` becomes 0. Returns how many
  /// there are; 0 where the container has no place for them.
  virtual int copy_chapters(const Demuxer& from, double begin, double end) = 0;
  /// Adds tags of the whole before the first write; an empty text removes one.
  virtual void set_metadata(const std::map<std::string, std::string>& metadata) = 0;
  /// Before the first write, of a stream that was added. False where the container has no place for it.
  virtual bool set_hdr(int stream, const HdrMetadata& hdr) = 0;
  /// Before the first write, of a stream that was added: pictures hold two fields. False as above.
  virtual bool set_interlaced(int stream, bool top_field_first) = 0;
  /// Takes a packet whose `stream` is the index given by add_stream and whose times are in that stream's time
  /// base. A container without a place for codec headers has them in front of each keyframe: of H.264, HEVC
  /// and MPEG-4 they are put there where the packet has none.
  virtual void write(const Packet& packet) = 0;
  virtual std::int64_t bytes() const noexcept = 0; ///< Written so far.
  virtual void finish() = 0;
};
std::unique_ptr<Muxer> create_muxer(const std::string& path, const std::string& format = {});
std::unique_ptr<Muxer> create_muxer(const std::string& path, const MuxerOptions& options);

/// Takes bytes in their order. What it throws ends the writing, and is thrown by the call that wrote.
using WriteCallback = std::function<void(std::span<const std::byte>)>;
/// Writes a container from its first byte to its last, as a pipe takes it: `format` is matroska, webm,
/// mpegts, mp4 and mov (in fragments), flv, mjpeg, h264 or hevc, else
/// Error{unsupported}. `name` is what errors call the output.
std::unique_ptr<Muxer> create_muxer(WriteCallback write, const std::string& format,
                                    const std::string& name = "output");

} // namespace lanner
