#include <lanner/pipeline.h>

#include <cstring>
#include <deque>
#include <thread>

#include <fmt/format.h>

#include <lanner/error.h>
#include <lanner/preprocess.h>

#include "base/queue.h"

namespace lanner {
namespace {

/// Frames that go through the network together.
struct Batch {
  std::vector<Frame> frames;
  Tensor input;
  double decode_seconds = 0;
};

std::string only_image_input(const Engine& engine) {
  check(engine.inputs().size() == 1, ErrorCode::invalid_argument, "the network has {} inputs; say which one takes the frames",
        engine.inputs().size());
  return engine.inputs()[0].name;
}

/// Element `n` of `count` along the first dimension; the whole where that is no batch.
Tensor element(const Tensor& output, std::size_t n, std::size_t count) {
  if (output.rank() == 0 || output.shape()[0] != static_cast<std::int64_t>(count) || output.dtype() == DType::string) return output;
  Shape shape = output.shape();
  shape[0] = 1;
  const std::uint64_t bytes = output.bytes() / count;
  void* place = const_cast<std::byte*>(static_cast<const std::byte*>(output.data())) + n * bytes;
  return Tensor::wrap(place, output.dtype(), shape, output.owner());
}

} // namespace

struct Pipeline::State {
  State(VideoReader reader_, const Engine& engine_, Context context_, const PipelineOptions& options_)
      : reader(std::move(reader_)), engine(engine_), context(std::move(context_)), options(options_),
        cancel(CancelToken::create()), queue(options_.queue, cancel) {
    if (options.input.empty()) options.input = only_image_input(engine);
    if (!options.preprocess) options.preprocess = engine.preprocess(options.input);
    check(options.preprocess.has_value(), ErrorCode::invalid_argument,
          "the plan says nothing of preprocessing for input {}; give it when building or running", options.input);
    check(options.batch > 0, ErrorCode::invalid_argument, "batch: expected at least 1, got {}", options.batch);
    decoder = std::thread([this] { decode(); });
  }

  ~State() {
    cancel.cancel();
    queue.close();
    if (decoder.joinable()) decoder.join();
  }

  void decode() {
    try {
      while (auto batch = read_batch())
        if (!queue.push(std::move(*batch))) return;
      queue.close();
    } catch (...) {
      queue.abort(std::current_exception());
    }
  }

  std::optional<Batch> read_batch() {
    Batch batch;
    const double start = options.trace.now();
    while (batch.frames.size() < static_cast<std::size_t>(options.batch)) {
      options.cancel.check();
      const TraceScope scope(options.trace, "decode", "decode", decoded);
      std::optional<Frame> frame = reader.next();
      if (!frame) break;
      frame->index = decoded++;
      batch.frames.push_back(std::move(*frame));
    }
    if (batch.frames.empty()) return std::nullopt;
    fill(batch);
    batch.decode_seconds = options.trace.now() - start;
    return batch;
  }

  void fill(Batch& batch) {
    const TraceScope scope(options.trace, "preprocess", "decode", batch.frames[0].index);
    const Image& first = batch.frames[0].image;
    Shape shape{static_cast<std::int64_t>(batch.frames.size())};
    for (std::int64_t size : output_shape(*options.preprocess, first.width, first.height)) shape.push_back(size);
    batch.input = Tensor::allocate(options.preprocess->dtype, shape);
    for (std::size_t n = 0; n < batch.frames.size(); ++n)
      preprocess(batch.frames[n].image, *options.preprocess, batch.input, static_cast<std::int64_t>(n));
  }

  /// Runs the next batch and leaves its answers in `ready`; false at the end.
  bool infer() {
    std::optional<Batch> batch = queue.pop();
    if (!batch) return false;
    const double start = options.trace.now();
    {
      const TraceScope scope(options.trace, "infer", "infer", batch->frames[0].index);
      context.bind(options.input, Item(batch->input));
      context.run();
    }
    const std::size_t count = batch->frames.size();
    const double share = 1.0 / static_cast<double>(count);
    const double seconds = options.trace.now() - start;
    for (std::size_t n = 0; n < count; ++n) {
      PipelineResult result{std::move(batch->frames[n]), {}, batch->decode_seconds * share, seconds * share};
      for (const Binding& binding : engine.outputs())
        if (!binding.sequence) result.outputs[binding.name] = element(context.output(binding.name).tensor, n, count);
      ready.push_back(std::move(result));
    }
    return true;
  }

  VideoReader reader;
  Engine engine;
  Context context;
  PipelineOptions options;
  CancelToken cancel; ///< Ends the decoding thread with this object; the caller's token is looked at for each frame.
  BoundedQueue<Batch> queue;
  std::deque<PipelineResult> ready;
  std::int64_t decoded = 0;
  std::thread decoder;
};

Pipeline::Pipeline(VideoReader reader, const Engine& engine, Context context, const PipelineOptions& options)
    : state_(std::make_unique<State>(std::move(reader), engine, std::move(context), options)) {}
Pipeline::~Pipeline() = default;
Pipeline::Pipeline(Pipeline&&) noexcept = default;

std::optional<PipelineResult> Pipeline::next() {
  while (state_->ready.empty()) {
    state_->options.cancel.check();
    if (!state_->infer()) return std::nullopt;
  }
  PipelineResult result = std::move(state_->ready.front());
  state_->ready.pop_front();
  return result;
}

const Context& Pipeline::context() const { return state_->context; }

} // namespace lanner
