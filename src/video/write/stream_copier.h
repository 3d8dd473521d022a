#pragma once
// Copies packets of a container into a file next to the pictures that are encoded for it.

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <lanner/demuxer.h>
#include <lanner/muxer.h>
#include <lanner/video_writer.h>

namespace lanner {

/// Reads its own demuxer, forward, only as far as it has to write. One thread at a time.
class StreamCopier {
public:
  /// Opens the source. Throws as open_demuxer().
  StreamCopier(const CopiedStreams& copied, NoteCallback note);

  /// Declares the streams, tags and chapters in a muxer to which nothing was written yet: the next segment.
  /// `origin`: the container's time, in seconds, at time 0 of the file. The first call notes what is left
  /// out.
  void declare(Muxer& muxer, double origin);
  /// Writes the packets with times before `seconds`, in the file's time.
  void write_until(Muxer& muxer, double seconds);
  /// Writes all packets that are left.
  void write_rest(Muxer& muxer);
  /// Tags of the container, and of its main video stream.
  std::map<std::string, std::string> tags() const;
  std::map<std::string, std::string> stream_tags() const;

private:
  struct Stream {
    int index;          ///< In the demuxer.
    bool cover = false; ///< One picture without a time.
    bool subtitle = false, audio = false;
    int target = -1;                          ///< In the muxer.
    std::int64_t last = no_pts, duration = 0; ///< Of the packet before: shifted decoding time, duration.
    std::int64_t shift = 0;                   ///< Added to times after the container's clock restarted.
    bool told = false;                        ///< A restart of its clock was noted.
    bool heard = false;                       ///< A packet came that the container does not hide.
    std::optional<Packet> hidden{};           ///< The last one in front of what is heard.
    bool begun = false;                       ///< The file has a packet of it.
    double early = 0;                         ///< Seconds that were left out in front of the first picture.
  };
  void choose(const Muxer& muxer);
  bool wanted(const StreamInfo& stream, bool attached_picture) const;
  void select_and_seek();
  bool take_next();
  const Rational& time_base_of(const Packet& packet) const;
  Stream* stream_of(const Packet& packet);
  bool belongs(const Stream& stream, Packet& packet) const;
  bool hides(Stream& stream, Packet& packet) const;
  bool begins(Stream& stream, const Packet& packet) const;
  void take(Stream& stream, Packet packet);
  void keep_growing(Stream& stream, Packet& packet);
  void write(Muxer& muxer);

  CopiedStreams copied_;
  NoteCallback note_;
  std::unique_ptr<Demuxer> demuxer_;
  std::vector<Stream> streams_;
  bool chosen_ = false, ended_ = false;
  double origin_ = 0;
  std::string format_; ///< Of the muxer.
  struct Waiting {
    Packet packet;
    double time; ///< On the container's clock, shifted.
  };
  std::deque<Waiting> waiting_; ///< Read, not yet written.
};

} // namespace lanner
