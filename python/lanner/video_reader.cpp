// Frames by number, by time and one after the other.

#include <array>
#include <mutex>

#include <fmt/format.h>

#include <lanner/error.h>
#include <lanner/video_reader.h>

#include "bindings.h"
#include "check.h"
#include "keywords.h"

namespace lanner::python {
namespace {

/// What a class over `Video` (VideoReader, ParallelDecoder) keeps beside it. Python's threads may meet here,
/// so each call has the object to itself; one out of the source's own code is let through, for `Video` to
/// refuse.
template<typename Video>
struct Opened {
  std::recursive_mutex alone;
  std::unique_ptr<Video> video;
  nb::object source; ///< As given, for pickling.
  nb::dict options;

  Opened() = default;
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
  ~Opened() {
    const ReleasedGil released; // Threads that are joined now may be reading from an object of Python's.
    video.reset();
  }

  /// Calls `body(video)` without the GIL.
  template<typename Body>
  auto with(Body&& body) {
    ReleasedGil release;
    const std::lock_guard lock(alone);
    return body(*video);
  }
  /// Calls `body(video, control)` without the GIL; Ctrl-C stops it.
  template<typename Body>
  auto run(Body&& body) {
    Interruptible work;
    return work.run([&] {
      const std::lock_guard lock(alone);
      return body(*video, work.control());
    });
  }
};
using Reader = Opened<VideoReader>;
using Parallel = Opened<ParallelDecoder>;

std::optional<Device> device_or_auto(const std::string& text) {
  return text == "auto" ? std::nullopt : std::optional(Device::parse(text));
}

Latency to_latency(const std::string& text) {
  check(text == "low" || text == "normal", ErrorCode::invalid_argument,
        "latency: '{}' is not one of normal, low", text);
  return text == "low" ? Latency::low : Latency::normal;
}

/// One keyword of a reader; false when there is none of that name.
bool apply_decoder(DecoderOptions& options, const std::string& name, nb::handle value) {
  if (name == "threads")
    options.threads = nb::cast<int>(value);
  else if (name == "device")
    options.device = device_or_auto(nb::cast<std::string>(value));
  else if (name == "output")
    options.output = Device::parse(nb::cast<std::string>(value));
  else if (name == "cuda_context")
    options.context = reinterpret_cast<void*>(nb::cast<std::uintptr_t>(value));
  else if (name == "cuda_stream")
    options.stream.handle = reinterpret_cast<void*>(nb::cast<std::uintptr_t>(value));
  else if (name == "latency")
    options.latency = to_latency(nb::cast<std::string>(value));
  else if (name == "sei")
    options.sei = nb::cast<bool>(value);
  else if (name == "raise_on_error")
    options.raise_on_error = nb::cast<bool>(value);
  else
    return false;
  return true;
}

bool apply_reader(VideoReaderOptions& options, const std::string& name, nb::handle value) {
  if (name == "stream")
    options.stream = nb::cast<int>(value);
  else if (name == "decoders")
    options.decoders = nb::cast<int>(value);
  else if (name == "prefetch")
    options.prefetch = nb::cast<int>(value);
  else if (name == "frame_bytes")
    options.frame_bytes = nb::cast<std::uint64_t>(value);
  else if (name == "format")
    options.format = parse_pixel_format(nb::cast<std::string>(value));
  else if (name == "preprocess")
    options.preprocess = nb::cast<Preprocess>(value);
  else if (name == "limits")
    options.demuxer.limits = options.decoder.limits = to_limits(value);
  else if (name == "cache_index")
    options.cache_index = nb::cast<bool>(value);
  else if (name == "index")
    options.index = nb::cast<std::shared_ptr<StreamIndex>>(value);
  else
    return apply_decoder(options.decoder, name, value);
  return true;
}

constexpr std::array reader_keywords{
    Keyword{"stream", "int"},
    Keyword{"threads", "int"},
    Keyword{"device", "str"},
    Keyword{"output", "str"},
    Keyword{"decoders", "int"},
    Keyword{"prefetch", "int"},
    Keyword{"format", "str"},
    Keyword{"preprocess", "Preprocess"},
    Keyword{"raise_on_error", "bool"},
    Keyword{"sei", "bool"},
    Keyword{"latency", "typing.Literal['normal', 'low']"},
    Keyword{"cuda_context", "int"},
    Keyword{"cuda_stream", "int"},
    Keyword{"frame_bytes", "int"},
    Keyword{"cache_index", "bool"},
    Keyword{"index", "StreamIndex"},
    Keyword{"limits", "collections.abc.Mapping[str, float | str]"},
};

VideoReaderOptions reader_options(const nb::kwargs& keywords) {
  VideoReaderOptions options;
  apply_options(keywords, reader_keywords, [&](const std::string& name, nb::handle value) {
    check(apply_reader(options, name, value), ErrorCode::internal, "the option '{}' is not applied", name);
  });
  return options;
}

template<typename Video, typename Make>
void open(Opened<Video>* self, nb::handle source, const nb::kwargs& keywords, Make&& make) {
  VideoReaderOptions options = reader_options(keywords);
  SourcePtr bytes = to_source(source, options.demuxer.limits);
  new (self) Opened<Video>();
  self->source = nb::borrow(source);
  self->options = nb::borrow<nb::dict>(keywords);
  try {
    Interruptible work;
    self->video = work.run([&] {
      options.demuxer.cancel = work.control().cancel;
      return make(std::move(bytes), options, work.control());
    });
  } catch (...) {
    self->~Opened<Video>();
    throw;
  }
}

/// How the object is made again in another process: from its source and options.
nb::tuple reduce(nb::handle self, nb::handle source, nb::handle options) {
  const bool plain = nb::isinstance<nb::str>(source) || nb::isinstance<nb::bytes>(source) ||
                     nb::hasattr(source, "__fspath__");
  if (!plain) throw nb::type_error("a reader of a file object cannot be pickled; open it by path or bytes");
  nb::dict kept;
  for (const auto& [key, value] : nb::cast<nb::dict>(options)) {
    const std::string name = nb::cast<std::string>(key);
    if (name != "index" && name != "cuda_stream" && name != "cuda_context") kept[key] = value;
  }
  const nb::object reopen = nb::module_::import_("lanner").attr("_reopen");
  return nb::make_tuple(reopen, nb::make_tuple(self.type(), source, kept));
}

template<typename Video>
Frame next_frame(Opened<Video>& self) {
  std::optional<Frame> frame = self.with([](Video& video) { return video.next(); });
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
  if (!frame) throw nb::stop_iteration();
  return std::move(*frame);
}

/// `range(...)` of a slice over `size` frames.
std::vector<std::int64_t> slice_indices(const nb::slice& slice, std::int64_t size) {
  const auto [start, stop, step, count] = slice.compute(static_cast<std::size_t>(size));
  std::vector<std::int64_t> indices;
  for (std::size_t i = 0; i < count; ++i) indices.push_back(start + static_cast<std::int64_t>(i) * step);
  return indices;
}

/// Builds the index, which takes its time.
std::int64_t size_of(Reader& self) {
  return self.run([](VideoReader& video, const Control& control) {
    return static_cast<std::int64_t>(video.index(control)->frames.size());
  });
}

/// As operator.index does; nothing for what is no number. Numbers beyond 64 bits lie outside of every clip.
std::optional<std::int64_t> number_of(nb::handle value) {
  if (PyIndex_Check(value.ptr()) == 0) return std::nullopt;
  const nb::object number = nb::steal(PyNumber_Index(value.ptr()));
  if (!number.is_valid()) {
    PyErr_Clear(); // An array of several.
    return std::nullopt;
  }
  int overflow = 0;
  const long long small = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
  if (overflow != 0) throw nb::index_error("a number beyond 64 bits is no frame");
  return small;
}

std::int64_t normal_index(std::int64_t i, std::int64_t size) {
  if (i < -size || i >= size) throw nb::index_error(fmt::format("frame {} of {}", i, size).c_str());
  return i < 0 ? i + size : i;
}

std::vector<std::int64_t> normal_indices(Reader& self, nb::handle indices) {
  const std::int64_t size = size_of(self);
  if (nb::isinstance<nb::slice>(indices)) return slice_indices(nb::cast<nb::slice>(indices), size);
  std::vector<std::int64_t> normal;
  for (nb::handle index : indices) {
    const std::optional<std::int64_t> number = number_of(index);
    if (!number) throw nb::type_error(fmt::format("{} is not the number of a frame", shown(index)).c_str());
    normal.push_back(normal_index(*number, size));
  }
  return normal;
}

std::vector<Frame> frames_of(Reader& self, const std::vector<std::int64_t>& indices) {
  return self.run([&](VideoReader& video, const Control& control) { return video.at(indices, control); });
}

nb::object item(Reader& self, nb::handle index) {
  const std::optional<std::int64_t> number = number_of(index);
  if (!number && !nb::isinstance<nb::slice>(index) && !nb::hasattr(index, "__iter__"))
    throw nb::type_error(
        fmt::format("frames are asked for by number, slice or sequence of numbers, got {}", shown(index))
            .c_str());
  if (!number) return nb::cast(frames_of(self, normal_indices(self, index)));
  const std::int64_t normal = normal_index(*number, size_of(self));
  return nb::cast(self.with([&](VideoReader& video) { return video.at(normal); }));
}

std::vector<Frame> frames_at(Reader& self, nb::handle seconds) {
  std::vector<double> times;
  for (nb::handle time : seconds)
    times.push_back(with_option_named("seconds", time, [&] { return nb::cast<double>(time); }));
  size_of(self);
  return self.run([&](VideoReader& video, const Control& control) {
    std::vector<std::int64_t> indices;
    for (const double time : times) indices.push_back(video.index_at(time));
    return video.at(indices, control);
  });
}

std::vector<std::int64_t> sample(Reader& self, std::optional<std::int64_t> count, std::optional<double> fps) {
  check(count.has_value() != fps.has_value(), ErrorCode::invalid_argument,
        "sample: expected a count of frames or fps=, one of the two");
  size_of(self);
  return self.with(
      [&](VideoReader& video) { return count ? video.sample(*count) : video.sample(rational(*fps)); });
}

void register_index(nb::module_& module) {
  nb::class_<StreamIndex>(
      module, "StreamIndex",
      "Exact times and keyframes of every frame, in presentation order. Readers of the same "
      "clip share one by index=.")
      .def("__len__", [](const StreamIndex& self) { return self.frames.size(); })
      .def_prop_ro(
          "time_base", [](const StreamIndex& self) { return fraction(self.time_base); },
          nb::sig("def time_base(self) -> fractions.Fraction"))
      .def_prop_ro(
          "pts",
          [](const StreamIndex& self) {
            std::vector<std::optional<std::int64_t>> times;
            for (const IndexEntry& entry : self.frames)
              times.push_back(entry.pts == no_pts ? std::nullopt : std::optional(entry.pts));
            return times;
          },
          "In ticks of time_base; None where the stream gives none.")
      .def_prop_ro("keyframes", [](const StreamIndex& self) {
        std::vector<std::size_t> numbers;
        for (std::size_t i = 0; i < self.frames.size(); ++i)
          if (self.frames[i].key) numbers.push_back(i);
        return numbers;
      });
}

constexpr const char* options_text =
    "source: a path, bytes or a binary file object. Keywords: stream (number; default the best), threads (of "
    "the "
    "codec), device (\"cpu\", \"cuda:0\", \"auto\"), output (where frames lie), decoders (at work side by "
    "side; 0 "
    "chooses), prefetch (frames kept ready), format (convert to, like \"rgb24\"), preprocess (a Preprocess: "
    "frames "
    "come with .tensor), raise_on_error, sei, latency (\"normal\", \"low\"), cuda_context, cuda_stream, "
    "frame_bytes, cache_index, index, limits (a dict: see docs/limits.md).";

void register_random_access(nb::class_<Reader>& reader) {
  reader
      .def("__len__",
           [](Reader& self) {
             try {
               return size_of(self);
             } catch (const Error& error) {
               // list() asks for the length, and takes this for an answer.
               if (error.code() == ErrorCode::unsupported) throw nb::type_error(error.what());
               throw;
             }
           })
      .def("__getitem__", &item, nb::arg("index").none(),
           nb::sig("def __getitem__(self, index: int | slice | collections.abc.Sequence[int]) -> Any"),
           "A frame, or a list of frames for a slice or a sequence of numbers; only what they depend on is "
           "decoded.")
      .def("frames_at", &frames_at, nb::arg("seconds"),
           nb::sig("def frames_at(self, seconds: collections.abc.Sequence[float]) -> list[Frame]"),
           "The frames on the screen at these times.")
      .def(
          "frames_played_in",
          [](Reader& self, double begin, double end) {
            size_of(self);
            return self.run([&](VideoReader& video, const Control& control) {
              return video.at(video.indices_played_in(begin, end), control);
            });
          },
          nb::arg("begin"), nb::arg("end"), "The frames on the screen at some time of [begin, end) seconds.")
      .def(
          "index_at",
          [](Reader& self, double seconds) {
            size_of(self);
            return self.with([&](VideoReader& video) { return video.index_at(seconds); });
          },
          nb::arg("seconds"), "Number of the frame on the screen at this time.")
      .def("sample_indices", &sample, nb::arg("count") = nb::none(), nb::kw_only(),
           nb::arg("fps") = nb::none(),
           "Numbers of `count` frames spread evenly, or of the frames on the screen `fps` times a second.")
      .def(
          "sample",
          [](Reader& self, std::optional<std::int64_t> count, std::optional<double> fps) {
            return frames_of(self, sample(self, count, fps));
          },
          nb::arg("count") = nb::none(), nb::kw_only(), nb::arg("fps") = nb::none(),
          "`count` frames spread evenly, or the frames on the screen `fps` times a second.")
      .def(
          "batch",
          [](Reader& self, nb::handle indices, const nb::args& others, const nb::kwargs& options) {
            check_named("batch", others, "size=(224, 224)");
            const Preprocess spec = to_preprocess(options);
            const std::vector<std::int64_t> normal = normal_indices(self, indices);
            return self.run([&](VideoReader& video, const Control& control) {
              return video.batch(normal, spec, control);
            });
          },
          nb::arg("indices"), nb::arg("others"), nb::arg("options"),
          nb::sig(signature("def batch(self, indices: slice | collections.abc.Sequence[int]",
                            preprocess_keywords(), "Tensor")
                      .c_str()),
          "The frames as one tensor [N, ...]: see Preprocess for the keywords; size is (height, width).")
      .def_prop_ro("index", [](Reader& self) {
        return std::const_pointer_cast<StreamIndex>(
            self.run([](VideoReader& video, const Control& control) { return video.index(control); }));
      });
}

/// What every class over a video has: how it is opened, made again elsewhere, and gives frames. `make(source,
/// options, control)` opens the video.
template<typename Video, typename Make>
void register_opening(nb::class_<Opened<Video>>& opened, Make make) {
  opened
      .def(
          "__init__",
          [make](Opened<Video>* self, nb::handle source, const nb::args& others, const nb::kwargs& keywords) {
            check_named("a video", others, "device=\"cpu\"");
            open(self, source, keywords, make);
          },
          nb::arg("source").none(), nb::arg("others"), nb::arg("options"),
          nb::sig(signature("def __init__(self, source: str | os.PathLike[str] | bytes | io.BufferedIOBase",
                            reader_keywords, "None")
                      .c_str()),
          options_text)
      .def_prop_ro(
          "stream", [](const Opened<Video>& self) { return self.video->stream(); }, nb::rv_policy::copy)
      .def_prop_ro(
          "decoder_reason", [](const Opened<Video>& self) { return self.video->decoder_reason(); },
          "Why this decoder.")
      .def("__next__", &next_frame<Video>)
      .def(
          "__reduce__",
          [](nb::handle self) {
            const auto& held = nb::cast<const Opened<Video>&>(self);
            return reduce(self, held.source, held.options);
          },
          nb::sig("def __reduce__(self) -> tuple[object, ...]"));
}

void register_reader(nb::module_& module) {
  nb::class_<Reader> reader(module, "VideoReader",
                            "Frames of a video by iteration, by number and by time. `len`, negative numbers "
                            "and slices work as for lists.");
  register_opening(reader, [](SourcePtr bytes, const VideoReaderOptions& options, const Control&) {
    return std::make_unique<VideoReader>(std::move(bytes), options);
  });
  reader.def_prop_ro("decoder", [](const Reader& self) { return self.video->decoder_description(); })
      .def(
          "__iter__",
          [](nb::handle self) {
            nb::cast<Reader&>(self).with([](VideoReader& video) { video.rewind(); });
            return nb::borrow(self);
          },
          nb::sig("def __iter__(self) -> VideoReader"));
  register_random_access(reader);
}

void register_parallel(nb::module_& module) {
  nb::class_<Parallel> parallel(
      module, "ParallelDecoder",
      "All frames of a video in order, by several decoders at once: every engine of "
      "a GPU or every core works on one file.");
  register_opening(parallel, [](SourcePtr bytes, const VideoReaderOptions& options, const Control& control) {
    // `control` ends with the call, the decoder's own lives on; next() looks for Ctrl-C itself.
    const auto opening = std::make_shared<bool>(true);
    Control own{control.cancel, [opening, &control](const ProgressUpdate& update) {
                  if (*opening) control.report(update);
                }};
    auto decoder = std::make_unique<ParallelDecoder>(std::move(bytes), options, own);
    *opening = false;
    return decoder;
  });
  parallel.def_prop_ro("decoder", [](const Parallel& self) { return self.video->description(); })
      .def("__length_hint__",
           [](const Parallel& self) { return std::max<std::int64_t>(0, self.video->size()); })
      .def(
          "__iter__", [](nb::handle self) { return nb::borrow(self); },
          nb::sig("def __iter__(self) -> ParallelDecoder"));
}

} // namespace

void register_video_reader(nb::module_& module) {
  register_index(module);
  register_reader(module);
  register_parallel(module);
}

} // namespace lanner::python
