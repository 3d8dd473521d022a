#include "runner.h"

#include <chrono>

#include <fmt/format.h>

#include <lanner/error.h>

#include "check.h"
#include "clip_output.h"
#include "console.h"
#include "draw.h"
#include "interrupt.h"
#include "limit_option.h"

namespace lanner::tool {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

PictureAnswers describe(const RunInput& input, const Image& image, const TaskReader& reader,
                        TaskResult result) {
  PictureAnswers picture;
  picture.source = input.path;
  picture.still = input.still;
  picture.width = image.width;
  picture.height = image.height;
  picture.answers = answers_of(reader, result);
  picture.result = std::move(result);
  return picture;
}

PictureAnswers describe(const RunInput& input, const Frame& frame, const TaskReader& reader,
                        TaskResult result) {
  PictureAnswers picture = describe(input, frame.image, reader, std::move(result));
  picture.frame = frame.index;
  if (frame.pts != no_pts) picture.pts = frame.seconds();
  return picture;
}

/// The first of a batch; the whole of what is not batched.
Tensor first_of(const Tensor& tensor, int batch) {
  if (batch == 1 || tensor.rank() == 0 || tensor.shape()[0] != batch || tensor.dtype() == DType::string)
    return tensor;
  Shape shape = tensor.shape();
  shape[0] = 1;
  return Tensor::wrap(const_cast<void*>(tensor.data()), tensor.dtype(), shape, tensor.owner());
}

} // namespace

void Runner::run(const RunInput& input) {
  const auto start = Clock::now();
  about("run", input.path, [&] { input.still ? run_still(input) : run_clip(input); });
  totals_.seconds += seconds_since(start);
}

void Runner::say(const PictureAnswers& picture) {
  if (settings_.lines) print_text(answer_text(settings_.reader, picture, settings_.name_sources));
  if (!settings_.json && !settings_.json_to_stdout) return;
  const std::string line = answer_json(settings_.reader, picture);
  if (settings_.json)
    settings_.json->write(line);
  else
    print_json(line);
}

void Runner::run_still(const RunInput& input) {
  const Trace trace = this->trace();
  FrameTimes times;
  auto start = Clock::now();
  const Image image = load_image(input.path, given_limits());
  const Preprocess& spec = settings_.picture.spec;
  times.decode = seconds_since(start);
  if (!stills_) stills_ = engine_.create_context({0, settings_.recorder != nullptr});
  start = Clock::now();
  const std::vector<Image> batch(static_cast<std::size_t>(settings_.still_batch), image);
  stills_->bind(settings_.picture.input, batch, &spec);
  stills_->run({}, {interrupt_token(), {}});
  times.infer = seconds_since(start);
  Outputs outputs;
  for (const Binding& output : engine_.outputs())
    if (!output.sequence)
      outputs[output.name] = first_of(stills_->output(output.name).tensor, settings_.still_batch);
  PictureAnswers picture =
      describe(input, image, settings_.reader,
               settings_.reader.read(outputs, image.width, image.height, 0, given_limits()));
  picture.outputs = &outputs;
  say(picture);
  const bool recorded = settings_.recorder && settings_.recorder->wants_next();
  if (!input.output.empty() || recorded) {
    start = Clock::now();
    const Image marked = annotate(image, *settings_.reader.task().kind, picture.answers);
    if (!input.output.empty()) save_image(input.output, marked);
    times.encode = seconds_since(start);
    if (recorded) settings_.recorder->keep(picture, *settings_.reader.task().kind, image, marked);
  }
  if (settings_.recorder) {
    settings_.recorder->count(times);
    settings_.recorder->take_profile(*stills_);
  }
  ++totals_.pictures;
}

void Runner::run_clip(const RunInput& input) {
  VideoReaderOptions reader_options;
  reader_options.demuxer.cancel = interrupt_token();
  reader_options.demuxer.limits = reader_options.decoder.limits = given_limits();
  reader_options.decoder.raise_on_error = !settings_.conceal;
  VideoReader reader(input.pipe ? input.pipe : open_path(input.path, given_limits()), reader_options);
  const StreamInfo stream = reader.stream();
  const double expected = expected_frames(reader);
  std::optional<ClipOutput> output;
  if (!input.output.empty()) output.emplace(input.output, stream, PixelChoice::playable);
  PipelineOptions options;
  options.input = settings_.picture.input;
  options.preprocess = settings_.picture.spec;
  options.batch = settings_.batch;
  options.trace = trace();
  options.cancel = interrupt_token();
  Pipeline pipeline(std::move(reader), engine_, engine_.create_context({0, settings_.recorder != nullptr}),
                    options);
  ProgressBar bar("run");
  std::int64_t frames = 0;
  while (auto result = pipeline.next()) {
    const Image& image = result->frame.image;
    PictureAnswers picture =
        describe(input, result->frame, settings_.reader,
                 settings_.reader.read(result->outputs, image.width, image.height, 0, given_limits()));
    picture.outputs = &result->outputs;
    say(picture);
    FrameTimes times{result->decode_seconds, result->infer_seconds, 0};
    const bool recorded = settings_.recorder && settings_.recorder->wants_next();
    if (output || recorded) {
      const auto start = Clock::now();
      const TraceScope scope(options.trace, "encode", "encode", result->frame.index);
      const Image marked = annotate(image, *settings_.reader.task().kind, picture.answers);
      if (output) output->write(marked, result->frame.pts);
      times.encode = seconds_since(start);
      if (recorded) settings_.recorder->keep(picture, *settings_.reader.task().kind, image, marked);
    }
    if (settings_.recorder) settings_.recorder->count(times);
    bar.update(static_cast<double>(++frames), expected, "frames");
  }
  interrupt_token().check();
  check(frames > 0, ErrorCode::bad_data, "no frame could be decoded");
  if (output) output->finish();
  if (settings_.recorder) settings_.recorder->take_profile(pipeline.context());
  totals_.frames += frames;
  ++totals_.clips;
}

} // namespace lanner::tool
