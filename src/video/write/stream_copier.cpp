#include "video/write/stream_copier.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "video/write/stream_facts.h"

namespace lanner {

namespace {

using Tags = std::map<std::string, std::string>;

constexpr std::int64_t most_ticks = std::int64_t{1} << 60;
/// Packets that come so much too early are no new clock: containers round their timestamps.
constexpr double jitter_seconds = 0.5;
/// Of sound that comes too early: less is not noticed.
constexpr double shortest_told_seconds = 0.025;

/// Timestamps from a file may be any number.
std::int64_t sum_of(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  check(!__builtin_add_overflow(a, b, &sum) && sum != no_pts, ErrorCode::bad_data,
        "timestamp {} of a packet cannot be written", a);
  return sum;
}

/// What tells of how the old file was made, and not of its content.
bool is_of_the_file(const std::string& key) {
  constexpr std::string_view keys[] = {"major_brand", "minor_version", "compatible_brands", "encoder",
                                       "vendor_id",   "duration",      "handler_name"};
  const auto begins = [&](std::string_view word) { return std::string_view(key).starts_with(word); };
  std::string lower = key;
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return std::ranges::find(keys, lower) != std::end(keys) || begins("BPS") || begins("DURATION") ||
         begins("NUMBER_OF_") || begins("_STATISTICS");
}

Tags of_content(const Tags& all) {
  Tags kept;
  for (const auto& [key, value] : all)
    if (!is_of_the_file(key)) kept.emplace(key, value);
  return kept;
}

} // namespace

StreamCopier::StreamCopier(const CopiedStreams& copied, NoteCallback note)
    : copied_(copied), note_(std::move(note)), demuxer_(open_demuxer(copied.source, copied.demuxer)) {}

Tags StreamCopier::tags() const {
  return copied_.tags ? of_content(demuxer_->metadata()) : Tags();
}

Tags StreamCopier::stream_tags() const {
  const int video = demuxer_->best_video();
  if (!copied_.tags || video < 0) return {};
  return of_content(demuxer_->streams()[static_cast<std::size_t>(video)].metadata);
}

bool StreamCopier::wanted(const StreamInfo& stream, bool attached_picture) const {
  if (stream.kind == "audio") return copied_.audio;
  if (stream.kind == "subtitle") return copied_.subtitles;
  if (stream.kind == "attachment" || attached_picture) return copied_.attachments;
  return stream.index != demuxer_->best_video();
}

void StreamCopier::choose(const Muxer& muxer) {
  chosen_ = true;
  for (const StreamInfo& stream : demuxer_->streams()) {
    const StreamFacts facts = stream_facts(*demuxer_, stream.index);
    if (!wanted(stream, facts.attached_picture)) continue;
    const bool other_video = stream.kind == "video" && !facts.attached_picture;
    const std::string why_not =
        other_video ? "one video stream is written" : muxer.refusal(*demuxer_, stream.index);
    if (why_not.empty()) {
      streams_.push_back({.index = stream.index,
                          .cover = facts.attached_picture,
                          .subtitle = stream.kind == "subtitle",
                          .audio = stream.kind == "audio"});
      const std::string converted = muxer.converted_codec(*demuxer_, stream.index);
      if (note_ && !converted.empty())
        note_(fmt::format("stream {} ({} {}) is converted to {}: {} cannot hold it as it is", stream.index,
                          stream.kind, stream.codec, converted, muxer.format()));
      continue;
    }
    // Chapters of MP4 are a stream of data besides, which the muxer makes anew.
    const bool of_chapters = stream.kind == "data" && stream.codec == "bin_data" && facts.chapters > 0;
    if (note_ && !of_chapters)
      note_(fmt::format("stream {} ({} {}) is left out: {}", stream.index,
                        facts.attached_picture ? "cover picture" : stream.kind, stream.codec, why_not));
  }
  select_and_seek();
}

void StreamCopier::select_and_seek() {
  std::vector<int> indices;
  for (const Stream& stream : streams_) indices.push_back(stream.index);
  ended_ = indices.empty();
  if (ended_) return;
  demuxer_->select(indices);
  if (!copied_.begin || !(*copied_.begin > 0) || !copied_.source->seekable()) return;
  const auto timed = std::ranges::find_if(indices, [&](int index) {
    const StreamInfo& stream = demuxer_->streams()[static_cast<std::size_t>(index)];
    return stream.kind == "audio" && stream.time_base.den > 0;
  });
  // What lies before the part is needed of these: a subtitle may still be shown, a cover is at the beginning.
  const bool whole =
      std::ranges::any_of(streams_, [](const Stream& stream) { return stream.cover || stream.subtitle; });
  if (timed == indices.end() || whole) return;
  const Rational base = demuxer_->streams()[static_cast<std::size_t>(*timed)].time_base;
  const double ticks = *copied_.begin / base.to_double();
  if (std::abs(ticks) < 9e18) demuxer_->seek(*timed, std::llround(ticks));
}

void StreamCopier::declare(Muxer& muxer, double origin) {
  const bool first = !chosen_;
  origin_ = origin;
  format_ = muxer.format();
  if (first) choose(muxer);
  for (Stream& stream : streams_) {
    stream.target = muxer.copy_stream(*demuxer_, stream.index);
    stream.begun = false;
    stream.early = 0;
  }
  muxer.set_metadata(tags());
  const int chapters = stream_facts(*demuxer_, 0).chapters;
  if (!copied_.chapters || chapters == 0) return;
  const int kept = muxer.copy_chapters(*demuxer_, origin, copied_.end);
  if (first && kept == 0 && note_ && !copied_.begin)
    note_(fmt::format("{} chapters are left out: {} cannot hold them", chapters, muxer.format()));
}

const Rational& StreamCopier::time_base_of(const Packet& packet) const {
  return demuxer_->streams()[static_cast<std::size_t>(packet.stream)].time_base;
}

StreamCopier::Stream* StreamCopier::stream_of(const Packet& packet) {
  const auto found = std::ranges::find(streams_, packet.stream, &Stream::index);
  return found == streams_.end() ? nullptr : &*found;
}

/// Decoding times grow in a file; where those of a stream begin anew, they go on behind the packet before.
void StreamCopier::keep_growing(Stream& stream, Packet& packet) {
  if (packet.dts == no_pts) packet.dts = packet.pts;
  if (packet.dts == no_pts)
    packet.dts = stream.last == no_pts ? 0 : sum_of(sum_of(stream.last, stream.duration), -stream.shift);
  if (packet.pts == no_pts) packet.pts = packet.dts;
  const std::int64_t wait = sum_of(packet.pts, -packet.dts);
  std::int64_t dts = sum_of(packet.dts, stream.shift);
  if (stream.last != no_pts && dts <= stream.last) {
    const double back = seconds_of(sum_of(stream.last, -dts), time_base_of(packet));
    const std::int64_t behind =
        sum_of(stream.last, back < jitter_seconds ? 1 : std::max<std::int64_t>(1, stream.duration));
    if (back >= jitter_seconds) {
      stream.shift = sum_of(stream.shift, sum_of(behind, -dts));
      if (!std::exchange(stream.told, true) && note_)
        note_(fmt::format("stream {}: its timestamps start again; they continue after the previous packet",
                          stream.index));
    }
    dts = behind;
  }
  packet.dts = dts;
  packet.pts = sum_of(dts, wait);
  stream.last = dts;
  stream.duration = std::clamp<std::int64_t>(packet.duration, 0, most_ticks);
}

/// Whether the packet is in the part that is copied. What begins before it would be shown too early, but a
/// subtitle that is still on the screen is cut.
bool StreamCopier::belongs(const Stream& stream, Packet& packet) const {
  if (stream.cover) return true;
  const Rational& base = time_base_of(packet);
  const double time = seconds_of(packet.pts, base);
  if (time >= copied_.end) return false;
  if (!copied_.begin || time >= *copied_.begin - 1e-9) return true;
  const std::int64_t early = std::llround((*copied_.begin - time) / base.to_double());
  if (!stream.subtitle || packet.duration <= early) return false;
  packet.pts = sum_of(packet.pts, early);
  packet.dts = sum_of(packet.dts, early);
  packet.duration -= early;
  return true;
}

/// What an edit list, or the delay of an encoder, hides of the sound. MP4 and MOV can hide it again where it
/// is the beginning; elsewhere it would be heard, so it is left out but for the packet that decoders need for
/// the next one.
bool StreamCopier::hides(Stream& stream, Packet& packet) const {
  const bool mp4 = format_ == "mp4" || format_ == "mov" || format_ == "ipod";
  if (!stream.audio || !packet.discard || (mp4 && !stream.heard)) {
    stream.heard = stream.heard || !packet.discard;
    return false;
  }
  stream.hidden = std::move(packet);
  return true;
}

/// AVI has no times: each of its streams begins with the first picture.
bool StreamCopier::begins(Stream& stream, const Packet& packet) const {
  if (format_ != "avi" || !stream.audio || stream.begun) return true;
  const Rational& base = time_base_of(packet);
  const double time = seconds_of(packet.pts, base) - origin_, length = seconds_of(packet.duration, base);
  if (time + length / 2 < 0) {
    if (!packet.discard) stream.early += length;
    return false;
  }
  stream.begun = true;
  if (note_ && stream.early > length)
    note_(fmt::format("stream {}: {:.3f} s of its sound are left out, before the first picture: avi holds no "
                      "times",
                      stream.index, stream.early));
  if (note_ && time > std::max(length, shortest_told_seconds))
    note_(fmt::format("stream {}: its sound begins {:.3f} s after the first picture and is heard so much too "
                      "early: avi holds no times",
                      stream.index, time));
  return true;
}

void StreamCopier::take(Stream& stream, Packet packet) {
  keep_growing(stream, packet);
  if (!belongs(stream, packet) || !begins(stream, packet)) return;
  const double time =
      stream.cover ? -std::numeric_limits<double>::infinity() : seconds_of(packet.pts, time_base_of(packet));
  waiting_.push_back({std::move(packet), time});
}

/// Reads on to a packet that is to be written; false at the end.
bool StreamCopier::take_next() {
  while (waiting_.empty() && !ended_) {
    std::optional<Packet> packet = demuxer_->next();
    ended_ = !packet;
    if (ended_) break;
    Stream* stream = stream_of(*packet);
    if (!stream || hides(*stream, *packet)) continue;
    if (std::optional<Packet> hidden = std::exchange(stream->hidden, std::nullopt))
      take(*stream, std::move(*hidden));
    take(*stream, std::move(*packet));
  }
  return !waiting_.empty();
}

void StreamCopier::write(Muxer& muxer) {
  Packet packet = std::move(waiting_.front().packet);
  waiting_.pop_front();
  const Stream* stream = stream_of(packet);
  const double ticks = origin_ / time_base_of(packet).to_double();
  check(std::abs(ticks) < static_cast<double>(most_ticks), ErrorCode::bad_data,
        "stream {}: begins at {} ticks, which cannot be written", packet.stream, ticks);
  const std::int64_t begin = std::llround(ticks);
  packet.pts = stream->cover ? 0 : sum_of(packet.pts, -begin);
  packet.dts = stream->cover ? 0 : sum_of(packet.dts, -begin);
  packet.stream = stream->target;
  muxer.write(packet);
}

void StreamCopier::write_until(Muxer& muxer, double seconds) {
  while (take_next() && waiting_.front().time - origin_ < seconds) write(muxer);
}

void StreamCopier::write_rest(Muxer& muxer) {
  while (take_next()) write(muxer);
}

} // namespace lanner
