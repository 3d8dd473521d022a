// Frames by number, by time and one after the other.

#include <mutex>

#include <fmt/format.h>

#include <lanner/error.h>
#include <lanner/video_reader.h>

#include "bindings.h"

namespace lanner::python {
namespace {

/// What a class over `Video` (VideoReader, ParallelDecoder) keeps beside it. Python's threads may meet here,
/// so each call has the object to itself.
template<typename Video>
struct Opened {
  std::mutex alone;
  std::unique_ptr<Video> video;
  nb::object source; ///< As given, for pickling.
  nb::dict options;

  /// Calls `body(video)` without the GIL.
  template<typename Body>
  auto with(Body&& body) {
    nb::gil_scoped_release release;
    const std::lock_guard lock(alone);
    return body(*video);
  }
};
using Reader = Opened<VideoReader>;
using Parallel = Opened<ParallelDecoder>;

std::optional<Device> device_or_auto(const std::string& text) {
  return text == "auto" ? std::nullopt : std::optional(Device::parse(text));
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
    options.latency = nb::cast<std::string>(value) == "low" ? Latency::low : Latency::normal;
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
  else if (name == "cache_index")
    options.cache_index = nb::cast<bool>(value);
  else if (name == "index")
    options.index = nb::cast<std::shared_ptr<StreamIndex>>(value);
  else
    return apply_decoder(options.decoder, name, value);
  return true;
}

VideoReaderOptions reader_options(const nb::kwargs& keywords) {
  VideoReaderOptions options;
  for (const auto& [key, value] : keywords) {
    const std::string name = nb::cast<std::string>(key);
    if (value.is_none()) continue;
    if (!apply_reader(options, name, value))
      throw nb::type_error(
          fmt::format("unknown option '{}'; known are stream, threads, device, output, decoders, prefetch, "
                      "format, preprocess, raise_on_error, sei, latency, cuda_context, cuda_stream, "
                      "frame_bytes, cache_index, index",
                      name)
              .c_str());
  }
  return options;
}

template<typename Video, typename Make>
void open(Opened<Video>* self, nb::handle source, const nb::kwargs& keywords, Make&& make) {
  VideoReaderOptions options = reader_options(keywords);
  SourcePtr bytes = to_source(source);
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

std::int64_t size_of(Reader& self) {
  return self.with([](VideoReader& video) { return video.size(); });
}

std::int64_t normal_index(std::int64_t i, std::int64_t size) {
  if (i < -size || i >= size) throw nb::index_error(fmt::format("frame {} of {}", i, size).c_str());
  return i < 0 ? i + size : i;
}

std::vector<std::int64_t> normal_indices(Reader& self, nb::handle indices) {
  const std::int64_t size = size_of(self);
  if (nb::isinstance<nb::slice>(indices)) return slice_indices(nb::cast<nb::slice>(indices), size);
  std::vector<std::int64_t> normal;
  for (nb::handle index : indices)
    normal.push_back(
        normal_index(nb::cast<std::int64_t>(nb::module_::import_("operator").attr("index")(index)), size));
  return normal;
}

std::vector<Frame> frames_of(Reader& self, const std::vector<std::int64_t>& indices) {
  return self.with([&](VideoReader& video) { return video.at(indices); });
}

nb::object item(Reader& self, nb::handle index) {
  if (!nb::hasattr(index, "__index__")) return nb::cast(frames_of(self, normal_indices(self, index)));
  const auto number = nb::cast<std::int64_t>(nb::module_::import_("operator").attr("index")(index));
  const std::int64_t normal = normal_index(number, size_of(self));
  return nb::cast(self.with([&](VideoReader& video) { return video.at(normal); }));
}

std::vector<Frame> frames_at(Reader& self, nb::handle seconds) {
  std::vector<double> times;
  for (nb::handle time : seconds) times.push_back(nb::cast<double>(time));
  return self.with([&](VideoReader& video) {
    std::vector<std::int64_t> indices;
    for (const double time : times) indices.push_back(video.index_at(time));
    return video.at(indices);
  });
}

std::vector<std::int64_t> sample(Reader& self, std::optional<std::int64_t> count, std::optional<double> fps) {
  check(count.has_value() != fps.has_value(), ErrorCode::invalid_argument,
        "sample: expected a count of frames or fps=, one of the two");
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
      .def_prop_ro("pts",
                   [](const StreamIndex& self) {
                     std::vector<std::int64_t> times;
                     for (const IndexEntry& entry : self.frames) times.push_back(entry.pts);
                     return times;
                   })
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
    "frame_bytes, cache_index, index.";

void register_random_access(nb::class_<Reader>& reader) {
  reader.def("__len__", &size_of)
      .def("__getitem__", &item, nb::arg("index"),
           nb::sig("def __getitem__(self, index: int | slice | Sequence[int]) -> Any"),
           "A frame, or a list of frames for a slice or a sequence of numbers; only what they depend on is "
           "decoded.")
      .def("frames_at", &frames_at, nb::arg("seconds"),
           nb::sig("def frames_at(self, seconds: Sequence[float]) -> list[Frame]"),
           "The frames on the screen at these times.")
      .def(
          "frames_played_in",
          [](Reader& self, double begin, double end) {
            return self.with(
                [&](VideoReader& video) { return video.at(video.indices_played_in(begin, end)); });
          },
          nb::arg("begin"), nb::arg("end"), "The frames on the screen at some time of [begin, end) seconds.")
      .def(
          "index_at",
          [](Reader& self, double seconds) {
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
          [](Reader& self, nb::handle indices, const nb::kwargs& options) {
            const Preprocess spec = to_preprocess(options);
            const std::vector<std::int64_t> normal = normal_indices(self, indices);
            return self.with([&](VideoReader& video) { return video.batch(normal, spec); });
          },
          nb::arg("indices"), nb::arg("options"),
          nb::sig("def batch(self, indices: slice | Sequence[int], **options: object) -> Tensor"),
          "The frames as one tensor [N, ...]: see Preprocess for the keywords; size is (height, width).")
      .def_prop_ro("index", [](Reader& self) {
        return std::const_pointer_cast<StreamIndex>(
            self.with([](VideoReader& video) { return video.index(); }));
      });
}

/// What every class over a video has: how it is opened, made again elsewhere, and gives frames. `make(source,
/// options, control)` opens the video.
template<typename Video, typename Make>
void register_opening(nb::class_<Opened<Video>>& opened, Make make) {
  opened
      .def(
          "__init__",
          [make](Opened<Video>* self, nb::handle source, const nb::kwargs& keywords) {
            open(self, source, keywords, make);
          },
          nb::arg("source"), nb::arg("options"),
          nb::sig("def __init__(self, source: str | os.PathLike[str] | bytes | io.BufferedIOBase, **options: "
                  "object) -> None"),
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
    return std::make_unique<ParallelDecoder>(std::move(bytes), options, control);
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
