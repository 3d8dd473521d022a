#pragma once
// Collects the data of a run for its report.

#include <cstdint>
#include <string>
#include <vector>

#include <lanner/engine.h>
#include <lanner/trace.h>

#include "commands/stages.h"
#include "output/answer_lines.h"

namespace lanner::tool {

/// A picture shown in the report: a JPEG small enough for a page.
struct ShownFrame {
  std::string source, caption;
  std::int64_t frame = 0;
  std::int64_t number = 0; ///< Index among all pictures of the run.
  std::vector<std::byte> input, result;
};

/// Collects pictures, times and profiles during a run, in bounded memory.
class Recorder {
public:
  Recorder() : trace_(Trace::create(1 << 18)) {}

  const Trace& trace() const { return trace_; }
  /// Whether the next picture is one to show. They are evenly spaced, however long the run is: when there are
  /// too many, every second one is dropped and the step doubled.
  bool wants_next() const { return next_ % step_ == 0; }
  /// Stores the next picture; count() follows.
  void keep(const PictureAnswers& picture, TaskKind kind, const Image& input, const Image& result);
  void count(const FrameTimes& times);
  /// How many pictures finished in each interval, from the beginning.
  struct Throughput {
    double stretch = 0.05;
    std::vector<std::int64_t> done;
    double end = 0; ///< When the last picture finished.
  };
  const Throughput& throughput() const { return throughput_; }
  void take_profile(const Context& context);

  const std::vector<ShownFrame>& frames() const { return frames_; }
  const std::vector<FrameTimes>& times() const { return times_; }
  const std::vector<StepProfile>& profile() const { return profile_; }
  std::uint64_t arena_bytes() const { return arena_bytes_; }

private:
  void count_done(double now);

  Trace trace_;
  std::vector<ShownFrame> frames_;
  std::vector<FrameTimes> times_;
  std::vector<StepProfile> profile_;
  std::uint64_t arena_bytes_ = 0;
  std::int64_t next_ = 0, step_ = 1;
  Throughput throughput_;
};

} // namespace lanner::tool
