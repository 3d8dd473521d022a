#pragma once
// Packets of a container that come into a file beside encoded pictures.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <lanner/demuxer.h>
#include <lanner/muxer.h>
#include <lanner/video_writer.h>

namespace lanner {

/// Reads its own demuxer, forward, as far as it is asked to. One thread at a time.
class StreamCopier {
public:
  /// Opens the source. Throws as open_demuxer().
  StreamCopier(const CopiedStreams& copied, NoteCallback note);

  /// Declares the streams, tags and chapters in a muxer to which nothing was written yet: the next segment.
  /// `origin`: seconds of this container's clock at 0 of the file. What is left out is told the first time.
  void declare(Muxer& muxer, double origin);
  /// Writes the packets of before `seconds` of the muxer's file.
  void write_until(Muxer& muxer, double seconds);
  /// All that are left.
  void write_rest(Muxer& muxer);
  /// Tags of the whole and of the main video stream.
  std::map<std::string, std::string> tags() const;
  std::map<std::string, std::string> stream_tags() const;

private:
  struct Stream {
    int index;          ///< In the demuxer.
    bool cover = false; ///< One picture without a time.
    bool subtitle = false;
    int target = -1;                          ///< In the muxer.
    std::int64_t last = no_pts, duration = 0; ///< Decoding time of the packet before, moved.
    std::int64_t shift = 0;                   ///< Of a clock that began anew.
    bool told = false;
  };
  void choose(const Muxer& muxer);
  bool wanted(const StreamInfo& stream, bool attached_picture) const;
  void select_and_seek();
  bool take_next();
  const Rational& time_base_of(const Packet& packet) const;
  Stream* stream_of(const Packet& packet);
  bool belongs(const Stream& stream, Packet& packet) const;
  void keep_growing(Stream& stream, Packet& packet);
  void write(Muxer& muxer);

  CopiedStreams copied_;
  NoteCallback note_;
  std::unique_ptr<Demuxer> demuxer_;
  std::vector<Stream> streams_;
  bool chosen_ = false, ended_ = false;
  double origin_ = 0;
  std::optional<Packet> waiting_; ///< Read, not yet written.
  double waiting_time_ = 0;       ///< On the container's clock, moved.
};

} // namespace lanner
