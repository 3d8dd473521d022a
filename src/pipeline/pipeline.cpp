#include <lanner/pipeline.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include <lanner/batch.h>
#include <lanner/error.h>

#include "base/check.h"
#include "base/queue.h"
#include "base/sole_use.h"
#include "base/thread_name.h"
#include "device/core_share.h"
#include "pipeline/clip_lane.h"

namespace lanner {
namespace {

/// Frames with their answers that the network runs ahead of the caller.
constexpr std::size_t answers_ahead = 2;

/// Frames that go through the network together, and the ends of clips between them.
struct Batch {
  std::vector<ClipItem> items;
  std::size_t frames = 0;
};

/// What a thread hands on: the last one may be what it threw, which so comes behind all that it made.
template<typename T>
struct Handed {
  T made;
  std::exception_ptr error;
};

/// On a thread of its own; `make` hands on what it makes until there is no more.
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
    queue.abort(handed->error); // And so for every later call.
    std::rethrow_exception(handed->error);
  }
  return std::move(handed->made);
}

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Null where the engine has no such input.
const Binding* binding_of(const Engine& engine, const std::string& input) {
  for (const Binding& binding : engine.inputs())
    if (binding.name == input) return &binding;
  return nullptr;
}

/// Size of the batch that a network insists on; 0 where it takes any. An input [3, H, W] takes one picture.
std::int64_t fixed_batch(const Binding* input) {
  if (input && input->picture.empty() && input->dims.size() == 3) return 1;
  return !input || input->dims.empty() ? 0 : std::max<std::int64_t>(0, input->dims[0]);
}

std::string only_image_input(const Engine& engine) {
  std::vector<std::string> names; // Those that have no value of their own.
  for (const Binding& input : engine.inputs())
    if (!input.defaulted) names.push_back(input.name);
  check(names.size() == 1, ErrorCode::invalid_argument,
        "the network has {} inputs; say which one takes the frames", names.size());
  return names[0];
}

/// The only clip, which is opened already.
std::vector<OpenClip> alone(VideoReader reader) {
  const auto held = std::make_shared<VideoReader>(std::move(reader));
  return {[held] { return std::move(*held); }};
}

} // namespace

struct Pipeline::State {
  State(std::vector<OpenClip> given, bool one, const Engine& shared, Context own,
        const PipelineOptions& wanted)
      : clips(std::move(given)), single(one), engine(shared), context(std::move(own)), options(wanted),
        cancel(CancelToken::create()), results(answers_ahead, cancel) {
    if (options.input.empty()) options.input = only_image_input(engine);
    if (!options.preprocess) options.preprocess = engine.preprocess(options.input);
    check(options.preprocess.has_value(), ErrorCode::invalid_argument,
          "the plan says nothing of preprocessing for input {}; give it when building or running",
          options.input);
    check(options.batch > 0, ErrorCode::invalid_argument, "batch: expected at least 1, got {}",
          options.batch);
    check(options.side_by_side >= 0, ErrorCode::invalid_argument,
          "side_by_side: expected 0 or more clips, got {}", options.side_by_side);
    const Binding* input = binding_of(engine, options.input);
    input_batch = fixed_batch(input);
    takes_pictures = input && !input->picture.empty();
    check(input_batch == 0 || input_batch == options.batch, ErrorCode::invalid_argument,
          "batch: the network takes {} frames in one run, {} were asked for", input_batch, options.batch);
    begin();
  }

  ~State() { stop(); }

  void begin() {
    const int wanted = options.side_by_side > 0 ? options.side_by_side : options.batch;
    lanes.resize(std::min(clips.size(), static_cast<std::size_t>(wanted)));
    try {
      for (std::unique_ptr<ClipLane>& lane : lanes) open_next(lane);
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
    if (runner.joinable()) runner.join(); // Before the lanes, which it changes.
    lanes.clear();
  }

  /// A lane goes on with the next clip; null where there is none.
  void open_next(std::unique_ptr<ClipLane>& lane) {
    lane.reset();
    if (opened == clips.size()) return;
    const std::size_t clip = opened++;
    lane = std::make_unique<ClipLane>(clip, std::move(clips[clip]), options, lanes.size(), cancel);
  }

  void run() {
    CoreShare cores(context.threads());
    while (std::optional<Batch> batch = gather()) {
      options.cancel.check();
      infer(*batch);
      cores.settle();
    }
  }

  /// A frame of each lane in turn, until the batch is full or nothing comes any more.
  std::optional<Batch> gather() {
    Batch batch;
    while (batch.frames < static_cast<std::size_t>(options.batch)) {
      std::erase(lanes, nullptr);
      if (lanes.empty()) break;
      turn %= lanes.size();
      std::unique_ptr<ClipLane>& lane = lanes[turn];
      ClipItem item = lane->next();
      if (item.ended) {
        if (single && item.error) fail_behind(batch, item.error);
        open_next(lane); // It is its turn.
        if (!single) batch.items.push_back(std::move(item));
      } else {
        ++batch.frames;
        ++turn;
        batch.items.push_back(std::move(item));
      }
    }
    if (batch.items.empty()) return std::nullopt;
    return batch;
  }

  /// What ended the only clip is thrown behind the answers to the frames before it.
  void fail_behind(Batch& batch, const std::exception_ptr& error) {
    if (batch.frames > 0) infer(batch);
    std::rethrow_exception(error);
  }

  void bind(const Batch& batch) {
    std::vector<Image> images;
    for (const ClipItem& item : batch.items)
      if (!item.ended) images.push_back(item.frame.image);
    images.resize(run_size(batch), images.back());                // The last one is repeated.
    const Trace trace = takes_pictures ? Trace() : options.trace; // The network itself preprocesses, then.
    const TraceScope scope(trace, "preprocess", "infer", first_index(batch));
    context.bind(options.input, images, &*options.preprocess);
  }

  /// Frames of a run: a network may insist on a size, and the last batch runs as the full ones did, for whose
  /// size kernels are ready.
  std::size_t run_size(const Batch& batch) const {
    return std::max({batch.frames, static_cast<std::size_t>(input_batch), ready_batch});
  }

  /// Runs the batch and hands its answers on.
  void infer(Batch& batch) {
    const auto start = Clock::now();
    if (batch.frames > 0) {
      const TraceScope scope(options.trace, "infer", "infer", first_index(batch));
      bind(batch);
      context.run({}, {options.cancel, {}});
      if (batch.frames == static_cast<std::size_t>(options.batch) &&
          has_batch_parts(engine, context, batch.frames))
        ready_batch = batch.frames;
    }
    const double seconds = batch.frames > 0 ? seconds_since(start) / static_cast<double>(batch.frames) : 0;
    const std::size_t run = run_size(batch);
    std::size_t n = 0;
    for (ClipItem& item : batch.items) {
      PipelineResult result{
          std::move(item.frame), {}, item.decode_seconds, seconds, item.clip, item.ended, item.error};
      if (item.ended)
        result.infer_seconds = 0;
      else
        add_outputs(result, n++, run);
      results.push({std::move(result), nullptr});
    }
  }

  static std::int64_t first_index(const Batch& batch) {
    const auto frame = std::ranges::find(batch.items, false, &ClipItem::ended);
    return frame->frame.index;
  }

  void add_outputs(PipelineResult& result, std::size_t n, std::size_t run) {
    for (const Binding& binding : engine.outputs())
      if (!binding.sequence)
        result.outputs[binding.name] = batch_part(context.output(binding.name).tensor, n, run);
  }

  SoleUse use{"Pipeline"};
  std::vector<OpenClip> clips;
  const bool single; ///< One clip, whose errors are the pipeline's.
  Engine engine;
  Context context;
  PipelineOptions options;
  CancelToken
      cancel; ///< Ends the decoding threads with this object; the caller's token is looked at for each frame.
  BoundedQueue<Handed<PipelineResult>> results;
  std::vector<std::unique_ptr<ClipLane>> lanes;
  std::size_t opened = 0, turn = 0;
  std::int64_t input_batch = 0;
  std::size_t ready_batch =
      0; ///< Frames of a full run whose answers tell frames apart; 0 before there was one.
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
  return taken(state_->results);
}

const Context& Pipeline::context() const {
  return state_->context;
}

} // namespace lanner
