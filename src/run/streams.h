#pragma once
// Additional streams for the steps of one run, on one device or several.

#include <memory>
#include <vector>

#include <lanner/device.h>

#include "program/program.h"

namespace lanner::cuda {
class Event;
class OwnedStream;
} // namespace lanner::cuda

namespace lanner {

/// Streams and events of one Program in one Context; created once, so that a run creates none. Used by one
/// thread at a time.
class RunStreams {
public:
  /// For a program of several streams, or of several devices, which have a stream each.
  explicit RunStreams(const Program& program);
  RunStreams(RunStreams&&) noexcept;
  ~RunStreams();

  /// Queues the steps of a recorded segment by `launch(step, stream)`, stream 0 being `first`, which finally
  /// waits for all of them, also where `launch` throws.
  template<typename LaunchStep>
  void queue(const Segment& segment, Stream first, const LaunchStep& launch) {
    try {
      if (segment.forks) reach(0, first);
      for (const Step& step : program_.steps().subspan(segment.first, segment.steps)) {
        const Stream own = stream(step.stream, first);
        wait(own, step.first_wait, step.waits);
        launch(step, own);
        if (step.event != 0) reach(step.event, own);
      }
      wait(first, segment.first_wait, segment.waits);
    } catch (...) {
      abandon(first);
      throw;
    }
  }

  /// By number; `first` is number 0.
  Stream stream(int number, Stream first) const {
    return number == 0 ? first : streams_[static_cast<std::size_t>(number - 1)];
  }
  /// Later work of the stream, whose device is current, waits for these of Program::waits.
  void wait(Stream stream, std::uint32_t first_wait, std::uint32_t waits);
  /// Records an event on the stream, which is on the event's device.
  void reach(std::uint32_t event, Stream stream);
  /// Makes `first` wait for all the others.
  void abandon(Stream first) noexcept;

private:
  Device device_of(std::size_t stream) const;
  const Program& program_;
  std::vector<std::unique_ptr<cuda::OwnedStream>> owned_;
  std::vector<Stream> streams_; ///< Their handles.
  std::vector<std::unique_ptr<cuda::Event>> events_;
};

} // namespace lanner
