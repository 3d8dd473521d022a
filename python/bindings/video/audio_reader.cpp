// Audio of a clip, as tensors.

#include <cmath>
#include <limits>
#include <memory>
#include <mutex>

#include <fmt/format.h>

#include <lanner/audio_reader.h>
#include <lanner/error.h>
#include <lanner/option_table.h>

#include "calls/bindings.h"
#include "calls/check.h"
#include "calls/option_rows.h"
#include "video/reader_options.h"
#include "video/thread_calls.h"

namespace lanner::python {
namespace {

/// An AudioReader as Python has it. Threads may share it: their calls take turns.
class Audio {
public:
  Audio(std::unique_ptr<AudioReader> reader, nb::object source, nb::dict options)
      : reader_(std::move(reader)), source_(std::move(source)), options_(std::move(options)) {
    stream_ = reader_->stream();
    format_ = reader_->format();
    sample_rate_ = reader_->sample_rate();
    channels_ = reader_->channels();
    container_seconds_ = reader_->demuxer().duration();
    metadata_ = stream_.metadata;
    for (const auto& [key, value] : reader_->demuxer().metadata()) metadata_.emplace(key, value);
  }
  Audio(const Audio&) = delete;
  Audio& operator=(const Audio&) = delete;
  ~Audio() {
    const ReleasedGil released; // Its source may be an object of Python's.
    reader_.reset();
  }

  /// Calls `body(reader, control)` without the GIL; Ctrl-C stops it.
  template<typename Body>
  auto run(Body&& body) {
    Interruptible work;
    return work.run([&] {
      const ThreadCalls::Call call(calls_);
      const std::lock_guard turn(turns_);
      check(reader_ != nullptr, ErrorCode::invalid_argument,
            "AudioReader: it was closed; open the file again");
      return body(*reader_, work.control());
    });
  }
  void close() {
    const ReleasedGil released;
    const ThreadCalls::Call call(calls_);
    const std::lock_guard turn(turns_);
    reader_.reset();
  }
  bool closed() {
    const ReleasedGil released;
    const std::lock_guard turn(turns_);
    return reader_ == nullptr;
  }

  const StreamInfo& stream() const { return stream_; }
  const AudioFormat& format() const { return format_; }
  std::int32_t sample_rate() const { return sample_rate_; }
  std::int32_t channels() const { return channels_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  std::optional<double> duration() const {
    if (stream_.duration > 0 && stream_.time_base.den > 0)
      return seconds_of(stream_.duration, stream_.time_base);
    return container_seconds_ > 0 ? std::optional(container_seconds_) : std::nullopt;
  }
  const nb::object& source() const { return source_; }
  const nb::dict& options() const { return options_; }

private:
  std::unique_ptr<AudioReader> reader_; ///< Null once closed.
  ThreadCalls calls_{"AudioReader"};
  std::mutex turns_;
  StreamInfo stream_;
  AudioFormat format_;
  std::int32_t sample_rate_ = 0, channels_ = 0;
  double container_seconds_ = 0;
  std::map<std::string, std::string> metadata_;
  nb::object source_;
  nb::dict options_; ///< As given, for pickling.
};

/// Iterates over chunks in order.
struct Chunks {
  nb::object audio;
  std::int64_t length, next = 0;
};

std::span<const Keyword> audio_keywords() {
  static const std::vector<Keyword> keywords = keywords_of(audio_reader_option_table(), false);
  return keywords;
}

/// For a VideoReader the source that it was opened with; else `given` itself.
nb::object source_of(nb::handle given) {
  if (nb::hasattr(given, "frames_at")) return given.attr("__reduce__")()[1][1];
  return nb::borrow(given);
}

void open(Audio* self, nb::handle given, const nb::args& others, const nb::kwargs& keywords) {
  check_named("AudioReader", others, "sample_rate=16000");
  AudioReaderOptions options;
  take_keywords("AudioReader", keywords, audio_keywords(), audio_reader_option_table(), options);
  nb::object source = source_of(given);
  SourcePtr bytes = to_source(source, options.demuxer.limits);
  Interruptible work;
  std::unique_ptr<AudioReader> reader = work.run([&] {
    options.demuxer.cancel = work.control().cancel;
    return std::make_unique<AudioReader>(std::move(bytes), options, work.control());
  });
  new (self) Audio(std::move(reader), std::move(source), nb::borrow<nb::dict>(keywords));
}

AudioSamples read(Audio& self, std::optional<double> begin, std::optional<double> end) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  return self.run([&](AudioReader& audio, const Control& control) {
    return audio.read(begin.value_or(-infinity), end.value_or(infinity), control);
  });
}

AudioSamples read_samples(Audio& self, std::int64_t begin, std::optional<std::int64_t> end) {
  return self.run([&](AudioReader& audio, const Control& control) {
    return audio.read_samples(begin, end.value_or(std::numeric_limits<std::int64_t>::max()), control);
  });
}

Chunks chunks_of(nb::handle self, double seconds) {
  const double length = seconds * nb::cast<Audio&>(self).sample_rate();
  check(length >= 1 && length < 9e15, ErrorCode::invalid_argument,
        "chunks: {:g} seconds, expected a sample or more", seconds);
  return {nb::borrow(self), std::llround(length)};
}

AudioSamples next_chunk(Chunks& self) {
  auto& audio = nb::cast<Audio&>(self.audio);
  AudioSamples samples = read_samples(audio, self.next, self.next + self.length);
  if (samples.size() == 0) throw nb::stop_iteration();
  self.next += samples.size();
  return samples;
}

std::string describe(Audio& self) {
  std::string text = fmt::format("lanner.AudioReader({}, {} Hz, {} channel{}", self.stream().codec,
                                 self.sample_rate(), self.channels(), self.channels() == 1 ? "" : "s");
  if (const auto seconds = self.duration()) text += fmt::format(", {:.2f} s", *seconds);
  return text + (self.closed() ? ", closed)" : ")");
}

void register_samples(nb::module_& module) {
  nb::class_<AudioSamples>(module, "AudioSamples",
                           "Consecutive samples of an audio stream: the data and their time.")
      .def_ro("data", &AudioSamples::data,
              "The samples, [channels, samples]: float32 from -1 to 1, or the reader's dtype.")
      .def_ro("pts_seconds", &AudioSamples::pts_seconds,
              "When the first sample is heard, on the same clock as Frame.seconds.")
      .def_prop_ro("duration_seconds", &AudioSamples::duration_seconds,
                   "Length in seconds: the number of samples divided by the rate.")
      .def_ro("sample_rate", &AudioSamples::sample_rate, "Samples a second of each channel.")
      .def_ro("first_sample", &AudioSamples::first,
              "Number of the first sample in the stream, counted at sample_rate.")
      .def_ro("damaged", &AudioSamples::damaged,
              "Whether something in this range could not be decoded and is left out.")
      .def("__repr__", [](const AudioSamples& self) {
        return fmt::format("lanner.AudioSamples({} x {} {}, {} Hz, from {:.3f} s{})",
                           self.data.defined() ? self.data.shape()[0] : 0, self.size(),
                           to_string(self.data.dtype()), self.sample_rate, self.pts_seconds,
                           self.damaged ? ", damaged" : "");
      });
}

void register_facts(nb::class_<Audio>& audio) {
  audio
      .def_prop_ro(
          "stream", [](const Audio& self) { return self.stream(); }, nb::rv_policy::copy,
          "What the container says about the stream.")
      .def_prop_ro("sample_rate", &Audio::sample_rate,
                   "Samples a second of each channel, of the samples that are returned.")
      .def_prop_ro("num_channels", &Audio::channels, "Channels of the samples that are returned.")
      .def_prop_ro(
          "channel_layout", [](const Audio& self) { return self.format().channel_layout; },
          "Channels of the stream by FFmpeg's name, such as `stereo` or `5.1(side)`.")
      .def_prop_ro(
          "sample_format", [](const Audio& self) { return self.format().sample_format; },
          "What the decoder gives, by FFmpeg's name, such as `fltp`.")
      .def_prop_ro(
          "num_samples",
          [](Audio& self) {
            return self.run([](AudioReader& reader, const Control& control) { return reader.size(control); });
          },
          "Exact number of samples of each channel at sample_rate. The first use decodes the stream once.")
      .def_prop_ro("duration", &Audio::duration, nb::sig("def duration(self) -> float | None"),
                   "Length in seconds, by the container; None where it says nothing.")
      .def_prop_ro(
          "metadata",
          [](const Audio& self) {
            nb::dict metadata;
            for (const auto& [key, value] : self.metadata()) metadata[text_of(key)] = text_of(value);
            return metadata;
          },
          nb::sig("def metadata(self) -> dict[str, str]"),
          "Metadata of the file and its stream, like title; the stream's where both have a key.");
}

void register_reading(nb::class_<Audio>& audio) {
  audio
      .def(
          "read", &read, nb::arg("begin") = nb::none(), nb::arg("end") = nb::none(),
          "The samples that are heard in an interval, on the clock of Frame.seconds: from the sample nearest "
          "to begin up to the one before that nearest to end, so that adjoining intervals neither share nor "
          "miss one. Parts outside of the stream are left out; the result may have no samples.\n\nbegin: "
          "seconds; None: from the first sample\nend: seconds; None: to the last sample")
      .def(
          "read_samples", &read_samples, nb::arg("begin"), nb::arg("end") = nb::none(),
          "Samples by their numbers, counted at sample_rate. Those behind the end of the stream are left "
          "out.\n\nbegin: number of the first one, from 0\nend: number behind the last one; None: to the end")
      .def("chunks", &chunks_of, nb::arg("seconds") = 1.0,
           nb::sig("def chunks(self, seconds: float = 1.0) -> AudioChunks"),
           "Iterates over the whole stream, with memory for one chunk at a time. Iterators are "
           "independent.\n\nseconds: length of each chunk; the last may be shorter")
      .def(
          "__iter__", [](nb::handle self) { return chunks_of(self, 1.0); },
          nb::sig("def __iter__(self) -> AudioChunks"), "As chunks().");
}

} // namespace

void register_audio_reader(nb::module_& module) {
  register_samples(module);
  nb::class_<Chunks>(module, "AudioChunks", "Chunks of an AudioReader in order.")
      .def(
          "__iter__", [](nb::handle self) { return nb::borrow(self); },
          nb::sig("def __iter__(self) -> typing.Self"))
      .def("__next__", &next_chunk);
  nb::class_<Audio> audio(
      module, "AudioReader",
      "Audio of a clip by time and by sample, as `ffmpeg -f f32le` gives it, bit by bit, in whatever order "
      "it is read; docs/video.md. `with` closes it. Threads may share it. Raises InvalidArgument for a clip "
      "without audio.");
  audio.def("__init__", &open, nb::arg("source").none(), nb::arg("others"), nb::arg("options"),
            nb::sig(signature("def __init__(self, source: str | os.PathLike[str] | bytes | "
                              "io.BufferedIOBase | VideoReader",
                              audio_keywords(), "None")
                        .c_str()),
            ("Opens an audio stream.\n\nsource: path, bytes or a binary file object, or a VideoReader, for "
             "the audio of the same clip; of an object that cannot seek, as a pipe, samples come once\n" +
             keyword_docs(audio_keywords()))
                .c_str());
  register_facts(audio);
  register_reading(audio);
  audio.def("close", &Audio::close, "Closes the file; samples that were given out stay valid.")
      .def_prop_ro("closed", &Audio::closed, "Whether close() was called.")
      .def(
          "__enter__", [](nb::handle self) { return nb::borrow(self); },
          nb::sig("def __enter__(self) -> typing.Self"))
      .def(
          "__exit__", [](Audio& self, nb::handle, nb::handle, nb::handle) { self.close(); },
          nb::arg("kind").none(), nb::arg("value").none(), nb::arg("trace").none(),
          nb::sig("def __exit__(self, kind: object, value: object, trace: object) -> None"))
      .def(
          "__reduce__",
          [](nb::handle self) {
            const auto& held = nb::cast<const Audio&>(self);
            return reduce_video(self, held.source(), held.options());
          },
          nb::sig("def __reduce__(self) -> tuple[object, ...]"))
      .def("__repr__", [](Audio& self) { return text_of(describe(self)); });
}

} // namespace lanner::python
