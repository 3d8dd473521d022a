// Video files from pictures.

#include <cmath>
#include <filesystem>
#include <memory>
#include <mutex>

#include <lanner/decoder.h>
#include <lanner/error.h>
#include <lanner/transcode.h>
#include <lanner/video_writer.h>

#include "calls/bindings.h"
#include "calls/check.h"
#include "calls/option_rows.h"
#include "video/video_output.h"

namespace lanner::python {
namespace {

namespace fs = std::filesystem;

/// A VideoWriter as Python has it, which may be closed while another thread writes.
class Writer {
public:
  Writer(VideoOutput output, VideoWriterOptions options) {
    rate_ = options.encoder.rate;
    device_ = options.encoder.device;
    options.note = [notes = notes_](const std::string& line) { notes->add(line); };
    writer_ = output.muxer ? std::make_shared<VideoWriter>(std::move(output.muxer), options)
                           : std::make_shared<VideoWriter>(output.path, options);
  }

  void write(nb::handle picture, nb::handle pts, nb::handle time_base, nb::handle seconds) {
    const Frame frame = timed(picture, pts, time_base, seconds);
    const ReleasedGil release;
    const std::shared_ptr<VideoWriter> writer = current();
    check(writer != nullptr, ErrorCode::invalid_argument, "VideoWriter: it is closed; open another file");
    writer->write(frame);
  }
  void write_audio(nb::handle samples, std::optional<double> seconds) {
    AudioSamples given;
    const bool timed = nb::isinstance<AudioSamples>(samples);
    if (timed)
      given = nb::cast<const AudioSamples&>(samples);
    else
      given.data = to_samples(samples);
    if (seconds) given.pts_seconds = *seconds;
    const ReleasedGil release;
    const std::shared_ptr<VideoWriter> writer = current();
    check(writer != nullptr, ErrorCode::invalid_argument, "VideoWriter: it is closed; open another file");
    if (timed)
      writer->write_audio(given);
    else
      writer->write_audio(given.data, seconds);
  }
  void close() {
    const ReleasedGil release;
    const std::shared_ptr<VideoWriter> writer = current();
    if (!writer) return;
    writer->finish();
    drop();
  }
  /// What was begun is removed.
  void discard() {
    const ReleasedGil release;
    drop();
  }
  bool closed() const { return !current(); }
  std::vector<std::string> notes() const { return notes_->all(); }

private:
  /// Lines that come from the thread that writes.
  class Notes {
  public:
    void add(const std::string& line) {
      const std::lock_guard lock(mutex_);
      lines_.push_back(line);
    }
    std::vector<std::string> all() const {
      const std::lock_guard lock(mutex_);
      return lines_;
    }

  private:
    mutable std::mutex mutex_;
    std::vector<std::string> lines_;
  };

  /// [channels, samples]; of one channel the first dimension may lack.
  static Tensor to_samples(nb::handle object) {
    if (object.is_none())
      refuse("samples", object, "is of the wrong type", "AudioSamples, or an array [channels, samples]");
    const Tensor samples = to_tensor(object);
    return samples.rank() == 1 ? samples.reshaped({1, samples.shape()[0]}) : samples;
  }

  Frame to_frame(nb::handle object) const {
    Frame frame;
    if (nb::isinstance<Frame>(object)) {
      frame = nb::cast<const Frame&>(object);
      if (frame.stream.handle) wait_for(frame.image.device, frame.stream);
    } else if (object.is_none()) {
      refuse("image", object, "is of the wrong type",
             "an Image, a Frame or uint8 [height, width, 3], or 4 with alpha");
    } else {
      frame.image = nb::isinstance<Image>(object) ? nb::cast<Image>(object) : to_image(to_tensor(object));
    }
    if (frame.image.device != device_) frame.image = on_host(frame.image);
    return frame;
  }

  static Image to_image(const Tensor& given) {
    const Tensor pixels = given.device().is_host() ? given : given.to(Device{});
    const bool alpha = pixels.shape().rank() == 3 && pixels.shape()[2] == 4;
    return Image::from_tensor(pixels, alpha ? PixelFormat::rgba32 : PixelFormat::rgb24);
  }

  /// The picture with its time, if it has one.
  Frame timed(nb::handle picture, nb::handle pts, nb::handle time_base, nb::handle seconds) const {
    Frame frame = to_frame(picture);
    check(pts.is_none() || seconds.is_none(), ErrorCode::invalid_argument,
          "write: pts and seconds are two ways to say one thing; give one");
    check(time_base.is_none() || !pts.is_none(), ErrorCode::invalid_argument,
          "write: time_base is of pts, which is not given");
    const bool own = frame.pts != no_pts && frame.time_base.den > 0;
    if (!own) frame.time_base = {rate_.den, rate_.num};
    if (!time_base.is_none()) frame.time_base = to_fraction(time_base);
    if (!pts.is_none()) frame.pts = to_value<std::int64_t>("pts", pts, "int");
    if (seconds.is_none()) return frame;
    constexpr Rational fine{1, 90000};
    const double ticks = to_value<double>("seconds", seconds, "float") * static_cast<double>(fine.den);
    check(std::abs(ticks) < 9e15, ErrorCode::invalid_argument,
          "write: seconds: a time that no file can hold");
    if (own)
      frame.duration =
          std::llround(seconds_of(frame.duration, frame.time_base) * static_cast<double>(fine.den));
    frame.pts = std::llround(ticks);
    frame.time_base = fine;
    return frame;
  }

  static Rational to_fraction(nb::handle value) {
    return with_option_named(
        "time_base", value,
        [&] {
          const nb::object exact = nb::module_::import_("fractions").attr("Fraction")(value);
          const Rational base{nb::cast<std::int64_t>(exact.attr("numerator")),
                              nb::cast<std::int64_t>(exact.attr("denominator"))};
          check(base.num > 0 && base.num <= INT32_MAX && base.den <= INT32_MAX, ErrorCode::invalid_argument,
                "time_base: {}/{}, expected seconds of a tick, like Fraction(1, 90000)", base.num, base.den);
          return base;
        },
        "a Fraction");
  }

  std::shared_ptr<VideoWriter> current() const {
    const std::lock_guard lock(mutex_);
    return writer_;
  }
  void drop() {
    std::shared_ptr<VideoWriter> last; // Ends behind the lock.
    const std::lock_guard lock(mutex_);
    last.swap(writer_);
  }

  mutable std::mutex mutex_;
  std::shared_ptr<VideoWriter> writer_; ///< Null once closed.
  std::shared_ptr<Notes> notes_ = std::make_shared<Notes>();
  Rational rate_;
  Device device_; ///< That encodes.
};

std::span<const Keyword> writer_keywords() {
  static const std::vector<Keyword> keywords = [] {
    std::vector<Keyword> all = keywords_of(writer_option_table(), true);
    for (Keyword& keyword : keywords_of(transcode_option_table(), true,
                                        {"on_size_change", "keep_rotation", "deinterlace", "audio",
                                         "subtitles", "attachments", "chapters", "tags"}))
      all.push_back(std::move(keyword));
    for (Keyword& keyword : keywords_of(audio_encoder_option_table(), false))
      all.push_back(std::move(keyword));
    all.push_back(Keyword{"on_size_change", "str", "'error'"}.of(
        "what happens to a picture of another size: scale stretches it, pad keeps its aspect ratio and adds "
        "black bars, segment begins another file (clip_2.mp4), error raises"));
    all.push_back(Keyword{"copy_from", "str | os.PathLike[str] | bytes | typing.BinaryIO | VideoReader"}.of(
        "a clip whose other streams are copied unchanged, with their times"));
    all.push_back(Keyword{"copy", "str | collections.abc.Sequence[str]"}.of(
        "which of them: audio, subtitles, attachments, chapters, tags; None: all"));
    return all;
  }();
  return keywords;
}

/// Called with keywords that the table of writers does not have.
void take_other(const std::string& name, nb::handle value, VideoWriterOptions& options, nb::object& source,
                nb::object& kinds) {
  TranscodeOptions scratch;
  if (name == "on_size_change")
    options.on_size_change = parse_size_change(nb::cast<std::string>(value));
  else if (name == "copy_from")
    source = nb::borrow(value);
  else if (name == "copy")
    kinds = nb::borrow(value);
  else if (const OptionRow<AudioEncoderOptions>* audio = find_option(audio_encoder_option_table(), name)) {
    if (!options.audio) options.audio.emplace();
    audio->set(*options.audio, to_option_value(audio->info, value, {}));
  } else if (const OptionRow<TranscodeOptions>* row = find_option(transcode_option_table(), name)) {
    scratch.muxer = options.muxer;
    row->set(scratch, to_option_value(row->info, value, {}));
    options.muxer = scratch.muxer;
  }
}

/// An animation holds one codec.
void use_own_codec(const VideoOutput& output, VideoWriterOptions& options) {
  std::string format = output.muxer ? output.muxer->format() : options.muxer.format;
  if (format.empty()) format = format_of_extension(fs::path(output.path).extension().string());
  if (is_animation(format)) options.encoder.codec = format;
}

void construct(Writer* self, nb::handle path, const nb::args& others, const nb::kwargs& keywords) {
  check_named("VideoWriter", others, "width=640");
  VideoWriterOptions options{EncoderOptions()};
  nb::object source = nb::none(), kinds = nb::none();
  take_keywords(
      "VideoWriter", keywords, writer_keywords(), writer_option_table(), options.encoder,
      [&](const std::string& name, nb::handle value) { take_other(name, value, options, source, kinds); });
  check(kinds.is_none() || !source.is_none(), ErrorCode::invalid_argument,
        "VideoWriter: copy says what is copied; copy_from, which says from where, is not given");
  options.copied = to_copied(source, kinds, limits_among(keywords));
  VideoOutput output = to_video_output(path, options.muxer);
  if (!keywords.contains("codec")) use_own_codec(output, options);
  options.keep_format = !keywords.contains("format") || nb::object(keywords["format"]).is_none();
  const ReleasedGil release;
  new (self) Writer(std::move(output), std::move(options));
}

void register_audio(nb::class_<Writer>& writer) {
  writer.def(
      "write_audio", &Writer::write_audio, nb::arg("samples").none(), nb::arg("seconds") = nb::none(),
      nb::sig("def write_audio(self, samples: AudioSamples | object, seconds: float | None = None) -> "
              "None"),
      "Appends audio to a file that was opened with audio_sample_rate, audio_channels, audio_codec or "
      "audio_bit_rate. AudioSamples are heard at their own time, others behind those before; a gap is "
      "silence. Audio may come in any order with the pictures.\n\nsamples: AudioSamples, or float32 from "
      "-1 to 1, int16 or int32 [channels, samples]\nseconds: when they are heard, on the clock of the "
      "pictures");
}

void register_writer(nb::module_& module) {
  nb::class_<Writer> writer(
      module, "VideoWriter",
      "Encodes images into a video file; docs/writing-video.md. The file appears under its path after "
      "close() or at the end of `with`, and not after an error. One thread at a time.");
  writer
      .def("__init__", &construct, nb::arg("path"), nb::arg("others"), nb::arg("options"),
           nb::sig(signature("def __init__(self, path: str | os.PathLike[str] | typing.BinaryIO",
                             writer_keywords(), "None")
                       .c_str()),
           ("Sets the path and the options. The encoder is opened for the first picture: options that it "
            "does not support, and encoders that the installed FFmpeg lacks, are errors of the first "
            "write().\n\npath: file to write; its extension chooses the container: .mp4, .mkv, .webm, .mov, "
            ".avi and others; .gif, .apng and .webp choose their codec too. Or an object with `write`, like "
            "io.BytesIO, which receives the bytes in order: fragmented MP4, unless container or its name "
            "choose another\n" +
            keyword_docs(writer_keywords()))
               .c_str())
      .def("write", &Writer::write, nb::arg("image").none(), nb::arg("pts") = nb::none(), nb::kw_only(),
           nb::arg("time_base") = nb::none(), nb::arg("seconds") = nb::none(),
           nb::sig("def write(self, image: Image | Frame | object, pts: int | None = None, *, time_base: "
                   "fractions.Fraction | None = None, seconds: float | None = None) -> None"),
           "Appends a picture. A Frame is shown at its own time, a picture without a time after the previous "
           "one, for 1 / fps. A time that does not increase is moved, which `notes` reports. If the first "
           "picture has no time, the file's time base is 1 / fps.\n\nimage: an Image of any pixel format, a "
           "Frame, or uint8 RGB pixels [height, width, 3], or RGBA [height, width, 4], whose alpha GIF, APNG "
           "and WebP keep\npts: when it is shown, in ticks of time_base, instead of a Frame's own "
           "time\ntime_base: seconds of a tick; default: the Frame's, else 1 / fps\nseconds: when it is "
           "shown, in seconds, instead of pts")
      .def_prop_ro("notes", &Writer::notes, nb::sig("def notes(self) -> list[str]"),
                   "What was changed or left out so far, one line each.")
      .def("close", &Writer::close,
           "Encodes what is left, completes the file and renames it to its path. A second call does nothing. "
           "Raises InvalidArgument if no picture was written.")
      .def_prop_ro("closed", &Writer::closed, "Whether close() was called, or an error ended the `with`.")
      .def(
          "__enter__", [](nb::handle self) { return nb::borrow(self); },
          nb::sig("def __enter__(self) -> VideoWriter"))
      .def(
          "__exit__",
          [](Writer& self, nb::handle kind, nb::handle, nb::handle) {
            if (!kind.is_none()) return self.discard();
            try {
              self.close();
            } catch (const Error&) {
              self.discard();
              throw;
            }
          },
          nb::arg("kind").none(), nb::arg("value").none(), nb::arg("trace").none());
  register_audio(writer);
}

} // namespace

void register_video(nb::module_& module) {
  register_writer(module);
  register_transcode(module);
}

} // namespace lanner::python
