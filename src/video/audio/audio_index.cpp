#include "video/audio/audio_index.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "base/limits/limit_error.h"

namespace lanner {

namespace {

/// Of the distance between two entries.
constexpr double entry_seconds = 0.5;
/// Containers round times, so that those of consecutive blocks are off by so much.
constexpr double jitter_seconds = 0.02;
/// Damaged files may have one in every packet.
constexpr std::size_t most_damages = 10'000;

} // namespace

AudioIndex::AudioIndex(std::string name, Rational time_base, const Limits& limits)
    : name_(std::move(name)), time_base_(time_base), limits_(limits) {}

void AudioIndex::add(const AudioBlock& block, const std::optional<PacketPlace>& place) {
  if (sample_rate_ == 0) sample_rate_ = block.format.sample_rate;
  check(block.format.sample_rate == sample_rate_, ErrorCode::unsupported,
        "{}: the sample rate changes from {} to {} Hz at {:.3f} s; make a clip of one rate first: ffmpeg -i "
        "CLIP -ar {} OUT",
        name_, sample_rate_, block.format.sample_rate, seconds_at(static_cast<double>(samples_)),
        sample_rate_);
  check_limit("frames", blocks_.size() + 1, limits_.frames, "{}: {} blocks of audio", name_,
              blocks_.size() + 1);
  check_limit("total_bytes", bytes(), limits_.total_bytes, "{}: {} bytes of an index of audio", name_,
              bytes());
  add_run(block);
  if (place && place->pts != no_pts) add_entry(block, *place);
  blocks_.push_back({samples_, block.digest});
  samples_ += block.samples;
  furthest_ = std::max(furthest_, end_of_run(runs_.size() - 1));
}

void AudioIndex::add_run(const AudioBlock& block) {
  if (block.pts == no_pts || time_base_.den <= 0) {
    if (runs_.empty()) runs_.push_back({samples_, 0});
    return;
  }
  const double begin = seconds_of(block.pts, time_base_);
  const bool follows = !runs_.empty() && std::abs(begin - end_of_run(runs_.size() - 1)) <=
                                             jitter_seconds + 2 * time_base_.to_double();
  if (!follows) runs_.push_back({samples_, begin});
}

void AudioIndex::add_entry(const AudioBlock& block, const PacketPlace& place) {
  const bool far = entries_.empty() || static_cast<double>(samples_ - entries_.back().first) >=
                                           entry_seconds * block.format.sample_rate;
  if (far) entries_.push_back({blocks(), samples_, place});
}

void AudioIndex::add_damage(const std::string& text) {
  if (damages_.size() < most_damages) damages_.push_back({samples_, text});
}

std::uint64_t AudioIndex::bytes() const noexcept {
  return blocks_.capacity() * sizeof(Block) + entries_.capacity() * sizeof(Entry) +
         runs_.capacity() * sizeof(Run);
}

std::int64_t AudioIndex::end_of(std::int64_t number) const {
  return number + 1 < blocks() ? block(number + 1).first : samples_;
}

const AudioIndex::Entry* AudioIndex::entry_at(std::int64_t sample) const {
  const auto behind = std::ranges::upper_bound(entries_, sample, {}, &Entry::first);
  return behind == entries_.begin() ? nullptr : &*(behind - 1);
}

const std::string* AudioIndex::damage_in(std::int64_t begin, std::int64_t end) const {
  const auto found = std::ranges::lower_bound(damages_, begin, {}, &Damage::sample);
  return found != damages_.end() && found->sample < std::max(end, begin + 1) ? &found->text : nullptr;
}

double AudioIndex::end_of_run(std::size_t run) const {
  const std::int64_t end = run + 1 < runs_.size() ? runs_[run + 1].first : samples_;
  return runs_[run].begin + static_cast<double>(end - runs_[run].first) / sample_rate_;
}

bool AudioIndex::reaches(double seconds) const {
  return complete_ || seconds < furthest_;
}

double AudioIndex::sample_at(double seconds) const {
  for (std::size_t run = 0; run < runs_.size(); ++run) {
    if (seconds >= end_of_run(run)) continue;
    const auto first = static_cast<double>(runs_[run].first);
    return first + std::max(0.0, seconds - runs_[run].begin) * sample_rate_;
  }
  return static_cast<double>(samples_);
}

double AudioIndex::seconds_at(double sample) const {
  if (runs_.empty() || sample_rate_ == 0) return 0;
  auto run = std::ranges::upper_bound(runs_, sample, {},
                                      [](const Run& one) { return static_cast<double>(one.first); });
  if (run != runs_.begin()) --run;
  return run->begin + (sample - static_cast<double>(run->first)) / sample_rate_;
}

} // namespace lanner
