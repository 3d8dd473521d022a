#include <lanner/pipeline.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <thread>

#include <fmt/format.h>

#include <lanner/error.h>

#include "base/check.h"
#include "base/queue.h"
#include "base/sole_use.h"
#include "device/core_share.h"
#include "video/frame_budget.h"
#include "video/frame_finish.h"

namespace lanner {
namespace {

/// Frames with their answers that the network runs ahead of the caller.
constexpr std::size_t answers_ahead = 2;

/// Frames that go through the network together.
struct Batch {
  std::vector<Frame> frames;
  std::int64_t size = 0; ///< Of the run: behind the last frame it is repeated.
  double decode_seconds = 0;
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

/// Size of the batch that a network insists on; 0 where it takes any.
std::int64_t fixed_batch(const Binding* input) {
  return !input || input->dims.empty() ? 0 : std::max<std::int64_t>(0, input->dims[0]);
}

std::string only_image_input(const Engine& engine) {
  check(engine.inputs().size() == 1, ErrorCode::invalid_argument,
        "the network has {} inputs; say which one takes the frames", engine.inputs().size());
  return engine.inputs()[0].name;
}

/// As many batches as were asked for, where their pictures are not too large for that.
std::size_t places_in_queue(const StreamInfo& stream, const PipelineOptions& options) {
  const std::uint64_t batch = picture_bytes(stream) * static_cast<std::uint64_t>(std::max(1, options.batch));
  const auto most = static_cast<int>(std::clamp<std::size_t>(options.queue, 1, 1024));
  return static_cast<std::size_t>(fitting(budget_of_frames({}), batch, most));
}

/// Element `n` of `count` along the first dimension; the whole where that is no batch.
Tensor element(const Tensor& output, std::size_t n, std::size_t count) {
  if (output.rank() == 0 || output.shape()[0] != static_cast<std::int64_t>(count) ||
      output.dtype() == DType::string)
    return output;
  Shape shape = output.shape();
  shape[0] = 1;
  const std::uint64_t bytes = output.bytes() / count;
  void* place = const_cast<std::byte*>(static_cast<const std::byte*>(output.data())) + n * bytes;
  return Tensor::wrap(place, output.dtype(), shape, output.owner(), {}, output.device());
}

} // namespace

struct Pipeline::State {
  State(VideoReader from, const Engine& shared, Context own, const PipelineOptions& wanted)
      : reader(std::move(from)), engine(shared), context(std::move(own)), options(wanted),
        cancel(CancelToken::create()), batches(places_in_queue(reader.stream(), wanted), cancel),
        results(answers_ahead, cancel) {
    if (options.input.empty()) options.input = only_image_input(engine);
    if (!options.preprocess) options.preprocess = engine.preprocess(options.input);
    check(options.preprocess.has_value(), ErrorCode::invalid_argument,
          "the plan says nothing of preprocessing for input {}; give it when building or running",
          options.input);
    check(options.batch > 0, ErrorCode::invalid_argument, "batch: expected at least 1, got {}",
          options.batch);
    const Binding* input = binding_of(engine, options.input);
    input_batch = fixed_batch(input);
    check(input_batch == 0 || input_batch == options.batch, ErrorCode::invalid_argument,
          "batch: the network takes {} frames in one run, {} were asked for", input_batch, options.batch);
    decoder = std::thread([this] { hand_on(batches, [this] { decode(); }); });
    try {
      runner = std::thread([this] { hand_on(results, [this] { run(); }); });
    } catch (...) {
      stop();
      throw;
    }
  }

  ~State() { stop(); }

  void stop() {
    cancel.cancel();
    batches.close();
    results.close();
    for (std::thread* thread : {&decoder, &runner})
      if (thread->joinable()) thread->join();
  }

  void decode() {
    while (batches.wait_for_room()) {
      std::optional<Batch> batch = read_batch();
      if (!batch) return;
      batches.push({std::move(*batch), nullptr});
    }
  }

  void run() {
    CoreShare cores(context.threads());
    while (std::optional<Batch> batch = taken(batches)) {
      options.cancel.check();
      infer(*batch);
      cores.settle();
    }
  }

  std::optional<Batch> read_batch() {
    Batch batch;
    const auto start = Clock::now();
    while (batch.frames.size() < static_cast<std::size_t>(options.batch)) {
      options.cancel.check();
      const TraceScope scope(options.trace, "decode", "decode", decoded);
      std::optional<Frame> frame = reader.next();
      if (!frame) break;
      frame->index = decoded++;
      turn_upright(*frame); // What answers and drawings refer to.
      batch.frames.push_back(std::move(*frame));
    }
    if (batch.frames.empty()) return std::nullopt;
    batch.size = std::max(static_cast<std::int64_t>(batch.frames.size()), input_batch);
    batch.decode_seconds = seconds_since(start);
    return batch;
  }

  void bind(const Batch& batch) {
    std::vector<Image> images;
    for (const Frame& frame : batch.frames) images.push_back(frame.image);
    images.resize(static_cast<std::size_t>(batch.size), images.back());
    context.bind(options.input, images, &*options.preprocess);
  }

  /// Runs the batch and hands its answers on.
  void infer(Batch& batch) {
    const auto start = Clock::now();
    {
      const TraceScope scope(options.trace, "infer", "infer", batch.frames[0].index);
      bind(batch);
      context.run({}, {options.cancel, {}});
    }
    const std::size_t count = batch.frames.size();
    const auto run = static_cast<std::size_t>(batch.size);
    const double share = 1.0 / static_cast<double>(count);
    const double seconds = seconds_since(start);
    for (std::size_t n = 0; n < count; ++n) {
      PipelineResult result{std::move(batch.frames[n]), {}, batch.decode_seconds * share, seconds * share};
      for (const Binding& binding : engine.outputs())
        if (!binding.sequence)
          result.outputs[binding.name] = element(context.output(binding.name).tensor, n, run);
      results.push({std::move(result), nullptr});
    }
  }

  SoleUse use{"Pipeline"};
  VideoReader reader;
  Engine engine;
  Context context;
  PipelineOptions options;
  CancelToken
      cancel; ///< Ends the decoding thread with this object; the caller's token is looked at for each frame.
  BoundedQueue<Handed<Batch>> batches;
  BoundedQueue<Handed<PipelineResult>> results;
  std::int64_t decoded = 0;
  std::int64_t input_batch = 0;
  std::thread decoder, runner;
};

Pipeline::Pipeline(VideoReader reader, const Engine& engine, Context context, const PipelineOptions& options)
    : state_(std::make_unique<State>(std::move(reader), engine, std::move(context), options)) {}
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
