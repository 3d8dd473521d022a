#include "video/video_facts.h"

#include <cmath>

#include <fmt/format.h>

#include "engine/notebook.h"

namespace lanner::python {

VideoFacts facts_of(const StreamInfo& stream, bool rotate) {
  VideoFacts facts;
  facts.stream = stream;
  facts.width = stream.width, facts.height = stream.height;
  if (rotate && std::lround(stream.rotation / 90) % 2 != 0) std::swap(facts.width, facts.height);
  facts.metadata = stream.metadata;
  return facts;
}

void VideoFacts::add(const Demuxer& demuxer) {
  container_seconds = demuxer.duration();
  for (const auto& [key, value] : demuxer.metadata()) metadata.emplace(key, value);
}

void VideoFacts::measure(const StreamIndex& index) {
  std::int64_t begin = INT64_MAX, end = INT64_MIN;
  for (const IndexEntry& frame : index.frames) {
    std::int64_t shown_to = 0;
    if (frame.pts == no_pts || __builtin_add_overflow(frame.pts, frame.duration, &shown_to)) continue;
    begin = std::min(begin, frame.pts);
    end = std::max(end, shown_to);
  }
  std::int64_t ticks = 0;
  if (begin >= end || __builtin_sub_overflow(end, begin, &ticks) || index.time_base.den == 0) return;
  measured_seconds = seconds_of(ticks, index.time_base);
  const auto frames = static_cast<double>(index.frames.size());
  measured_rate = frames / *measured_seconds;
  // Times are rounded to ticks: a rate of the container that they do not contradict is the exact one.
  const double told = stream.average_rate.to_double();
  if (std::abs(told * *measured_seconds - frames) < 0.5 + frames / 2000) measured_rate = told;
}

std::optional<double> VideoFacts::fps() const {
  if (measured_rate) return measured_rate;
  const double rate = stream.average_rate.to_double();
  return rate > 0 ? std::optional(rate) : std::nullopt;
}

std::optional<double> VideoFacts::duration() const {
  if (measured_seconds) return measured_seconds;
  if (stream.duration > 0 && stream.time_base.den > 0) return seconds_of(stream.duration, stream.time_base);
  return container_seconds > 0 ? std::optional(container_seconds) : std::nullopt;
}

std::string VideoFacts::line(std::string_view noun, bool closed) const {
  std::string text = fmt::format("lanner.{}({}x{} {}", noun, width, height, stream.codec);
  if (const auto rate = fps()) text += fmt::format(", {:.6g} fps", *rate);
  if (const auto seconds = duration()) text += fmt::format(", {:.2f} s", *seconds);
  return text + (closed ? ", closed)" : ", " + decoder + ")");
}

nb::object VideoFacts::html(std::string_view noun, bool closed, std::string_view picture) const {
  Rows rows{{"size", fmt::format("{} x {}", width, height)}, {"codec", stream.codec}};
  if (!stream.native_format.empty()) rows.emplace_back("format", stream.native_format);
  if (const auto rate = fps()) rows.emplace_back("frames per second", fmt::format("{:.6g}", *rate));
  if (const auto seconds = duration()) rows.emplace_back("duration", fmt::format("{:.2f} s", *seconds));
  if (stream.mirror) rows.emplace_back("mirrored", "left to right");
  if (stream.rotation != 0) rows.emplace_back("rotation", fmt::format("{:g} degrees", stream.rotation));
  rows.emplace_back("decoder", closed ? "closed" : decoder);
  // Others are of how the file is made.
  for (const char* key : {"title", "artist", "date", "creation_time", "description", "comment", "copyright"})
    if (const auto found = metadata.find(key); found != metadata.end()) rows.push_back(*found);
  return html_table(noun, "", rows, picture);
}

nb::object pts_or_none(std::int64_t pts) {
  return pts == no_pts ? nb::none() : nb::cast(pts);
}

} // namespace lanner::python
