#include "video/serial_ahead.h"

#include <utility>

#include "base/thread_pool.h"
#include "device/team.h"

namespace lanner {

struct SerialAhead::State {
  State(SerialReader& lent, std::int64_t first, FrameFinish then, QueueBound bound, const CancelToken& token)
      : reader(lent), from(first), finish(std::move(then)), cancel(token), queue(1, bound, token),
        pool(1, 1, "lanner-decode") {}

  void run() {
    const auto slot = queue.claim();
    if (!slot) return;
    std::exception_ptr error; // Handed over whole: nothing of it is left on this thread.
    try {
      reader.cursor().set_stop({cancel, stop});
      if (reader.last() + 1 != from && from < reader.parts()->content->size())
        queue.put(*slot, reader.seek(from, finish));
      while (auto frame = reader.next(finish)) queue.put(*slot, std::move(*frame));
    } catch (...) {
      error = std::current_exception();
    }
    if (error)
      queue.fail(*slot, std::move(error));
    else
      queue.finish(*slot);
  }

  SerialReader& reader;
  const std::int64_t from;
  const FrameFinish finish;
  const CancelToken cancel, stop = CancelToken::create();
  const unsigned forks = forks_seen();
  FrameQueue queue;
  ThreadPool pool; ///< Last: its thread uses all of the above.
};

SerialAhead::SerialAhead(SerialReader& reader, std::int64_t from, FrameFinish finish, QueueBound bound,
                         const CancelToken& cancel)
    : state_(std::make_unique<State>(reader, from, std::move(finish), bound, cancel)) {
  State* state = state_.get();
  state->pool.submit([state] { state->run(); });
}

SerialAhead::~SerialAhead() {
  if (state_->forks != forks_seen()) { // Locks may be held by the thread that stayed in the parent.
    (void)state_.release();
    return;
  }
  state_->stop.cancel();
  state_->queue.stop();
}

std::optional<Frame> SerialAhead::next() {
  check(state_->forks == forks_seen(), ErrorCode::unsupported,
        "video: this process was forked while frames were being decoded, and the decoding thread stayed in "
        "the parent; open the video in the child, or start it by spawn");
  return state_->queue.next();
}

} // namespace lanner
