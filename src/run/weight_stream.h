#pragma once
// Weight streaming of one context: copies weights to its device during runs.

#include <memory>
#include <vector>

#include <lanner/device.h>

#include "program/program.h"
#include "program/weights/device_weights.h"

namespace lanner::cuda {
class Event;
class OwnedStream;
} // namespace lanner::cuda

namespace lanner {

/// The copy stream and its events; created once, so that a run creates none. Used by one thread at a time.
///
/// A step with streamed weights waits for their copy, which waits for the last reader of the bytes that it
/// overwrites. Copies run in step order on a separate stream, as far ahead as the ring allows; steps run in
/// list order on the caller's. Source and destination of a copy live as long as this object, so it may be
/// part of a recorded graph.
class WeightStream {
public:
  /// `ring` has the size that `weights` needs, on the program's device.
  WeightStream(const Program& program, std::shared_ptr<const WeightLocations> weights, std::byte* ring);
  WeightStream(WeightStream&&) noexcept;
  ~WeightStream();

  /// Whether a step of the segment has streamed weights.
  bool serves(const Segment& segment) const;
  /// Queues the steps of a recorded segment by `launch(step, stream)` on `stream`, which finally waits for
  /// all copies, also where `launch` throws.
  template<typename LaunchStep>
  void queue(const Segment& segment, Stream stream, const LaunchStep& launch) {
    begin(segment, stream);
    try {
      for (std::size_t s = segment.first; s < segment.first + segment.steps; ++s) {
        before(s, stream);
        launch(program_.steps()[s], stream);
        behind(s, stream);
      }
    } catch (...) {
      abandon(stream);
      throw;
    }
  }
  /// Copies the weights of one step on its own stream: for runs step by step.
  void copy_for(std::size_t step, Stream stream) const;

private:
  void begin(const Segment& segment, Stream stream);
  void before(std::size_t step, Stream stream);
  void behind(std::size_t step, Stream stream);
  void abandon(Stream stream) noexcept;
  void copy(const WeightBlock& block, Stream stream) const;

  const Program& program_;
  std::shared_ptr<const WeightLocations> weights_;
  std::byte* ring_;
  std::unique_ptr<cuda::OwnedStream> copies_;
  std::unique_ptr<cuda::Event> begun_;
  std::vector<std::unique_ptr<cuda::Event>> copied_; ///< By block.
  std::vector<std::unique_ptr<cuda::Event>> read_;   ///< By step; null where no copy waits for it.
  std::vector<std::size_t> blocks_of_;               ///< By step: its block; their number where it has none.
  std::size_t next_ = 0, end_ = 0;                   ///< Blocks of the segment that are not queued yet.
};

} // namespace lanner
