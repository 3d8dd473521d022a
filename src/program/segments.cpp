#include "program/segments.h"

#include <algorithm>

namespace lanner {
namespace {

class SegmentMaker {
public:
  SegmentMaker(std::span<Step> steps, const StepOrder* order) : steps_(steps), order_(order) {}

  Segments run() {
    for (std::size_t s = 0; s < steps_.size(); ++s) {
      const bool recorded = is_recorded(steps_[s]);
      std::vector<Segment>& segments = made_.segments;
      if (segments.empty() || !recorded || !segments.back().recorded)
        segments.push_back({s, 0, steps_[s].on_stream, recorded});
      ++segments.back().steps;
    }
    if (order_) bind_waits();
    return std::move(made_);
  }

private:
  /// Event 0 is the beginning of each segment, the others are the ends of steps that are waited for.
  void bind_waits() {
    made_.events = 1;
    for (Segment& segment : made_.segments) {
      if (!segment.recorded) continue;
      for (std::size_t s = segment.first; s < segment.first + segment.steps; ++s) {
        Step& step = steps_[s];
        made_.streams = std::max(made_.streams, step.stream + 1);
        bind(s, step.first_wait, step.waits);
        segment.forks |= step.waits > 0 && made_.waits[step.first_wait] == 0;
      }
      bind(segment.first + segment.steps, segment.first_wait, segment.waits); // of the barrier after it
    }
  }

  void bind(std::size_t number, std::uint32_t& first, std::uint32_t& count) {
    first = static_cast<std::uint32_t>(made_.waits.size());
    for (const std::size_t before : order_->waits(number)) made_.waits.push_back(event_of(before));
    count = static_cast<std::uint32_t>(made_.waits.size()) - first;
  }

  std::uint32_t event_of(std::size_t step) {
    if (step == StepOrder::beginning) return 0;
    std::uint32_t& event = steps_[step].event;
    if (event == 0) event = made_.events++;
    return event;
  }

  std::span<Step> steps_;
  const StepOrder* order_;
  Segments made_;
};

class DeviceSegmentMaker {
public:
  DeviceSegmentMaker(std::span<const Step> steps, const StepOrder& order) : steps_(steps), order_(order) {}

  Segments run() {
    made_.events = 1; // the beginning of the run
    for (std::size_t s = 0; s < steps_.size(); ++s) {
      if (begins_segment(s)) begin(s, steps_[s].on_stream, is_recorded(steps_[s]), steps_[s].stream);
      ++made_.segments.back().steps;
      segment_of_.push_back(made_.segments.size() - 1);
    }
    begin(steps_.size(), true, false, 0);
    return std::move(made_);
  }

private:
  bool begins_segment(std::size_t s) const {
    if (made_.segments.empty() || !is_recorded(steps_[s]) || !order_.waits(s).empty()) return true;
    const Segment& last = made_.segments.back();
    return !last.recorded || last.stream != steps_[s].stream;
  }

  void begin(std::size_t s, bool on_stream, bool recorded, int stream) {
    Segment segment{s, 0, on_stream, recorded};
    segment.stream = stream;
    segment.first_before = static_cast<std::uint32_t>(made_.waits.size());
    for (const std::size_t before : order_.waits(s)) made_.waits.push_back(event_of(before));
    segment.before = static_cast<std::uint32_t>(made_.waits.size()) - segment.first_before;
    made_.segments.push_back(segment);
  }

  std::uint32_t event_of(std::size_t step) {
    if (step == StepOrder::beginning) return 0;
    std::uint32_t& event = made_.segments[segment_of_[step]].event;
    if (event == 0) event = made_.events++;
    return event;
  }

  std::span<const Step> steps_;
  const StepOrder& order_;
  Segments made_;
  std::vector<std::size_t> segment_of_; ///< By step.
};

} // namespace

bool is_recorded(const Step& step) {
  return step.kernel && step.kernel->recordable();
}

Segments make_segments(std::span<Step> steps, const StepOrder* order) {
  return SegmentMaker(steps, order).run();
}

Segments make_device_segments(std::span<const Step> steps, const StepOrder& order) {
  return DeviceSegmentMaker(steps, order).run();
}

} // namespace lanner
