#pragma once
// What was learnt of a stream by decoding it from its beginning on.

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <lanner/limits.h>
#include <lanner/packet.h>

#include "video/audio/audio_decoder.h"

namespace lanner {

/// Where a packet is.
struct PacketPlace {
  std::int64_t pts = no_pts, pos = -1;
  friend bool operator==(const PacketPlace&, const PacketPlace&) = default;
};

/// All blocks up to a sample, in the order of decoding. Samples count at the stream's own rate.
class AudioIndex {
public:
  struct Block {
    std::int64_t first;
    std::uint64_t digest;
  };
  /// A block that decoding may be led to.
  struct Entry {
    std::int64_t block, first;
    PacketPlace place;
  };

  AudioIndex(std::string name, Rational time_base, const Limits& limits);

  /// Appends a block; `place` is that of its packet. Throws Error{limit_exceeded, unsupported}.
  void add(const AudioBlock& block, const std::optional<PacketPlace>& place);
  void add_damage(const std::string& text);
  void complete() noexcept { complete_ = true; }

  std::int64_t samples() const noexcept { return samples_; }
  bool is_complete() const noexcept { return complete_; }
  std::uint64_t bytes() const noexcept;
  std::int64_t blocks() const noexcept { return static_cast<std::int64_t>(blocks_.size()); }
  const Block& block(std::int64_t number) const { return blocks_[static_cast<std::size_t>(number)]; }
  std::int64_t end_of(std::int64_t number) const;
  /// The last entry at or before a sample; null where there is none.
  const Entry* entry_at(std::int64_t sample) const;
  /// What is damaged within [begin, end); null for nothing.
  const std::string* damage_in(std::int64_t begin, std::int64_t end) const;

  /// Whether it is known which sample is heard at a time.
  bool reaches(double seconds) const;
  /// Of all that is known so far.
  double end_seconds() const noexcept { return furthest_; }
  /// That sample, between two at times: the first of the stream before its begin, the end behind it.
  double sample_at(double seconds) const;
  double seconds_at(double sample) const;

private:
  /// Samples that follow one another in time.
  struct Run {
    std::int64_t first;
    double begin; ///< Seconds.
  };
  struct Damage {
    std::int64_t sample;
    std::string text;
  };
  double end_of_run(std::size_t run) const;
  void add_run(const AudioBlock& block);
  void add_entry(const AudioBlock& block, const PacketPlace& place);

  std::string name_;
  Rational time_base_;
  Limits limits_;
  std::int32_t sample_rate_ = 0;
  std::vector<Block> blocks_;
  std::vector<Entry> entries_;
  std::vector<Run> runs_;
  std::vector<Damage> damages_;
  std::int64_t samples_ = 0;
  double furthest_ = -std::numeric_limits<double>::infinity(); ///< Of the ends of all runs.
  bool complete_ = false;
};

} // namespace lanner
