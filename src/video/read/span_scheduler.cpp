#include "video/read/span_scheduler.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <lanner/threads.h>

#include "base/check.h"
#include "base/threads/thread_pool.h"
#include "device/team.h"
#include "video/read/frame_budget.h"

namespace lanner {

struct SpanScheduler::State {
  State(SpanWork todo, std::shared_ptr<CursorPool> pool_of_cursors,
        std::shared_ptr<LinearReader> shared_linear)
      : work(std::move(todo)), cursors(std::move(pool_of_cursors)), linear(std::move(shared_linear)),
        queue(work.jobs.size(), work.bound, work.cancel),
        pool(static_cast<std::size_t>(work.workers.decoders), static_cast<std::size_t>(work.workers.decoders),
             "lanner-decode") {}

  void run_worker();
  void run_slot(std::size_t slot, std::unique_ptr<FrameCursor>& cursor);

  const SpanWork work;
  const std::shared_ptr<CursorPool> cursors;
  const std::shared_ptr<LinearReader> linear;
  const CancelToken stop = CancelToken::create();
  const unsigned forks = forks_seen();
  FrameQueue queue;
  ThreadPool pool; ///< Last: its threads use all of the above.
};

void SpanScheduler::State::run_worker() {
  std::unique_ptr<FrameCursor> cursor;
  while (const auto slot = queue.claim()) {
    std::exception_ptr error; // Handed over whole: nothing of it is left on this thread.
    try {
      run_slot(*slot, cursor);
    } catch (...) {
      error = std::current_exception();
    }
    if (error) return queue.fail(*slot, std::move(error)); // The cursor may be in any state.
    queue.finish(*slot);
  }
  if (cursor) cursors->give_back(std::move(cursor), work.workers.threads);
}

void SpanScheduler::State::run_slot(std::size_t slot, std::unique_ptr<FrameCursor>& cursor) {
  if (!cursor) cursor = cursors->take(work.workers.threads);
  SpanDecoder decoder(*cursor, work.parts, work.finish, {work.cancel, stop});
  decoder.run(
      work.jobs[slot], [&](Frame frame) { queue.put(slot, std::move(frame)); },
      [&]() -> LinearReader& {
        queue.wait_for_turn(slot);
        return *linear;
      });
}

SpanScheduler::SpanScheduler(SpanWork work, std::shared_ptr<CursorPool> cursors,
                             std::shared_ptr<LinearReader> linear)
    : state_(std::make_unique<State>(std::move(work), std::move(cursors), std::move(linear))) {
  State* state = state_.get();
  for (int i = 0; i < state->work.workers.decoders; ++i) state->pool.submit([state] { state->run_worker(); });
}

SpanScheduler::~SpanScheduler() {
  if (!state_) return;
  if (state_->forks != forks_seen()) { // Locks may be held by threads that stayed in the parent.
    (void)state_.release();
    return;
  }
  state_->stop.cancel();
  state_->queue.stop();
}

std::optional<Frame> SpanScheduler::next() {
  check(state_->forks == forks_seen(), ErrorCode::unsupported,
        "video: this process was forked while frames were being decoded, and the decoding threads stayed in "
        "the parent; open the video in the child, or start it by spawn");
  return state_->queue.next();
}

void run_jobs(const SpanWork& work, CursorPool& cursors, LinearReader& linear,
              const std::function<void(Frame)>& give) {
  std::unique_ptr<FrameCursor> cursor = cursors.take(work.workers.threads);
  SpanDecoder decoder(*cursor, work.parts, work.finish, {work.cancel, {}});
  for (const SpanJob& job : work.jobs) decoder.run(job, give, [&]() -> LinearReader& { return linear; });
  cursors.give_back(std::move(cursor), work.workers.threads);
}

// To make a session takes a GPU as long as about 50 pictures take one engine, and sessions are made one after
// the other: n pictures are done soonest by the square root of n / 50 new ones.
static int linear_sessions(const nvdec::Resources& gpu, std::int64_t frames) {
  if (frames < 0) return gpu.engines + 1;
  const int worth = static_cast<int>(std::lround(std::sqrt(static_cast<double>(frames) / 50)));
  return std::min(gpu.engines + 1, std::max({1, worth, gpu.sessions}));
}

// One session more than there are engines keeps them all busy; further ones only take turns.
static int suitable_decoders(const VideoReaderOptions& options, const WorkSize& work) {
  if (options.decoder.latency == Latency::low) return 1;
  constexpr int cores_a_decoder = 8;
  const int cores = default_threads();
  if (work.gpu) {
    const int all = work.random ? work.gpu->engines + 1 : linear_sessions(*work.gpu, work.frames);
    return (all + work.readers - 1) / work.readers;
  }
  if (work.random) return cores / std::max(1, options.decoder.threads);
  return cores > cores_a_decoder ? cores / cores_a_decoder : 1;
}

static int threads_of_each(const VideoReaderOptions& options, int decoders) {
  return options.decoder.threads > 0 ? options.decoder.threads : std::max(1, default_threads() / decoders);
}

// See Note [Pictures in flight]. How many decoders were asked for is the caller's word, within his limits.
static int with_room(const VideoReaderOptions& options, const WorkSize& work, int decoders) {
  constexpr int pictures_kept = 5; // That others refer to, and one to give.
  if (work.gpu) return decoders;
  const Limits& limits = options.decoder.limits;
  const std::uint64_t budget = options.decoders > 0 ? limits.total_bytes / 2 : budget_of_frames(limits);
  const auto pictures = [&] { return decoders * (threads_of_each(options, decoders) + pictures_kept); };
  while (decoders > 1 && fitting(budget, work.picture, pictures()) < pictures()) --decoders;
  return decoders;
}

Workers choose_workers(const VideoReaderOptions& options, const WorkSize& work) {
  const int most = static_cast<int>(std::clamp<std::size_t>(work.spans, 1, 256));
  Workers workers;
  workers.decoders = options.decoders > 0 ? options.decoders : suitable_decoders(options, work);
  workers.decoders = with_room(options, work, std::clamp(workers.decoders, 1, most));
  workers.threads =
      workers.decoders > 1 ? threads_of_each(options, workers.decoders) : options.decoder.threads;
  return workers;
}

std::uint64_t choose_frame_bytes(const VideoReaderOptions& options, const nvdec::Resources* gpu,
                                 int readers) {
  constexpr std::uint64_t least = 256ull << 20, most = 4ull << 30;
  const auto share = [&](std::uint64_t bytes) { return bytes / static_cast<std::uint64_t>(readers); };
  if (options.frame_bytes > 0) return share(options.frame_bytes);
  if (gpu && !(options.decoder.output && options.decoder.output->is_host()))
    return share(std::clamp<std::uint64_t>(gpu->free_bytes / 4, least, most));
  return share(budget_of_frames(options.decoder.limits));
}

} // namespace lanner
