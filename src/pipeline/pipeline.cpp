#include <lanner/pipeline.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include <lanner/batch.h>
#include <lanner/error.h>
#include <lanner/run_sizes.h>

#include "base/check.h"
#include "base/threads/queue.h"
#include "base/threads/sole_use.h"
#include "base/threads/thread_name.h"
#include "device/core_share.h"
#include "pipeline/clip_reader.h"
#include "pipeline/queued_run.h"

namespace lanner {
namespace {

/// Batches that the network runs ahead of the caller: while the caller reads one batch, the next is finished
/// or running, and one more is queued after it.
constexpr std::size_t answers_ahead = 2;

/// Frames that run as one batch, and the ends of clips between them.
struct Batch {
  std::vector<ClipItem> items;
  std::size_t frames = 0;
};

/// A batch whose run was queued, and its results.
struct Answered {
  Answered() = default;
  Answered(Answered&&) = default;
  Answered& operator=(Answered&&) = default;
  /// Waits for the run, whose memory must not be reused before.
  ~Answered() {
    try {
      if (queued) queued->wait();
    } catch (const Error&) { // The driver failed, and the queued work with it.
    }
  }

  Batch batch;
  std::optional<QueuedRun> queued;       ///< Nothing where the batch holds no frames.
  std::map<std::string, Tensor> outputs; ///< Of the whole run.
  std::size_t size = 0;                  ///< Frames of the run, repeated ones included.
  std::size_t given = 0;                 ///< Items, and frames among them, returned to the caller.
  std::size_t given_frames = 0;
  double seconds = 0; ///< Of each frame.
  double begun = 0;   ///< On the trace's clock.
};

/// An item that a thread passes on: the last one may be its exception, which so comes after all its results.
template<typename T>
struct Handed {
  T made;
  std::exception_ptr error;
};

/// Runs `make` on its own thread, which passes on its results until the end.
template<typename T, typename Make>
void hand_on(BoundedQueue<Handed<T>>& queue, Make make) {
  try {
    try {
      make();
    } catch (...) {
      queue.push({{}, std::current_exception()});
    }
    queue.close();
  } catch (...) { // Cancelled: nobody reads on.
    queue.abort(std::current_exception());
  }
}

/// The next one; nothing at the end.
template<typename T>
std::optional<T> taken(BoundedQueue<Handed<T>>& queue) {
  std::optional<Handed<T>> handed = queue.pop();
  if (!handed) return std::nullopt;
  if (handed->error) {
    queue.abort(handed->error); // and for every later call
    std::rethrow_exception(handed->error);
  }
  return std::move(handed->made);
}

/// Whether preprocessing is built into the network.
bool takes_pictures_as(const Engine& engine, const std::string& input) {
  return std::ranges::any_of(engine.inputs(),
                             [&](const Binding& one) { return one.name == input && !one.image.empty(); });
}

std::string only_image_input(const Engine& engine) {
  std::vector<std::string> names; // inputs without a default value
  for (const Binding& input : engine.inputs())
    if (!input.defaulted) names.push_back(input.name);
  check(names.size() == 1, ErrorCode::invalid_argument,
        "the network has {} inputs; say which one takes the frames", names.size());
  return names[0];
}

/// A single clip, already opened.
std::vector<OpenClip> alone(VideoReader reader) {
  const auto held = std::make_shared<VideoReader>(std::move(reader));
  return {[held] { return std::move(*held); }};
}

} // namespace

struct Pipeline::State {
  State(std::vector<OpenClip> given, bool one, const Engine& shared, Context own,
        const PipelineOptions& wanted)
      : clips(std::move(given)), single(one), engine(shared), context(std::move(own)), options(wanted),
        queue(engine.device()), cancel(CancelToken::create()),
        results(std::max<std::size_t>(1, answers_ahead / static_cast<std::size_t>(std::max(1, wanted.batch))),
                cancel) {
    if (options.input.empty()) options.input = only_image_input(engine);
    if (!options.preprocess) options.preprocess = engine.preprocess(options.input);
    check(options.preprocess.has_value(), ErrorCode::invalid_argument,
          "the plan has no preprocessing for input {}; give it when building or running", options.input);
    check(options.side_by_side >= 0, ErrorCode::invalid_argument,
          "side_by_side: expected 0 or more clips, got {}", options.side_by_side);
    takes_pictures = takes_pictures_as(engine, options.input);
    sizes.emplace(engine, options.input, options.batch);
    begin();
  }

  ~State() { stop(); }

  void begin() {
    const int wanted = options.side_by_side > 0 ? options.side_by_side : options.batch;
    clip_readers.resize(std::min(clips.size(), static_cast<std::size_t>(wanted)));
    try {
      for (std::unique_ptr<ClipReader>& clip_reader : clip_readers) open_next(clip_reader);
      runner = std::thread([this] { hand_on(results, [this] { run(); }); });
      name_thread(runner, "lanner-infer");
    } catch (...) {
      stop();
      throw;
    }
  }

  void stop() {
    cancel.cancel();
    results.close();
    if (runner.joinable()) runner.join(); // before the clip readers, which it changes
    clip_readers.clear();
  }

  /// Replaces a reader by one of the next clip; null where there is none.
  void open_next(std::unique_ptr<ClipReader>& clip_reader) {
    clip_reader.reset();
    if (opened == clips.size()) return;
    const std::size_t clip = opened++;
    clip_reader =
        std::make_unique<ClipReader>(clip, std::move(clips[clip]), options, clip_readers.size(), cancel);
  }

  void run() {
    CoreShare cores(context.threads());
    while (std::optional<Batch> batch = gather()) {
      options.cancel.check();
      infer(*batch);
      cores.settle();
    }
  }

  /// Takes a frame from each reader, round robin, until the batch is full or all have ended.
  std::optional<Batch> gather() {
    Batch batch;
    while (batch.frames < static_cast<std::size_t>(options.batch)) {
      std::erase(clip_readers, nullptr);
      if (clip_readers.empty()) break;
      next_reader %= clip_readers.size();
      std::unique_ptr<ClipReader>& clip_reader = clip_readers[next_reader];
      ClipItem item = clip_reader->next();
      if (item.ended) {
        if (single && item.error) fail_behind(batch, item.error);
        open_next(clip_reader);
        if (!single) batch.items.push_back(std::move(item));
      } else {
        ++batch.frames;
        ++next_reader;
        batch.items.push_back(std::move(item));
      }
    }
    if (batch.items.empty()) return std::nullopt;
    return batch;
  }

  /// The error of a single clip is thrown after the answers to the frames before it.
  void fail_behind(Batch& batch, const std::exception_ptr& error) {
    if (batch.frames > 0) infer(batch);
    std::rethrow_exception(error);
  }

  void bind(const Batch& batch) {
    std::vector<Image> images;
    for (const ClipItem& item : batch.items)
      if (!item.ended) images.push_back(item.frame.image);
    images.resize(sizes->of(batch.frames), images.back());        // The last one is repeated.
    const Trace trace = takes_pictures ? Trace() : options.trace; // else the network preprocesses
    const TraceScope scope(trace, "preprocess", "infer", first_index(batch));
    // Preprocessing is on another stream than runs, and overwrites what the last one reads.
    if (!takes_pictures && last) last->wait();
    context.bind(options.input, images, &*options.preprocess);
  }

  /// Queues the batch's run and passes it on: the reader of the answers waits for it, and meanwhile the next
  /// batch is bound and queued.
  void infer(Batch& batch) {
    Answered answered;
    answered.size = sizes->of(batch.frames);
    if (batch.frames > 0) {
      const Trace trace =
          queue.gpu() ? Trace() : options.trace; // A GPU's run ends when its answers are waited for.
      const TraceScope scope(trace, "infer", "infer", first_index(batch));
      answered.begun = options.trace.on() ? options.trace.now() : 0;
      answered.queued.emplace(queue);
      bind(batch);
      context.enqueue(queue.stream(), {options.cancel, {}});
      answered.queued->end(queue);
      last = answered.queued;
      sizes->learn(engine, context, batch.frames);
      for (const Binding& binding : engine.outputs())
        if (!binding.sequence) answered.outputs[binding.name] = context.output(binding.name).tensor;
    }
    answered.batch = std::move(batch);
    results.push({std::move(answered), nullptr});
  }

  static std::int64_t first_index(const Batch& batch) {
    const auto frame = std::ranges::find(batch.items, false, &ClipItem::ended);
    return frame->frame.index;
  }

  /// Waits for the batch's answers. Every later call throws its error, too.
  void finish(Answered& answered) {
    if (!answered.queued) return;
    try {
      answered.seconds = answered.queued->wait() / static_cast<double>(answered.batch.frames);
    } catch (...) {
      results.abort(std::current_exception());
      throw;
    }
    if (!options.trace.on() || !queue.gpu()) return;
    // Runs are sequential: one that waited for the previous one began when that had ended.
    const double now = options.trace.now();
    options.trace.add(
        {"infer", "infer", std::max(answered.begun, ran_until), now, first_index(answered.batch)});
    ran_until = now;
  }

  std::optional<PipelineResult> next() {
    while (!current || current->given == current->batch.items.size()) {
      current.reset(); // its memory is reused by later batches
      std::optional<Answered> answered = taken(results);
      if (!answered) return std::nullopt;
      finish(*answered);
      current = std::move(answered);
    }
    return result_of(*current, current->batch.items[current->given++]);
  }

  PipelineResult result_of(Answered& answered, ClipItem& item) const {
    PipelineResult result{
        std::move(item.frame), {}, item.decode_seconds, answered.seconds, item.clip, item.ended, item.error};
    if (item.ended) {
      result.infer_seconds = 0;
      return result;
    }
    for (const auto& [name, output] : answered.outputs)
      result.outputs[name] = batch_part(output, answered.given_frames, answered.size);
    ++answered.given_frames;
    return result;
  }

  SoleUse use{"Pipeline"};
  std::vector<OpenClip> clips;
  const bool single; ///< One clip, whose errors are the pipeline's.
  Engine engine;
  Context context;
  PipelineOptions options;
  std::optional<QueuedRun> last; ///< The run that was queued last.
  RunQueue queue;
  CancelToken
      cancel; ///< Ends the decoding threads with this object; the caller's token is looked at for each frame.
  BoundedQueue<Handed<Answered>> results;
  std::optional<Answered> current; ///< That the caller reads.
  double ran_until = 0;            ///< On the trace's clock.
  std::vector<std::unique_ptr<ClipReader>> clip_readers;
  std::size_t opened = 0, next_reader = 0;
  std::optional<RunSizes> sizes;
  bool takes_pictures = false;
  std::thread runner;
};

Pipeline::Pipeline(VideoReader reader, const Engine& engine, Context context, const PipelineOptions& options)
    : state_(std::make_unique<State>(alone(std::move(reader)), true, engine, std::move(context), options)) {}
Pipeline::Pipeline(std::vector<OpenClip> clips, const Engine& engine, Context context,
                   const PipelineOptions& options)
    : state_(std::make_unique<State>(std::move(clips), false, engine, std::move(context), options)) {}
Pipeline::~Pipeline() = default;
Pipeline::Pipeline(Pipeline&&) noexcept = default;

std::optional<PipelineResult> Pipeline::next() {
  const SoleUse::Call call(state_->use);
  state_->options.cancel.check();
  return state_->next();
}

const Context& Pipeline::context() const {
  return state_->context;
}

} // namespace lanner
