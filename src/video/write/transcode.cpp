#include <lanner/transcode.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include <lanner/upright.h>

#include "base/check.h"
#include "base/threads/sole_use.h"
#include "video/read/shared_source.h"
#include "video/write/deinterlacer.h"
#include "video/write/encoder_options.h"
#include "video/write/quality.h"
#include "video/write/stream_facts.h"
#include "video/write/transcode_options.h"

namespace lanner {

namespace {

using Clock = std::chrono::steady_clock;
constexpr double progress_seconds = 0.5;

VideoReaderOptions reader_options(const TranscodeOptions& options) {
  VideoReaderOptions reader = options.reader;
  reader.rotate = false; // Samples are turned without a change: see upright_image().
  reader.format.reset();
  reader.preprocess.reset();
  reader.decoder.output = Device{};
  reader.decoder.sei = true; // Brightness may stand in the pictures alone.
  reader.decoder.raise_on_error = !options.conceal;
  reader.demuxer.cancel = options.cancel;
  return reader;
}

/// Frames that a part may have; 0 where the container does not say.
double expected_frames(const VideoReader& reader, double start, double end) {
  const StreamInfo& stream = reader.stream();
  const double rate = stream.average_rate.to_double(), duration = reader.demuxer().duration();
  if (start <= 0 && std::isinf(end) && stream.frames > 0) return static_cast<double>(stream.frames);
  return std::max(0.0, std::round((std::min(end, duration) - start) * rate));
}

/// FFmpeg's name of the container that a file will have; empty where only its muxer knows.
std::string format_of_file(const std::string& path, const MuxerOptions& options) {
  if (!options.format.empty()) return options.format;
  std::string extension = std::filesystem::path(path).extension().string();
  std::ranges::transform(extension, extension.begin(), [](unsigned char c) { return std::tolower(c); });
  return std::string(format_of_extension(extension));
}

/// The frames of a part, at times from the first frame of the clip on.
class Part {
public:
  Part(VideoReader& reader, bool seekable, double start, double end)
      : reader_(reader), seekable_(seekable), start_(start), end_(end) {}

  std::optional<Frame> next() {
    while (true) {
      std::optional<Frame> frame = begun_ ? reader_.next() : first();
      begun_ = true;
      if (!frame || frame->pts == no_pts) return frame;
      if (first_ == no_pts) first_ = frame->pts;
      const double time = since(frame->pts, frame->time_base);
      if (time >= end_) return std::nullopt;
      if (start_ > 0 && time < start_ && time + seconds_of(frame->duration, frame->time_base) <= start_)
        continue;
      cut(*frame, time);
      return frame;
    }
  }
  /// Seconds of the clip's own clock at its first frame.
  double origin(const Rational& base) const { return first_ == no_pts ? 0 : seconds_of(first_, base); }

private:
  std::optional<Frame> first() {
    if (seekable_) reader_.rewind();
    if (!(start_ > 0) || !seekable_) return reader_.next();
    const std::shared_ptr<const StreamIndex> index = reader_.index();
    if (index->frames.empty() || index->frames[0].pts == no_pts) return reader_.next();
    first_ = index->frames[0].pts;
    const auto shown = [&](const IndexEntry& entry) {
      return entry.pts != no_pts &&
             since(entry.pts, index->time_base) + seconds_of(entry.duration, index->time_base) > start_;
    };
    const auto found = std::ranges::find_if(index->frames, shown);
    if (found == index->frames.end()) return std::nullopt;
    return reader_.at(found - index->frames.begin());
  }

  /// Seconds from the first frame on.
  double since(std::int64_t pts, const Rational& base) const {
    std::int64_t ticks = 0;
    check(!__builtin_sub_overflow(pts, first_, &ticks), ErrorCode::bad_data,
          "time {} of a frame: cannot be written", pts);
    return seconds_of(ticks, base);
  }

  /// The last frame is shown to the end of the part.
  void cut(Frame& frame, double time) const {
    const double left = (end_ - time) / frame.time_base.to_double();
    if (std::isfinite(left) && static_cast<double>(frame.duration) > left)
      frame.duration = std::max<std::int64_t>(1, std::llround(left));
  }

  VideoReader& reader_;
  bool seekable_;
  double start_, end_;
  std::int64_t first_ = no_pts;
  bool begun_ = false;
};

} // namespace

struct Transcoder::State {
  State(SourcePtr given, TranscodeOptions chosen)
      : options(std::move(chosen)), source(shared_source(std::move(given))),
        reader(source, reader_options(options)) {}

  void tell(const std::string& line) const {
    if (options.note) options.note(line);
  }

  /// What the pictures are, by the container and the first of them.
  ClipFacts facts(const Frame& first) const {
    ClipFacts clip;
    clip.stream = options.keep_rotation ? reader.stream() : upright_stream(reader.stream());
    clip.yuv = format_info(first.image.format).yuv;
    if (first.interlaced && !options.deinterlace)
      clip.fields = first.top_field_first ? VideoFields::top_first : VideoFields::bottom_first;
    clip.hdr = hdr_metadata(first.sei, reader.stream().codec);
    const StreamFacts told = stream_facts(reader.demuxer(), reader.stream().index);
    if (!told.alpha_left_out.empty())
      tell(fmt::format("the clip's alpha is left out: it is {}", told.alpha_left_out));
    const HdrMetadata& of_container = told.hdr;
    if (!clip.hdr.mastering) clip.hdr.mastering = of_container.mastering;
    if (!clip.hdr.light) clip.hdr.light = of_container.light;
    if (clip.hdr.mastering && !is_valid(*clip.hdr.mastering)) {
      tell("the clip's mastering display is left out: its values are out of range (" +
           to_text(*clip.hdr.mastering) + ")");
      clip.hdr.mastering.reset();
    }
    return clip;
  }

  VideoWriterOptions writer_options(std::string_view format, const ClipFacts& clip, const Part& part,
                                    double start, double end) const {
    VideoWriterOptions writer(encoder_for_clip(options, format, clip));
    writer.muxer = options.muxer;
    writer.on_size_change = options.on_size_change;
    const double origin = part.origin(reader.stream().time_base);
    if (start > 0) writer.begin = writer.copied.begin = origin + start;
    writer.copied.end = origin + end;
    writer.copied.demuxer = options.reader.demuxer;
    writer.copied.demuxer.cancel = options.cancel;
    writer.copied.audio = options.audio;
    writer.copied.subtitles = options.subtitles;
    writer.copied.attachments = options.attachments;
    writer.copied.chapters = options.chapters;
    writer.copied.tags = options.tags;
    if (source->seekable())
      writer.copied.source = source;
    else if (reader.demuxer().streams().size() > 1)
      tell("the input is not seekable, so only its video is written; give a file to keep the other streams");
    if (options.keep_rotation)
      writer.mirror = reader.stream().mirror, writer.rotation = reader.stream().rotation;
    writer.hdr = clip.hdr;
    writer.fields = clip.fields;
    writer.note = options.note;
    if (!marks_fields(writer.encoder, clip.fields))
      tell(fmt::format(
          "frames are interlaced, which the {} stream does not say; deinterlace makes them progressive",
          writer.encoder.codec));
    return writer;
  }

  /// Turning keeps samples of YUV as they are, so what the clip does not say of them stays open.
  Frame upright(Frame frame) const {
    if (options.keep_rotation) return frame;
    const bool open = frame.image.color.matrix == ColorMatrix::unspecified;
    frame.image = upright_image(frame);
    if (open && format_info(frame.image.format).yuv) frame.image.color.matrix = ColorMatrix::unspecified;
    return frame;
  }

  void report(bool ended) {
    if (!options.progress) return;
    const auto now = Clock::now();
    if (!ended && std::chrono::duration<double>(now - reported).count() < progress_seconds) return;
    reported = now;
    options.progress({result.frames, expected, writer->seconds(), writer->bytes(),
                      std::chrono::duration<double>(now - began).count(), ended});
  }

  void write(const Frame& frame) {
    writer->write(upright(frame));
    ++result.frames;
    report(false);
  }

  void write_through(Deinterlacer& deinterlacer, const Frame* frame) {
    deinterlacer.send(frame);
    while (const std::optional<Frame> whole = deinterlacer.receive()) write(*whole);
  }

  void run(std::optional<Frame> frame, Part& part) {
    std::unique_ptr<Deinterlacer> deinterlacer;
    if (options.deinterlace) deinterlacer = create_deinterlacer();
    for (; frame; frame = part.next()) {
      options.cancel.check();
      if (deinterlacer)
        write_through(*deinterlacer, &*frame);
      else
        write(*frame);
    }
    if (deinterlacer) write_through(*deinterlacer, nullptr);
    options.cancel.check();
  }

  /// `muxer` is null for a file.
  TranscodeResult transcode(const std::string& path, std::unique_ptr<Muxer> muxer, double start, double end) {
    check(start >= 0 && start < end, ErrorCode::invalid_argument,
          "transcode: from {:g} s to {:g} s, expected a start of 0 or more before the end", start, end);
    result = {};
    began = reported = Clock::now();
    expected = expected_frames(reader, start, end);
    Part part(reader, source->seekable(), start, end);
    std::optional<Frame> first = part.next();
    check(first.has_value(), ErrorCode::invalid_argument, "{}: no frame is shown from {:g} s to {:g} s",
          source->name(), start, end);
    const ClipFacts clip = facts(*first);
    const std::string format = muxer ? muxer->format() : format_of_file(path, options.muxer);
    VideoWriterOptions told = writer_options(format, clip, part, start, end);
    QualityMeter meter;
    if (options.quality) {
      told.picture = [&](const Image& image, double seconds) { meter.picture(image, seconds); };
      told.packet = [&](const Packet* packet, const StreamInfo& stream) { meter.packet(packet, stream); };
    }
    writer = muxer ? std::make_unique<VideoWriter>(std::move(muxer), told)
                   : std::make_unique<VideoWriter>(path, told);
    run(std::move(first), part);
    writer->finish();
    report(true);
    result.seconds = writer->seconds();
    result.bytes = writer->bytes();
    result.paths = writer->paths();
    result.quality = meter.take();
    return std::move(result);
  }

  SoleUse use{"Transcoder"};
  TranscodeOptions options;
  SourcePtr source;
  VideoReader reader;
  std::unique_ptr<VideoWriter> writer;
  TranscodeResult result;
  double expected = 0;
  Clock::time_point began, reported;
};

Transcoder::Transcoder(SourcePtr source, TranscodeOptions options)
    : state_(std::make_unique<State>(std::move(source), std::move(options))) {}
Transcoder::~Transcoder() = default;
Transcoder::Transcoder(Transcoder&&) noexcept = default;
Transcoder& Transcoder::operator=(Transcoder&&) noexcept = default;

const StreamInfo& Transcoder::stream() const noexcept {
  return state_->reader.stream();
}
const Demuxer& Transcoder::demuxer() const noexcept {
  return state_->reader.demuxer();
}

namespace {

/// Files that were begun are removed at once, not when the Transcoder ends.
template<typename State, typename Body>
TranscodeResult ending_writer(State& state, Body&& body) {
  const SoleUse::Call call(state.use);
  try {
    TranscodeResult result = body();
    state.writer.reset();
    return result;
  } catch (...) {
    state.writer.reset();
    throw;
  }
}

} // namespace

TranscodeResult Transcoder::write(const std::string& path, double start, double end) {
  return ending_writer(*state_, [&] { return state_->transcode(path, nullptr, start, end); });
}

TranscodeResult Transcoder::write(std::unique_ptr<Muxer> muxer, double start, double end) {
  check(muxer != nullptr, ErrorCode::invalid_argument, "transcode: no muxer was given");
  return ending_writer(*state_, [&] { return state_->transcode("", std::move(muxer), start, end); });
}

TranscodeResult transcode(SourcePtr source, const std::string& path, const TranscodeOptions& options) {
  return Transcoder(std::move(source), options).write(path);
}

} // namespace lanner
