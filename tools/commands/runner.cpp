#include "commands/runner.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include <lanner/batch.h>
#include <lanner/draw.h>
#include <lanner/error.h>
#include <lanner/threads.h>
#include <lanner/upright.h>

#include "check.h"
#include "input/expected_frames.h"
#include "input/native_size.h"
#include "interrupt.h"
#include "options/limit_option.h"
#include "output/console.h"
#include "output/damage.h"

namespace lanner::tool {
namespace {

using Clock = std::chrono::steady_clock;

/// Most clips decoded in parallel where the batch has more frames: each has a decoder with its memory.
constexpr int most_at_once = 16;
constexpr std::uint64_t most_bytes_at_once = 512u << 20; ///< Images of one batch; then it runs.

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

/// Drawn for a report, which shows images of every task.
Image marked_picture(const Image& image, const TaskResult& result, const Task& task) {
  return can_draw(result.kind) ? draw_result(image, result, task) : image;
}

/// Whether preprocessing is part of the network, so that binding does nothing.
bool takes_pictures(const Engine& engine, const std::string& name) {
  for (const Binding& input : engine.inputs())
    if (input.name == name) return !input.image.empty();
  return false;
}

Image load_picture(const RunInput& input) {
  if (!input.source) return load_image(input.path, given_limits());
  const Content content = read_all(input.source, given_limits());
  return decode_image(content.bytes, given_limits(), input.path);
}

bool is_default(const FrameRange& range) {
  const FrameRange all;
  return range.start == all.start && range.end == all.end && range.rate == all.rate &&
         range.stride == all.stride && range.count == all.count;
}

/// FFmpeg's error for an MP4 without its tables does not say what to do.
Error without_tables(const Error& error) {
  return Error(
      error.code(),
      fmt::format(
          "{}; in a pipe the tables of an MP4 (moov) must come before its frames: name the file itself, "
          "write it by ffmpeg -i IN -c copy -movflags +faststart OUT.mp4, or send Matroska or MPEG-TS",
          error.message()));
}

/// Closes pipes that are no longer needed: a thread may be waiting for their writers.
class PipesClosed {
public:
  explicit PipesClosed(std::span<const RunInput> inputs) : inputs_(inputs) {}
  ~PipesClosed() {
    for (const RunInput& input : inputs_) input.stop.cancel();
  }
  PipesClosed(const PipesClosed&) = delete;
  PipesClosed& operator=(const PipesClosed&) = delete;

private:
  std::span<const RunInput> inputs_;
};

} // namespace

/// A clip in progress.
struct Runner::Clip {
  explicit Clip(const RunInput& from) : input(from) {}
  const RunInput& input;
  StreamInfo stream; ///< Set at its first frame.
  double expected = 0;
  std::string decoder_reason; ///< Set at its first frame.
  std::optional<MarkedClip> output;
  std::int64_t frames = 0;
};

void Runner::run(const std::vector<RunInput>& inputs) {
  totals_.failed = settings_.failed;
  alone_ = inputs.size() == 1 && settings_.failed == 0;
  const auto start = Clock::now();
  const double cpu = cpu_seconds();
  for (std::size_t i = 0; i < inputs.size();) {
    std::size_t end = i;
    while (end < inputs.size() && inputs[end].still == inputs[i].still) ++end;
    if (settings_.native_size && !inputs[i].still) end = i + 1; // All images of a batch have one size.
    const auto part = std::span(inputs).subspan(i, end - i);
    inputs[i].still ? run_stills(part) : run_clips(part);
    i = end;
  }
  totals_.seconds += seconds_since(start);
  totals_.cpu_seconds += cpu_seconds() - cpu;
}

Preprocess Runner::spec_of(std::int32_t width, std::int32_t height) const {
  return settings_.native_size ? with_native_size(declared_, width, height) : settings_.picture.spec;
}

/// Sets the preprocessing of the following images.
void Runner::use(const Preprocess& spec) {
  if (spec == settings_.picture.spec) return;
  settings_.picture.spec = spec;
  settings_.reader = TaskReader(settings_.reader.task(), engine_, spec);
  sizes_.reset();
}

/// Outputs are read in place, unless the numbers themselves are the answer.
Context Runner::create_context() const {
  Context context = engine_.create_context(
      {0, settings_.recorder != nullptr, settings_.reader.task().kind != TaskKind::none});
  for (const auto& [name, tensor] : settings_.inputs) context.bind(name, Item(tensor));
  return context;
}

void Runner::fail_input(const RunInput& input, const Error& error) {
  const bool named = error.message().starts_with(input.path + ": ");
  const Error whole(error.code(), named ? fmt::format("run {}", error.message())
                                        : fmt::format("run {}: {}", input.path, error.message()));
  if (alone_ || !is_of_input(error)) throw whole;
  print_note(whole.message());
  ++totals_.failed;
}

/// Runs on the caller's thread, while the first network and decoding continue with later frames.
void Runner::look_again(const Image& image, std::int64_t frame, TaskResult& result, FrameTimes& times) {
  if (!settings_.then) return;
  const auto start = Clock::now();
  const Trace trace = this->trace();
  const TraceScope scope(trace, "then", "encode", frame);
  settings_.then->run(image, result, {interrupt_token(), {}});
  times.then = seconds_since(start);
}

void Runner::say(const PictureAnswers& picture, const Image& image) {
  if (settings_.results)
    settings_.results->write({picture.source, picture.still, picture.frame, picture.pts}, picture.result,
                             image);
  if (settings_.lines) print_text(answer_text(settings_.reader, picture, settings_.name_sources));
  if (settings_.lines) flush_out(); // The reader may be waiting for this answer, or may have gone.
  if (!settings_.json && !settings_.json_to_stdout) return;
  const std::string line = answer_json(settings_.reader, picture);
  if (settings_.json) return settings_.json->write(line);
  print_json_text(line);
  flush_out();
}

/// An image that was read and waits for its answers.
struct Runner::Still {
  const RunInput& input;
  Image image;
  FrameTimes times;
};

void Runner::run_stills(std::span<const RunInput> inputs) {
  std::vector<Still> batch;
  std::uint64_t bytes = 0;
  ProgressBar bar("run");
  std::size_t done = 0;
  const auto run_all = [&] {
    run_batch(batch);
    done += batch.size();
    bar.update(static_cast<double>(done), static_cast<double>(inputs.size()), "images");
    batch.clear();
    bytes = 0;
  };
  for (const RunInput& input : inputs) {
    interrupt_token().check();
    const auto start = Clock::now();
    Image image;
    try {
      image = load_picture(input);
    } catch (const Error& error) {
      fail_input(input, error);
      continue;
    }
    // An error of the batch concerns no single image, this one does.
    const Preprocess spec = about("run", input.path, [&] {
      const Preprocess sized = spec_of(image.width, image.height);
      placement(sized, image.width, image.height);
      return sized;
    });
    if (spec != settings_.picture.spec) run_all();
    use(spec);
    bytes +=
        std::uint64_t{3} * static_cast<std::uint64_t>(image.width) * static_cast<std::uint64_t>(image.height);
    Still& still = batch.emplace_back(Still{input, std::move(image), {}});
    still.times.decode = seconds_since(start);
    if (batch.size() == static_cast<std::size_t>(settings_.batch) || bytes >= most_bytes_at_once) run_all();
  }
  run_all();
}

/// Repeats the last image where RunSizes asks for a larger batch.
void Runner::run_batch(std::vector<Still>& batch) {
  if (batch.empty()) return;
  if (!stills_) stills_ = create_context();
  // Each new native size is a new shape to the engine.
  if (!sizes_) sizes_.emplace(engine_, settings_.picture.input, settings_.batch, !settings_.native_size);
  const std::size_t size = sizes_->of(batch.size());
  std::vector<Image> images;
  for (const Still& still : batch) images.push_back(still.image);
  images.resize(size, images.back());
  FrameTimes times;
  about("run", batch[0].input.path, [&] {
    const auto start = Clock::now();
    try {
      stills_->bind(settings_.picture.input, images, &settings_.picture.spec);
      if (!takes_pictures(engine_, settings_.picture.input)) times.preprocess = seconds_since(start);
      stills_->run({}, {interrupt_token(), {}});
    } catch (const Error& error) {
      if (!settings_.native_size) throw;
      throw about_size(error, settings_.picture.spec);
    }
    times.infer = seconds_since(start);
  });
  if (settings_.recorder) settings_.recorder->take_profile(*stills_);
  sizes_->learn(engine_, *stills_, batch.size());
  const auto count = static_cast<double>(batch.size());
  for (std::size_t n = 0; n < batch.size(); ++n) {
    Still& still = batch[n];
    still.times.preprocess = times.preprocess / count;
    still.times.infer = times.infer / count;
    Outputs outputs;
    for (const Binding& output : engine_.outputs())
      if (!output.sequence) outputs[output.name] = batch_part(stills_->output(output.name).tensor, n, size);
    about("run", still.input.path, [&] { take_picture(still, outputs); });
  }
}

void Runner::take_picture(Still& still, const Outputs& outputs) {
  const RunInput& input = still.input;
  const Image& image = still.image;
  FrameTimes& times = still.times;
  TaskResult result = settings_.reader.read(outputs, image.width, image.height, 0, given_limits());
  look_again(image, 0, result, times);
  PictureAnswers picture = describe(input, image, settings_.reader, std::move(result));
  picture.outputs = &outputs;
  say(picture, image);
  const bool recorded = settings_.recorder && settings_.recorder->wants_next();
  if (!input.output.empty() || recorded) {
    const auto start = Clock::now();
    const Image marked = marked_picture(image, picture.result, settings_.reader.task());
    times.draw = seconds_since(start);
    if (!input.output.empty()) write_picture(input, marked, alone_);
    times.encode = seconds_since(start) - times.draw;
    if (recorded) settings_.recorder->keep(picture, *settings_.reader.task().kind, image, marked);
    times.report = seconds_since(start) - times.draw - times.encode;
  }
  totals_.sums += times;
  if (settings_.recorder) settings_.recorder->count(times);
  ++totals_.pictures;
}

VideoReader Runner::open_clip(Clip& clip, std::size_t at_once) const {
  const RunInput& input = clip.input;
  VideoReaderOptions options;
  options.demuxer.cancel = interrupt_token();
  options.demuxer.limits = options.decoder.limits = given_limits();
  options.decoder.raise_on_error = !settings_.conceal;
  if (!engine_.device().is_host()) { // Decodes on the network's GPU where that GPU can.
    options.decoder.device.reset();
    options.decoder.gpu = engine_.device();
  }
  if (at_once > 1) options.decoder.threads = std::max(1, default_threads() / static_cast<int>(at_once));
  VideoReader reader(input.source ? input.source : open_path(input.path, given_limits()), options);
  clip.stream = reader.stream();
  clip.expected = expected_frames(reader);
  clip.decoder_reason = reader.decoder_reason();
  return reader;
}

/// Opens a clip at its native size, which must be known before its frames; false where it cannot be opened.
bool Runner::open_ahead(Clip& clip, OpenClip& opener) {
  std::shared_ptr<VideoReader> reader;
  try {
    reader = std::make_shared<VideoReader>(open_clip(clip, 1));
  } catch (const Error&) {
    end_clip(clip, std::current_exception());
    return false;
  }
  const StreamInfo stream = upright_stream(clip.stream);
  about("run", clip.input.path, [&] { use(spec_of(stream.width, stream.height)); });
  opener = [reader] { return std::move(*reader); };
  return true;
}

std::optional<PipelineResult> Runner::next_frame(Pipeline& pipeline, const RunInput& input) {
  if (!settings_.native_size) return pipeline.next();
  return about("run", input.path, [&] {
    try {
      return pipeline.next();
    } catch (const Error& error) {
      throw about_size(error, settings_.picture.spec);
    }
  });
}

void Runner::run_clips(std::span<const RunInput> inputs) {
  std::vector<std::unique_ptr<Clip>> clips;
  std::vector<OpenClip> openers;
  PipelineOptions options;
  options.input = settings_.picture.input;
  options.batch = settings_.batch;
  options.range = settings_.range;
  options.side_by_side =
      settings_.clips_at_once > 0 ? settings_.clips_at_once : std::min(settings_.batch, most_at_once);
  options.trace = trace();
  options.cancel = interrupt_token();
  const std::size_t at_once = std::min(inputs.size(), static_cast<std::size_t>(options.side_by_side));
  for (const RunInput& input : inputs) {
    Clip& clip = *clips.emplace_back(std::make_unique<Clip>(input));
    openers.emplace_back([this, &clip, at_once] { return open_clip(clip, at_once); });
  }
  if (settings_.native_size && !open_ahead(*clips[0], openers[0])) return;
  options.preprocess = settings_.picture.spec;
  Pipeline pipeline(std::move(openers), engine_, create_context(), options);
  const PipesClosed closed(inputs);
  ProgressBar bar("run");
  std::int64_t frames = 0;
  while (const auto result = next_frame(pipeline, inputs[0])) {
    Clip& clip = *clips[result->clip];
    if (result->ended) {
      end_clip(clip, result->error);
      continue;
    }
    about("run", clip.input.path, [&] { take_frame(clip, *result); });
    const bool known = inputs.size() == 1 && is_default(settings_.range);
    bar.update(static_cast<double>(++frames), known ? clip.expected : 0, "frames");
  }
  interrupt_token().check();
  if (settings_.recorder) settings_.recorder->take_profile(pipeline.context());
}

/// Decoding on a CPU for a network on a GPU is reported.
void Runner::tell_decoder(const Clip& clip, const Image& image) {
  if (!settings_.notes || engine_.device().is_host() || !image.device.is_host()) return;
  if (told_.insert(clip.decoder_reason).second)
    print_note(fmt::format("note: {} is decoded on the CPU ({})", clip.input.path, clip.decoder_reason));
}

void Runner::take_frame(Clip& clip, const PipelineResult& result) {
  const Image& image = result.frame.image;
  if (clip.frames++ == 0) {
    tell_decoder(clip, image);
    if (clip.input.form != OutputForm::none) clip.output.emplace(clip.input, clip.stream, settings_.range);
  }
  FrameTimes times{result.decode_seconds, result.infer_seconds, 0};
  TaskResult found = settings_.reader.read(result.outputs, image.width, image.height, 0, given_limits());
  look_again(image, result.frame.index, found, times);
  PictureAnswers picture = describe(clip.input, result.frame, settings_.reader, std::move(found));
  picture.outputs = &result.outputs;
  say(picture, image);
  const bool recorded = settings_.recorder && settings_.recorder->wants_next();
  if (clip.output || recorded) {
    const auto start = Clock::now();
    const Trace trace = this->trace();
    const Image marked = [&] {
      const TraceScope scope(trace, "draw", "encode", result.frame.index);
      return marked_picture(image, picture.result, settings_.reader.task());
    }();
    times.draw = seconds_since(start);
    if (clip.output) {
      const TraceScope scope(trace, "encode", "encode", result.frame.index);
      clip.output->write(marked, result.frame);
    }
    times.encode = seconds_since(start) - times.draw;
    if (recorded) {
      const TraceScope scope(trace, "report", "encode", result.frame.index);
      settings_.recorder->keep(picture, *settings_.reader.task().kind, image, marked);
    }
    times.report = seconds_since(start) - times.draw - times.encode;
  }
  totals_.sums += times;
  if (settings_.recorder) settings_.recorder->count(times);
}

void Runner::end_clip(Clip& clip, const std::exception_ptr& error) {
  try {
    const bool opened = clip.stream.width > 0;
    if (error) or_conceal(settings_.conceal || !opened, [&] { std::rethrow_exception(error); });
    const bool ranged = clip.stream.width > 0 && !is_default(settings_.range);
    check(clip.frames > 0, ErrorCode::bad_data, "{}",
          ranged ? "no frame is between --start and --end" : "no frame could be decoded");
  } catch (const Error& failure) {
    clip.output.reset();
    const bool tables = clip.frames == 0 && clip.input.piped_mp4 && failure.code() != ErrorCode::cancelled;
    return fail_input(clip.input, tables ? without_tables(failure) : failure);
  }
  const auto end = Clock::now();
  if (clip.output) about("run", clip.input.path, [&] { clip.output->finish(); });
  clip.output.reset();
  totals_.sums.encode += seconds_since(end);
  totals_.frames += clip.frames;
  ++totals_.clips;
}

} // namespace lanner::tool
