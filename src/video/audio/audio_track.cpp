#include "video/audio/audio_track.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "video/audio/audio_decoder.h"

namespace lanner {

namespace {

/// Of the first attempt.
constexpr int preroll_seconds = 2;
constexpr int preroll_growth = 4;

} // namespace

AudioTrack::AudioTrack(SourcePtr source, const DemuxerOptions& options, int stream, const Control* control)
    : source_(std::move(source)), options_(options), head_{AudioCursor(source_, options_, stream), {}},
      index_(source_->name(), head_.cursor.stream().time_base, options_.limits) {
  watch(control);
}

void AudioTrack::watch(const Control* control) noexcept {
  control_ = control;
  head_.cursor.watch(control);
  if (second_) second_->cursor.watch(control);
}

const AudioBlock* AudioTrack::first_block() {
  extend_to_sample(1);
  return first_block_ ? &*first_block_ : nullptr;
}

void AudioTrack::extend_to_sample(std::int64_t samples) {
  while (index_.samples() < samples && advance()) {
  }
}

void AudioTrack::extend_to_time(double seconds) {
  while (!index_.reaches(seconds) && advance()) {
  }
}

/// Decodes the head's next block; false at the end.
bool AudioTrack::advance() {
  if (index_.is_complete()) return false;
  std::optional<AudioBlock> block = head_.cursor.next();
  if (const std::string damage = head_.cursor.take_damage(); !damage.empty()) index_.add_damage(damage);
  if (!block) {
    index_.complete();
    return false;
  }
  const std::int64_t first = index_.samples();
  index_.add(*block, head_.cursor.place());
  if (!first_block_) first_block_ = *block;
  keep_recent(head_.recent, {first, std::move(*block)});
  return true;
}

void AudioTrack::keep_recent(std::deque<Placed>& recent, Placed placed) const {
  recent.push_back(std::move(placed));
  const std::int64_t wanted = recent.back().first - kept_samples_;
  while (recent.size() > 1 && recent.front().first + recent.front().block.samples <= wanted)
    recent.pop_front();
}

/// Among the blocks that are kept.
const AudioTrack::Placed* AudioTrack::find(std::int64_t sample) const {
  for (const Head* head : {&head_, second_ ? &*second_ : nullptr}) {
    if (!head) continue;
    for (const Placed& placed : head->recent)
      if (placed.first <= sample && sample < placed.first + placed.block.samples) return &placed;
  }
  return nullptr;
}

bool AudioTrack::read(std::int64_t begin, std::int64_t end, const Take& take) {
  for (std::int64_t at = begin; at < end;) {
    options_.cancel.check();
    const Placed* placed = find(at);
    if (!placed && at >= index_.samples()) {
      if (!advance()) return true;
      continue;
    }
    if (!placed) placed = decode_again(at);
    const std::int64_t stop = std::min(end, placed->first + placed->block.samples);
    if (!take(placed->block, at - placed->first, stop - at)) return false;
    at = stop;
  }
  return false;
}

/// The block with a sample behind the head.
const AudioTrack::Placed* AudioTrack::decode_again(std::int64_t sample) {
  if (!second_) {
    check(source_->seekable(), ErrorCode::unsupported,
          "{}: its audio comes once, as it cannot be read from its beginning again; expected a file or bytes",
          source_->name());
    second_.emplace(Head{AudioCursor(source_, options_, head_.cursor.stream().index), {}});
    second_->cursor.watch(control_);
    preroll_ = std::int64_t{preroll_seconds} * first_block_->format.sample_rate;
    next_block_ = 0;
    from_beginning_ = true;
  }
  if (!goes_on_to(sample)) lead_to(sample);
  while (true) {
    options_.cancel.check();
    if (!follow())
      lead_to(sample);
    else if (const Placed* placed = find(sample))
      return placed;
  }
}

/// Whether the second cursor comes to the sample sooner than by a seek, which decodes what is ahead, too.
bool AudioTrack::goes_on_to(std::int64_t sample) const {
  if (next_block_ < 0) return false;
  const std::int64_t at = next_block_ < index_.blocks() ? index_.block(next_block_).first : index_.samples();
  return at <= sample && sample - at <= 2 * preroll_;
}

/// Leads the second cursor to a block at or before the sample.
void AudioTrack::lead_to(std::int64_t sample) {
  second_->recent.clear();
  from_beginning_ = false;
  const AudioIndex::Entry* target = index_.entry_at(sample);
  const AudioIndex::Entry* from =
      target && target->first > preroll_ ? index_.entry_at(target->first - preroll_) : nullptr;
  if (from && from->block < target->block && second_->cursor.enter(from->place, target->place)) {
    next_block_ = target->block;
    return;
  }
  second_->cursor.restart();
  next_block_ = 0;
  from_beginning_ = true;
}

/// Decodes the second cursor's next block; false where it is not the one of the index.
bool AudioTrack::follow() {
  std::optional<AudioBlock> block = second_->cursor.next();
  static_cast<void>(second_->cursor.take_damage());
  const bool known = block && next_block_ < index_.blocks();
  const std::int64_t first = known ? index_.block(next_block_).first : 0;
  const bool as_long = known && index_.end_of(next_block_) - first == block->samples;
  check(as_long || !from_beginning_, ErrorCode::bad_data,
        "{}: decoding it again gives other samples; was it changed meanwhile?", source_->name());
  // A codec may be at odds with itself, over damage.
  if (!as_long || (!from_beginning_ && block->digest != index_.block(next_block_).digest)) {
    preroll_ *= preroll_growth;
    next_block_ = -1;
    return false;
  }
  keep_recent(second_->recent, {first, std::move(*block)});
  ++next_block_;
  return true;
}

} // namespace lanner
