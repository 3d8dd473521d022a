#pragma once
// One way through a stream of audio: a demuxer, a decoder, and the place that they are at.

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include <lanner/cancel.h>
#include <lanner/demuxer.h>
#include <lanner/source.h>

#include "video/audio/audio_decoder.h"
#include "video/audio/audio_index.h"

namespace lanner {

class AudioCursor {
public:
  /// Opens the source, at the first packet. `stream`: -1 takes best_audio().
  AudioCursor(SourcePtr source, const DemuxerOptions& options, int stream);

  const Demuxer& demuxer() const noexcept { return *demuxer_; }
  const StreamInfo& stream() const noexcept { return demuxer_->streams()[static_cast<std::size_t>(stream_)]; }

  /// Reports packets to it from now on; null: to nobody. It outlives the calls.
  void watch(const Control* control) noexcept { control_ = control; }
  /// The next block; nothing at the end, and from then on.
  std::optional<AudioBlock> next();
  /// Of the packet that the block begins in, for the block that next() gave last.
  std::optional<PacketPlace> place() const noexcept { return place_; }
  /// What could not be read or decoded since the last call; empty for nothing.
  std::string take_damage();

  /// Opens the source anew, at the first packet.
  void restart();
  /// Decodes from the packet at `from` on, up to the block that begins in the packet at `target`, which is
  /// later and becomes the next one. False where it is not found; the cursor must be restarted then.
  bool enter(const PacketPlace& from, const PacketPlace& target);

private:
  struct Sent {
    std::int64_t number;
    PacketPlace place;
  };
  void open(int stream);
  std::optional<AudioBlock> decode();
  void feed();
  void send(const Packet& packet);
  std::optional<Packet> read();
  bool enter_by(const PacketPlace& from, const PacketPlace& target);
  bool go_to(const PacketPlace& from);
  std::optional<PacketPlace> place_of(std::int64_t packet);

  SourcePtr source_;
  DemuxerOptions options_;
  int stream_ = -1;
  std::unique_ptr<Demuxer> demuxer_;
  std::unique_ptr<AudioDecoder> decoder_;
  std::int64_t packets_ = 0; ///< Sent so far.
  std::deque<Sent> sent_;    ///< Those that blocks are still to come of.
  std::optional<Packet> waiting_;
  std::optional<AudioBlock> entered_; ///< The next block.
  std::optional<PacketPlace> place_, target_;
  std::int64_t last_packet_ = 0;   ///< Of the block before.
  std::int64_t target_packet_ = 0; ///< Number of the packet at `target_`, once it was sent.
  bool by_byte_ = false;           ///< How the last seek went.
  bool ended_ = false;
  std::string damage_;
  const Control* control_ = nullptr;
};

} // namespace lanner
