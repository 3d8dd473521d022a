#pragma once
// One decoder that works ahead of its reader.

#include <memory>
#include <optional>

#include "video/read/frame_queue.h"
#include "video/read/serial_reader.h"

namespace lanner {

/// What becomes of frames, and whether it takes a thread of its own, so that the decoder need not wait for
/// it.
struct SerialFinish {
  FrameFinish finish;
  bool apart = false;
};

/// Frames from number `from` on, decoded by `reader` on threads of the object's own. `reader` belongs to it
/// for as long as it lives; afterwards its place may be any. Fork as for SpanScheduler.
class SerialAhead {
public:
  SerialAhead(SerialReader& reader, std::int64_t from, SerialFinish finish, QueueBound bound,
              const CancelToken& cancel);
  ~SerialAhead();
  SerialAhead(const SerialAhead&) = delete;
  SerialAhead& operator=(const SerialAhead&) = delete;

  /// Nothing at the end. Throws what decoding met, and IndexContradicted.
  std::optional<Frame> next();

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace lanner
