#include "report/recorder.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "report/page_parts.h"

namespace lanner::tool {
namespace {

constexpr std::size_t max_frames = 12;
constexpr int max_stretches = 240;
constexpr std::size_t max_times = 20'000;

std::string caption_of(const PictureAnswers& picture, TaskKind kind) {
  if (has_boxes(kind))
    return picture.answers.size() == 1 ? "1 detection" : fmt::format("{} detections", picture.answers.size());
  return picture.answers.empty()
             ? std::string()
             : fmt::format("{} {:.1f} %", picture.answers[0].label, picture.answers[0].score * 100);
}

} // namespace

void Recorder::keep(const PictureAnswers& picture, TaskKind kind, const Image& input, const Image& result) {
  frames_.push_back({picture.source, caption_of(picture, kind), picture.still ? -1 : picture.frame, next_,
                     to_jpeg(input), to_jpeg(result)});
}

// Longer runs have longer intervals.
void Recorder::count_done(double now) {
  std::vector<std::int64_t>& done = throughput_.done;
  while (now >= throughput_.stretch * max_stretches) {
    for (std::size_t i = 0; i < done.size(); ++i) {
      const std::int64_t count = std::exchange(done[i], 0);
      done[i / 2] += count;
    }
    done.resize((done.size() + 1) / 2);
    throughput_.stretch *= 2;
  }
  const auto place = static_cast<std::size_t>(now / throughput_.stretch);
  if (place >= done.size()) done.resize(place + 1);
  ++done[place];
  throughput_.end = now;
}

void Recorder::count(const FrameTimes& times) {
  count_done(trace_.now());
  if (times_.size() < max_times) times_.push_back(times);
  ++next_;
  if (frames_.size() <= max_frames) return;
  step_ *= 2;
  std::erase_if(frames_, [this](const ShownFrame& frame) { return frame.number % step_ != 0; });
}

void Recorder::take_profile(const Context& context) {
  arena_bytes_ = std::max(arena_bytes_, context.arena_bytes());
  profile_ = context.profile();
}

} // namespace lanner::tool
