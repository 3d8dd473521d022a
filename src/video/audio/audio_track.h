#pragma once
// Any range of a stream's samples, at its own rate, as decoding from the beginning gives them.

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <lanner/cancel.h>

#include "video/audio/audio_cursor.h"
#include "video/audio/audio_index.h"

namespace lanner {

// Note [Exact audio]
// Audio decoders keep state: overlapping windows, a bit reservoir, filters, generators of noise. Decoding
// that begins in the middle gives other samples at first, for how long depends on codec and encoder, and with
// AAC's noise substitution or AC-3's dither for ever. Containers besides number samples only as exactly as
// their times are rounded. So a first cursor, the head, only goes forward from the beginning. What it decodes
// is right by definition, and of each block its first sample and a digest are kept in the index. A range
// behind the head is decoded by a second cursor, which seeks to an entry some time ahead of it and compares
// each block with the index before it is used. Where a digest differs, it seeks again from farther ahead,
// four times as far each time, in the end from the beginning.

class AudioTrack {
public:
  /// `stream`: -1 takes best_audio(). `control`: as of watch().
  AudioTrack(SourcePtr source, const DemuxerOptions& options, int stream, const Control* control);

  const StreamInfo& stream() const noexcept { return head_.cursor.stream(); }
  const Demuxer& demuxer() const noexcept { return head_.cursor.demuxer(); }
  const AudioIndex& index() const noexcept { return index_; }

  /// The first block, whose format is the stream's; null where there is none. It stays until the end.
  const AudioBlock* first_block();
  /// Decodes until the index reaches `samples`, or `seconds`, or the end.
  void extend_to_sample(std::int64_t samples);
  void extend_to_time(double seconds);
  /// Reports to it from now on; null: to nobody. It outlives the calls.
  void watch(const Control* control) noexcept;
  /// Keeps so many samples before each place, for ranges that overlap the one before.
  void keep(std::int64_t samples) { kept_samples_ = samples; }

  /// Receives `count` samples of a block from `first` on; false: no more are wanted.
  using Take = std::function<bool(const AudioBlock& block, std::int64_t first, std::int64_t count)>;
  /// Gives the samples of [begin, end) in order. True where the stream ended before `end`.
  bool read(std::int64_t begin, std::int64_t end, const Take& take);

private:
  struct Placed {
    std::int64_t first;
    AudioBlock block;
  };
  /// A cursor, and the blocks that it gave last.
  struct Head {
    AudioCursor cursor;
    std::deque<Placed> recent;
  };
  bool advance();
  const Placed* find(std::int64_t sample) const;
  const Placed* decode_again(std::int64_t sample);
  bool goes_on_to(std::int64_t sample) const;
  void lead_to(std::int64_t sample);
  bool follow();
  void keep_recent(std::deque<Placed>& recent, Placed placed) const;

  SourcePtr source_;
  DemuxerOptions options_;
  Head head_;
  AudioIndex index_;
  std::optional<AudioBlock> first_block_;
  std::optional<Head> second_;
  std::int64_t next_block_ = -1; ///< Number of the one that the second cursor gives next, -1: not known.
  std::int64_t preroll_ = 0;     ///< Samples that decoding begins ahead.
  bool from_beginning_ = false;  ///< The second cursor was led by no seek.
  std::int64_t kept_samples_ = 0;
  const Control* control_ = nullptr;
};

} // namespace lanner
