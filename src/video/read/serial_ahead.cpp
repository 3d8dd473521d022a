#include "video/read/serial_ahead.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/threads/thread_pool.h"
#include "device/team.h"

namespace lanner {

namespace {

constexpr std::size_t unfinished_frames = 2;

/// Runs `give` for the one slot of `queue`, which gets its end or its error. A frame is made only once there
/// is room for one like that before.
template<typename Give>
void fill(FrameQueue& queue, Give&& give) {
  const auto slot = queue.claim();
  if (!slot) return;
  std::exception_ptr error; // Handed over whole: nothing of it is left on this thread.
  try {
    give([&](Frame frame) {
      const std::uint64_t bytes = frame_bytes(frame);
      queue.put(*slot, std::move(frame));
      queue.wait_for_room(*slot, bytes);
    });
  } catch (...) {
    error = std::current_exception();
  }
  if (error)
    queue.fail(*slot, std::move(error));
  else
    queue.finish(*slot);
}

} // namespace

struct SerialAhead::State {
  State(SerialReader& lent, std::int64_t first, SerialFinish then, QueueBound bound, const CancelToken& token)
      : reader(lent), from(first), finish(std::move(then)), cancel(token),
        decoded(1, {bound.bytes, std::min(bound.frames, unfinished_frames)}, token), queue(1, bound, token),
        pool(2, 2, "lanner-decode") {
    pool.submit([this] { fill(finish.apart ? decoded : queue, [this](const auto& put) { decode(put); }); });
    if (finish.apart) pool.submit([this] { fill(queue, [this](const auto& put) { finish_all(put); }); });
  }

  template<typename Put>
  void decode(const Put& put) {
    reader.cursor().set_stop({cancel, stop});
    const FrameFinish at_once = finish.apart ? FrameFinish{} : finish.finish;
    if (reader.last() + 1 != from && from < reader.parts()->content->size()) put(reader.seek(from, at_once));
    while (auto frame = reader.next(at_once)) put(std::move(*frame));
  }

  template<typename Put>
  void finish_all(const Put& put) {
    while (auto frame = decoded.next()) {
      finish.finish(*frame);
      put(std::move(*frame));
    }
  }

  SerialReader& reader;
  const std::int64_t from;
  const SerialFinish finish;
  const CancelToken cancel, stop = CancelToken::create();
  const unsigned forks = forks_seen();
  FrameQueue decoded, queue;
  ThreadPool pool; ///< Last: its threads use all of the above.
};

SerialAhead::SerialAhead(SerialReader& reader, std::int64_t from, SerialFinish finish, QueueBound bound,
                         const CancelToken& cancel)
    : state_(std::make_unique<State>(reader, from, std::move(finish), bound, cancel)) {}

SerialAhead::~SerialAhead() {
  if (state_->forks != forks_seen()) { // Locks may be held by the thread that stayed in the parent.
    (void)state_.release();
    return;
  }
  state_->stop.cancel();
  state_->decoded.stop();
  state_->queue.stop();
}

std::optional<Frame> SerialAhead::next() {
  check(state_->forks == forks_seen(), ErrorCode::unsupported,
        "video: this process was forked while frames were being decoded, and the decoding thread stayed in "
        "the parent; open the video in the child, or start it by spawn");
  return state_->queue.next();
}

} // namespace lanner
