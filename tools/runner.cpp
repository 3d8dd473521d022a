#include "runner.h"

#include <chrono>

#include <fmt/format.h>

#include <lanner/error.h>

#include "check.h"
#include "clip_output.h"
#include "console.h"
#include "damage.h"
#include "draw.h"
#include "interrupt.h"
#include "limit_option.h"

namespace lanner::tool {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

PictureAnswers describe(const RunInput& input, const Image& image, std::vector<Answer> answers) {
  PictureAnswers picture;
  picture.source = input.path;
  picture.still = input.still;
  picture.width = image.width;
  picture.height = image.height;
  picture.answers = std::move(answers);
  return picture;
}

PictureAnswers describe(const RunInput& input, const Frame& frame, std::vector<Answer> answers) {
  PictureAnswers picture = describe(input, frame.image, std::move(answers));
  picture.frame = frame.index;
  if (frame.pts != no_pts) picture.pts = frame.seconds();
  return picture;
}

/// Whether preprocessing is a part of the network, and binding does nothing.
bool takes_pictures(const Engine& engine, const std::string& name) {
  for (const Binding& input : engine.inputs())
    if (input.name == name) return !input.picture.empty();
  return false;
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
  const double cpu = cpu_seconds();
  about("run", input.path, [&] { input.still ? run_still(input) : run_clip(input); });
  totals_.seconds += seconds_since(start);
  totals_.cpu_seconds += cpu_seconds() - cpu;
}

void Runner::say(const PictureAnswers& picture) {
  if (settings_.lines) print_text(answer_text(settings_.task, picture, settings_.name_sources));
  if (!settings_.json && !settings_.json_to_stdout) return;
  const std::string line = answer_json(settings_.task, picture);
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
  if (!takes_pictures(engine_, settings_.picture.input)) times.preprocess = seconds_since(start);
  stills_->run({}, {interrupt_token(), {}});
  times.infer = seconds_since(start);
  Outputs outputs;
  for (const Binding& output : engine_.outputs())
    if (!output.sequence)
      outputs[output.name] = first_of(stills_->output(output.name).tensor, settings_.still_batch);
  PictureAnswers picture =
      describe(input, image, read_answers(settings_.task, outputs, spec, image.width, image.height));
  picture.outputs = &outputs;
  say(picture);
  const bool recorded = settings_.recorder && settings_.recorder->wants_next();
  if (!input.output.empty() || recorded) {
    start = Clock::now();
    const Image marked = annotate(image, settings_.task, picture.answers);
    times.draw = seconds_since(start);
    if (!input.output.empty()) save_image(input.output, marked);
    times.encode = seconds_since(start) - times.draw;
    if (recorded) settings_.recorder->keep(picture, settings_.task.kind, image, marked);
    times.report = seconds_since(start) - times.draw - times.encode;
  }
  totals_.sums += times;
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
  while (auto result = or_conceal(settings_.conceal, [&] { return pipeline.next(); })) {
    const Image& image = result->frame.image;
    PictureAnswers picture = describe(
        input, result->frame,
        read_answers(settings_.task, result->outputs, settings_.picture.spec, image.width, image.height));
    picture.outputs = &result->outputs;
    say(picture);
    FrameTimes times{result->decode_seconds, result->infer_seconds, 0};
    const bool recorded = settings_.recorder && settings_.recorder->wants_next();
    if (output || recorded) {
      const auto start = Clock::now();
      const Image marked = [&] {
        const TraceScope scope(options.trace, "draw", "encode", result->frame.index);
        return annotate(image, settings_.task, picture.answers);
      }();
      times.draw = seconds_since(start);
      if (output) {
        const TraceScope scope(options.trace, "encode", "encode", result->frame.index);
        output->write(marked, result->frame.pts);
      }
      times.encode = seconds_since(start) - times.draw;
      if (recorded) {
        const TraceScope scope(options.trace, "report", "encode", result->frame.index);
        settings_.recorder->keep(picture, settings_.task.kind, image, marked);
      }
      times.report = seconds_since(start) - times.draw - times.encode;
    }
    totals_.sums += times;
    if (settings_.recorder) settings_.recorder->count(times);
    bar.update(static_cast<double>(++frames), expected, "frames");
  }
  interrupt_token().check();
  check(frames > 0, ErrorCode::bad_data, "no frame could be decoded");
  const auto end = Clock::now();
  if (output) output->finish();
  totals_.sums.encode += seconds_since(end);
  if (settings_.recorder) settings_.recorder->take_profile(pipeline.context());
  totals_.frames += frames;
  ++totals_.clips;
}

} // namespace lanner::tool
