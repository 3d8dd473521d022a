// Frames by number, by time and one after the other.

#include <array>

#include <fmt/format.h>

#include <lanner/error.h>
#include <lanner/option_table.h>
#include <lanner/video_reader.h>

#include "calls/bindings.h"
#include "calls/check.h"
#include "calls/keywords.h"
#include "engine/notebook.h"
#include "video/reader_options.h"
#include "video/reader_pool.h"
#include "video/video_facts.h"

namespace lanner::python {
namespace {

/// A VideoReader as Python has it. Python's threads may meet here: iterators go side by side, calls by number
/// take turns.
struct Reader {
  std::shared_ptr<ReaderPool> pool;
  VideoFacts facts;
  nb::object source; ///< As given, for pickling.
  nb::dict options;

  Reader() = default;
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader() {
    const ReleasedGil released; // Threads that are joined now may be reading from an object of Python's.
    pool.reset();
  }

  /// Calls `body(video)` without the GIL.
  template<typename Body>
  auto with(Body&& body) {
    const ReleasedGil release;
    return pool->by_number({}, body);
  }
  /// Calls `body(video, control)` without the GIL; Ctrl-C stops it.
  template<typename Body>
  auto run(Body&& body) {
    Interruptible work;
    return work.run([&] {
      return pool->by_number(work.control(), [&](VideoReader& video) { return body(video, work.control()); });
    });
  }
  std::shared_ptr<const StreamIndex> index() {
    Interruptible work;
    return work.run([&] { return pool->index(work.control()); });
  }
};

/// An iterator as Python has it, over `Frames`, FrameIterator or ReversedFrames.
template<typename Frames>
struct Iterator {
  std::unique_ptr<Frames> frames;

  explicit Iterator(std::shared_ptr<ReaderPool> pool) : frames(std::make_unique<Frames>(std::move(pool))) {}
  Iterator(const Iterator&) = delete;
  Iterator& operator=(const Iterator&) = delete;
  ~Iterator() {
    const ReleasedGil released;
    frames.reset();
  }
};

Frame given(std::optional<Frame> frame) {
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
  if (!frame) throw nb::stop_iteration();
  return std::move(*frame);
}

Frame next_frame(Iterator<FrameIterator>& self) {
  const auto next = [&] {
    const ReleasedGil release;
    return self.frames->next();
  };
  return given(next());
}

Frame next_reversed(Iterator<ReversedFrames>& self) {
  Interruptible work;
  return given(work.run([&] { return self.frames->next(work.control()); }));
}

/// `range(...)` of a slice over `size` frames.
std::vector<std::int64_t> slice_indices(const nb::slice& slice, std::int64_t size) {
  const auto [start, stop, step, count] = slice.compute(static_cast<std::size_t>(size));
  std::vector<std::int64_t> indices;
  for (std::size_t i = 0; i < count; ++i) indices.push_back(start + static_cast<std::int64_t>(i) * step);
  return indices;
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

std::int64_t size_of(Reader& self) {
  return static_cast<std::int64_t>(self.index()->frames.size());
}

/// The numbers that a slice or a sequence of numbers says; all where it is None.
std::vector<std::int64_t> normal_indices(Reader& self, nb::handle indices) {
  const std::int64_t size = size_of(self);
  if (indices.is_none()) return slice_indices(nb::slice(nb::none(), nb::none(), nb::none()), size);
  if (nb::isinstance<nb::slice>(indices)) return slice_indices(nb::cast<nb::slice>(indices), size);
  if (!nb::hasattr(indices, "__iter__"))
    fail_type(
        fmt::format("expected frames by slice or sequence of numbers, like [3], got {}", shown(indices)));
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
  return self.run([&](VideoReader& video, const Control& control) {
    std::vector<std::int64_t> indices;
    for (const double time : times) indices.push_back(video.index_at(time));
    return video.at(indices, control);
  });
}

std::vector<std::int64_t> sample(Reader& self, std::optional<std::int64_t> count, std::optional<double> fps) {
  check(count.has_value() != fps.has_value(), ErrorCode::invalid_argument,
        "sample: expected a count of frames or fps=, one of the two");
  return self.run([&](VideoReader& video, const Control&) {
    return count ? video.sample(*count) : video.sample(parse_frame_rate(*fps));
  });
}

nb::list pts_of(Reader& self, nb::handle indices) {
  const auto index = self.index();
  nb::list times;
  for (const std::int64_t number : normal_indices(self, indices))
    times.append(pts_or_none(index->frames[static_cast<std::size_t>(number)].pts));
  return times;
}

nb::list times_of(Reader& self, nb::handle indices) {
  const auto index = self.index();
  nb::list times;
  for (const std::int64_t number : normal_indices(self, indices)) {
    const std::int64_t pts = index->frames[static_cast<std::size_t>(number)].pts;
    if (pts == no_pts)
      times.append(nb::none());
    else
      times.append(seconds_of(pts, index->time_base));
  }
  return times;
}

Tensor batch_of(Reader& self, nb::handle indices, const nb::args& others, const nb::kwargs& options) {
  const Preprocess spec = to_preprocess("batch", others, options);
  const std::vector<std::int64_t> normal = normal_indices(self, indices);
  return self.run(
      [&](VideoReader& video, const Control& control) { return video.batch(normal, spec, control); });
}

std::int64_t length_of(Reader& self) {
  try {
    return size_of(self);
  } catch (const Error& error) {
    // list() asks for the length, and takes this for an answer.
    if (error.code() == ErrorCode::unsupported) throw nb::type_error(error.what());
    throw;
  }
}

void register_index(nb::module_& module) {
  nb::class_<StreamIndex>(
      module, "StreamIndex",
      "Exact times of all frames, and which of them are keyframes, in presentation order. Made in one pass "
      "over the file, without decoding; readers of the same clip share it with index=.")
      .def("__len__", [](const StreamIndex& self) { return self.frames.size(); })
      .def_prop_ro(
          "time_base", [](const StreamIndex& self) { return fraction(self.time_base); },
          nb::sig("def time_base(self) -> fractions.Fraction"), "Seconds of one tick of pts.")
      .def_prop_ro(
          "pts",
          [](const StreamIndex& self) {
            std::vector<std::optional<std::int64_t>> times;
            for (const IndexEntry& entry : self.frames)
              times.push_back(entry.pts == no_pts ? std::nullopt : std::optional(entry.pts));
            return times;
          },
          "Times in ticks of time_base; None if unknown.")
      .def_prop_ro(
          "keyframes",
          [](const StreamIndex& self) {
            std::vector<std::size_t> numbers;
            for (std::size_t i = 0; i < self.frames.size(); ++i)
              if (self.frames[i].key) numbers.push_back(i);
            return numbers;
          },
          "Numbers of the frames that can be decoded without others.");
}

void register_sequence(nb::class_<Reader>& reader) {
  reader.def("__len__", &length_of)
      .def("__getitem__", &item, nb::arg("index").none(),
           "A frame by its number, or a list of frames for a slice or a sequence of numbers; only these and "
           "the frames that they depend on are decoded. Negative numbers count from the end. IndexError "
           "beyond the end.")
      .def(
          "__iter__", [](const Reader& self) { return new Iterator<FrameIterator>(self.pool); },
          nb::sig("def __iter__(self) -> FrameIterator"),
          "Iterates from the first frame; iterators are independent of each other and of indexing.")
      .def(
          "__reversed__", [](const Reader& self) { return new Iterator<ReversedFrames>(self.pool); },
          nb::sig("def __reversed__(self) -> ReversedFrames"), "Iterates from the last frame to the first.")
      .def(
          "__contains__",
          [](const Reader&, nb::handle) -> bool {
            throw nb::type_error(
                "frames are not looked for in a video, which would decode all of it; compare "
                "their index, or ask index_at(seconds)");
          },
          nb::arg("frame").none(), nb::sig("def __contains__(self, frame: object) -> typing.NoReturn"));
}

void register_times(nb::class_<Reader>& reader) {
  reader
      .def("frames_at", &frames_at, nb::arg("seconds"),
           nb::sig("def frames_at(self, seconds: collections.abc.Iterable[float]) -> list[Frame]"),
           "The frames that a player shows at these times.\n\nseconds: times in seconds of the stream's "
           "clock, as Frame.seconds")
      .def(
          "frames_played_in",
          [](Reader& self, double begin, double end) {
            return self.run([&](VideoReader& video, const Control& control) {
              return video.at(video.indices_played_in(begin, end), control);
            });
          },
          nb::arg("begin"), nb::arg("end"),
          "The frames that a player shows during an interval.\n\nbegin: seconds\nend: seconds; a frame that "
          "begins at this time is not included")
      .def(
          "index_at",
          [](Reader& self, double seconds) {
            return self.run([&](VideoReader& video, const Control&) { return video.index_at(seconds); });
          },
          nb::arg("seconds"),
          "Number of the frame that a player shows at this time.\n\nseconds: time in seconds, as "
          "Frame.seconds")
      .def("sample_indices", &sample, nb::arg("count") = nb::none(), nb::kw_only(),
           nb::arg("fps") = nb::none(),
           "Numbers of frames spread over the video; give either count or fps.\n\ncount: this many frames, "
           "evenly spaced\nfps: the frames that a player shows at this many times per second")
      .def(
          "sample",
          [](Reader& self, std::optional<std::int64_t> count, std::optional<double> fps) {
            return frames_of(self, sample(self, count, fps));
          },
          nb::arg("count") = nb::none(), nb::kw_only(), nb::arg("fps") = nb::none(),
          "Frames spread over the video; give either count or fps.\n\ncount: this many frames, evenly "
          "spaced\nfps: the frames that a player shows at this many times per second")
      .def("pts", &pts_of, nb::arg("indices").none() = nb::none(),
           nb::sig("def pts(self, indices: slice | collections.abc.Iterable[typing.SupportsIndex] | None = "
                   "None) -> list[int | None]"),
           "Times of frames in ticks of stream.time_base, without decoding; None if the stream has "
           "none.\n\nindices: a slice or numbers; default all frames")
      .def("times", &times_of, nb::arg("indices").none() = nb::none(),
           nb::sig("def times(self, indices: slice | collections.abc.Iterable[typing.SupportsIndex] | None = "
                   "None) -> list[float | None]"),
           "Times of frames in seconds, without decoding; None if the stream has none.\n\nindices: a "
           "slice or numbers; default all frames");
}

void register_batches(nb::class_<Reader>& reader) {
  reader
      .def("batch", &batch_of, nb::arg("indices"), nb::arg("others"), nb::arg("options"),
           nb::sig(
               signature("def batch(self, indices: slice | collections.abc.Iterable[typing.SupportsIndex], "
                         "spec: Preprocess | None = None",
                         preprocess_keywords(), "Tensor")
                   .c_str()),
           preprocess_docs("Frames as one input of a network, [N, 3, height, width] unless layout or "
                           "channels say otherwise.\n\nindices: a slice or numbers of frames")
               .c_str())
      .def_prop_ro(
          "index", [](Reader& self) { return std::const_pointer_cast<StreamIndex>(self.index()); },
          "The exact index; the first use reads the file once, without decoding.");
}

void open(Reader* self, nb::handle source, const nb::args& others, const nb::kwargs& keywords) {
  check_named("a video", others, "device=\"cpu\"");
  VideoFacts facts;
  std::shared_ptr<ReaderPool> pool =
      open_video(source, keywords, [&](SourcePtr bytes, const VideoReaderOptions& options, const Control&) {
        const bool seekable = bytes->seekable();
        VideoReader video(std::move(bytes), options);
        facts = facts_of(video.stream(), options.rotate);
        facts.seekable = seekable;
        facts.add(video.demuxer());
        facts.decoder = video.decoder_description();
        facts.decoder_reason = video.decoder_reason();
        return std::make_shared<ReaderPool>(std::move(video));
      });
  new (self) Reader();
  self->pool = std::move(pool);
  self->facts = std::move(facts);
  self->source = nb::borrow(source);
  self->options = nb::borrow<nb::dict>(keywords);
}

bool is_closed(const Reader& self) {
  const ReleasedGil release;
  return self.pool->closed();
}

/// What the frames' times say, where the source can be read twice.
const VideoFacts& measured(Reader& self) {
  if (!self.facts.seekable || self.facts.measured_seconds || is_closed(self)) return self.facts;
  try {
    self.facts.measure(*self.index());
  } catch (const Error& error) { // What cannot be counted has its container's word.
    if (error.code() != ErrorCode::bad_data && error.code() != ErrorCode::unsupported) throw;
  }
  return self.facts;
}

nb::object fps_of(Reader& self) {
  const auto fps = measured(self).fps();
  return fps ? nb::cast(*fps) : nb::none();
}

nb::object duration_of(Reader& self) {
  const auto seconds = measured(self).duration();
  return seconds ? nb::cast(*seconds) : nb::none();
}

/// Facts, and the first frame: by an iteration of its own, which needs no index. A pipe's frames come once.
nb::object html_of(const Reader& self) {
  const bool closed = is_closed(self);
  if (closed || !self.facts.seekable) return self.facts.html("VideoReader", closed, {});
  std::string picture;
  try {
    const auto first = [&] {
      const ReleasedGil release;
      std::optional<Frame> frame = FrameIterator(self.pool).next();
      if (frame && frame->stream.handle) wait_for(frame->image.device, frame->stream);
      return frame;
    };
    if (const std::optional<Frame> frame = first()) picture = html_picture(frame->image, 320);
  } catch (const Error& error) {
    picture = "<p>" + html_escaped(error.what()) + "</p>";
  }
  return self.facts.html("VideoReader", false, picture);
}

void register_reader(nb::module_& module) {
  nb::class_<Reader> reader(
      module, "VideoReader",
      "Frames of a video by iteration, by number and by time. It is a sequence: len, negative numbers, "
      "slices and reversed work as for lists, and iterators are independent. `with` closes it. Threads may "
      "share it. Raises NotFound, BadData, Unsupported when the video cannot be opened.");
  reader.def(
      "__init__", &open, nb::arg("source").none(), nb::arg("others"), nb::arg("options"),
      nb::sig(signature("def __init__(self, source: str | os.PathLike[str] | bytes | io.BufferedIOBase",
                        reader_keywords(), "None")
                  .c_str()),
      reader_docs().c_str());
  register_facts(reader);
  reader
      .def_prop_ro("fps", &fps_of, nb::sig("def fps(self) -> float | None"),
                   "Average frames per second, from the times of the frames; None if the stream has no "
                   "times. The first use reads the file once.")
      .def_prop_ro("duration", &duration_of, nb::sig("def duration(self) -> float | None"),
                   "Length in seconds, from the first frame to the end of the last; None if the stream has "
                   "no times. The first use reads the file once.")
      .def_prop_ro(
          "decoder", [](const Reader& self) { return self.facts.decoder; },
          "The decoder and its device: `ffmpeg h264, 2 threads`, `nvdec h264 on cuda:0`.")
      .def(
          "close",
          [](Reader& self) {
            const ReleasedGil release;
            self.pool->close();
          },
          "Closes the file and releases the decoders; frames that were returned stay valid.")
      .def_prop_ro(
          "closed",
          [](const Reader& self) {
            const ReleasedGil release;
            return self.pool->closed();
          },
          "Whether close() was called.")
      .def(
          "__reduce__",
          [](nb::handle self) {
            const auto& held = nb::cast<const Reader&>(self);
            return reduce_video(self, held.source, held.options);
          },
          nb::sig("def __reduce__(self) -> tuple[object, ...]"))
      .def("_repr_html_", &html_of, nb::sig("def _repr_html_(self) -> str"))
      .def("__repr__",
           [](const Reader& self) { return text_of(self.facts.line("VideoReader", is_closed(self))); });
  register_sequence(reader);
  register_times(reader);
  register_batches(reader);
}

template<typename Frames>
void register_iterator(nb::module_& module, const char* name, const char* about,
                       Frame (*next)(Iterator<Frames>&)) {
  nb::class_<Iterator<Frames>>(module, name, about)
      .def(
          "__iter__", [](nb::handle self) { return nb::borrow(self); },
          nb::sig("def __iter__(self) -> typing.Self"))
      .def("__next__", next);
}

} // namespace

void register_video_reader(nb::module_& module) {
  register_index(module);
  register_iterator<FrameIterator>(module, "FrameIterator", "Frames of a VideoReader in order.", &next_frame);
  register_iterator<ReversedFrames>(module, "ReversedFrames",
                                    "Frames of a VideoReader from the last to the first.", &next_reversed);
  register_reader(module);
}

} // namespace lanner::python
