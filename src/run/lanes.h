#pragma once
// The streams beside the caller's that the steps of one run go to.

#include <memory>
#include <vector>

#include <lanner/device.h>

#include "plan/program.h"

namespace lanner::cuda {
class Event;
class OwnedStream;
} // namespace lanner::cuda

namespace lanner {

/// Streams and events of one Program in one Context; made once, so that a run makes none. Used by one thread
/// at a time.
class Lanes {
public:
  /// For a program of several streams, whose device it is on.
  explicit Lanes(const Program& program);
  Lanes(Lanes&&) noexcept;
  ~Lanes();

  /// Queues the steps of a recorded segment by `launch(step, stream)`, stream 0 being `first`, which is
  /// behind all of them in the end: also where `launch` throws.
  template<typename LaunchStep>
  void queue(const Segment& segment, Stream first, const LaunchStep& launch) {
    try {
      if (segment.forks) reach(0, first);
      for (const Step& step : program_.steps().subspan(segment.first, segment.steps)) {
        wait(stream(step, first), step.first_wait, step.waits);
        launch(step, stream(step, first));
        if (step.event != 0) reach(step.event, stream(step, first));
      }
      wait(first, segment.first_wait, segment.waits);
    } catch (...) {
      abandon(first);
      throw;
    }
  }

private:
  Stream stream(const Step& step, Stream first) const {
    return step.stream == 0 ? first : streams_[static_cast<std::size_t>(step.stream - 1)];
  }
  void wait(Stream stream, std::uint32_t first_wait, std::uint32_t waits);
  void reach(std::uint32_t event, Stream stream);
  void abandon(Stream first) noexcept;

  const Program& program_;
  std::vector<std::unique_ptr<cuda::OwnedStream>> owned_;
  std::vector<Stream> streams_; ///< Their handles.
  std::vector<std::unique_ptr<cuda::Event>> events_;
};

} // namespace lanner
