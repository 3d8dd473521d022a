#pragma once
// Packets in, containers out.
// Objects of the video API are passive unless documented otherwise: they run on the caller's thread, own no
// threads (codecs may, see DecoderOptions::threads), are used by one thread at a time, and keep their source
// alive.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include <lanner/demuxer.h>
#include <lanner/hdr.h>
#include <lanner/packet.h>

namespace lanner {

/// Settings of a file as a whole.
struct MuxerOptions {
  std::string format; ///< FFmpeg's name of the container; empty: by the file's extension.
  /// MP4 and MOV in fragments that begin with keyframes: what was written can be played while the rest is
  /// still missing. If false, finish() moves the index to the front (faststart).
  bool fragmented = false;
  std::map<std::string, std::string> metadata; ///< Tags of the file, like `title`.
  /// How often an animation (GIF, APNG, WebP) is played; 0: without end. Unset: without end. Set for another
  /// container it is Error{invalid_argument}.
  std::optional<int> plays;
};

/// Writes a temporary file beside `path` and renames it on finish(); if destroyed before that, it leaves no
/// file.
class Muxer {
public:
  virtual ~Muxer() = default;
  virtual const std::string& format() const noexcept = 0; ///< FFmpeg's name: `mp4`, `matroska`.
  /// Whether this container stores codec headers apart from packets: the value for
  /// EncoderOptions::global_header.
  virtual bool wants_global_header() const noexcept = 0;
  /// Declares a stream before the first write; returns its index. `mirror`, `rotation` and `metadata` are
  /// written if the container has a place for them. Throws Error{unsupported} for codecs that it lacks,
  /// Error{invalid_argument} for H.264 and HEVC streams without extradata if wants_global_header().
  virtual int add_stream(const StreamInfo& stream) = 0;
  /// Why this stream of `from` cannot be copied into this container, nor converted; empty where it can.
  virtual std::string refusal(const Demuxer& from, int stream) const = 0;
  /// The codec (`mov_text`) that copy_stream() converts this stream of text subtitles to, whose own codec the
  /// container cannot hold; empty where packets are copied as they are.
  virtual std::string converted_codec(const Demuxer& from, int stream) const = 0;
  /// Declares a stream to copy from a demuxer, with its tags, language, disposition and side data; an
  /// attachment has no packets. Returns the new stream's index; the times of its packets are in the time base
  /// of the demuxed stream. Throws Error{unsupported} with the text of refusal() if that is not empty.
  virtual int copy_stream(const Demuxer& from, int stream) = 0;
  /// Copies the chapters between two times of `from`, in seconds, shifted so that `begin` becomes 0. Returns
  /// how many were copied: 0 if the container has no place for them.
  virtual int copy_chapters(const Demuxer& from, double begin, double end) = 0;
  /// Adds tags of the file, before the first write; an empty value removes a tag.
  virtual void set_metadata(const std::map<std::string, std::string>& metadata) = 0;
  /// Sets a stream's HDR metadata, before the first write. False if the container has no place for it.
  virtual bool set_hdr(int stream, const HdrMetadata& hdr) = 0;
  /// Marks a stream as interlaced, before the first write. False if the container has no place for it.
  virtual bool set_interlaced(int stream, bool top_field_first) = 0;
  /// Sets MuxerOptions::plays, before the first write. False if the container is no animation. Throws
  /// Error{invalid_argument} for a number outside of 0 to 65535.
  virtual bool set_plays(int plays) = 0;
  /// Takes a packet of stream `stream`, as add_stream() numbers it, in decoding order, with times in its time
  /// base: the pts if the container has times, and the dts; without a dts the pts in order. In a container
  /// with no place for codec headers those of H.264, HEVC and MPEG-4 are put in front of each keyframe that
  /// lacks them.
  virtual void write(const Packet& packet) = 0;
  virtual std::int64_t bytes() const noexcept = 0; ///< Written so far.
  /// Writes all that is missing of the file, which keeps its temporary name until finish(): several files can
  /// so be completed before one of them replaces another. Nothing can be written any more.
  virtual void complete() = 0;
  virtual void finish() = 0; ///< Completes the file, unless complete() did, and renames it to its final name.
};
std::unique_ptr<Muxer> create_muxer(const std::string& path, const std::string& format = {});
std::unique_ptr<Muxer> create_muxer(const std::string& path, const MuxerOptions& options);

/// Receives the bytes in order. An exception that it throws ends the writing, and the muxer's call rethrows
/// it.
using WriteCallback = std::function<void(std::span<const std::byte>)>;
/// Writes a container without seeking, as for a pipe: `format` is matroska, webm, mpegts, mp4 and mov (in
/// fragments), flv, gif, mjpeg, h264, hevc or obu; others are Error{unsupported}. `name` is the output's name
/// in errors.
std::unique_ptr<Muxer> create_muxer(WriteCallback write, const std::string& format,
                                    const std::string& name = "output");

} // namespace lanner
