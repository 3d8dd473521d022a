// Video: frames in, frames out.

#include <cmath>

#include <fmt/format.h>

#include <lanner/encoder.h>
#include <lanner/error.h>
#include <lanner/video_reader.h>

#include "bindings.h"

namespace lanner::python {
namespace {

/// `num/den` that lies within a billionth of `value`, by continued fractions.
Rational rational(double value) {
  check(std::isfinite(value) && value > 0 && value < 1e6, ErrorCode::invalid_argument,
        "fps: expected a positive number, got {}", value);
  std::int64_t num = 1, den = 0, num_before = 0, den_before = 1;
  double rest = value;
  for (int i = 0; i < 32; ++i) {
    const auto whole = static_cast<std::int64_t>(std::floor(rest));
    const std::int64_t next_num = whole * num + num_before, next_den = whole * den + den_before;
    if (next_den > 1'000'000) break;
    num_before = num, den_before = den, num = next_num, den = next_den;
    if (std::abs(static_cast<double>(num) / static_cast<double>(den) - value) < 1e-9 * value ||
        rest == static_cast<double>(whole))
      break;
    rest = 1.0 / (rest - static_cast<double>(whole));
  }
  return {num, den};
}

nb::object time_base(const Rational& value) {
  return nb::module_::import_("fractions").attr("Fraction")(value.num, value.den ? value.den : 1);
}

nb::object pts_or_none(std::int64_t pts) {
  return pts == no_pts ? nb::none() : nb::cast(pts);
}

/// `range(...)` of a slice over `size` frames.
std::vector<std::int64_t> slice_indices(const nb::slice& slice, std::int64_t size) {
  const auto [start, stop, step, count] = slice.compute(static_cast<std::size_t>(size));
  std::vector<std::int64_t> indices;
  for (std::size_t i = 0; i < count; ++i) indices.push_back(start + static_cast<std::int64_t>(i) * step);
  return indices;
}

std::int64_t normal_index(std::int64_t i, std::int64_t size) {
  if (i < -size || i >= size) throw nb::index_error(fmt::format("frame {} of {}", i, size).c_str());
  return i < 0 ? i + size : i;
}

Frame next_frame(VideoReader& self) {
  std::optional<Frame> frame;
  {
    nb::gil_scoped_release release;
    frame = self.next();
  }
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
  if (!frame) throw nb::stop_iteration();
  return std::move(*frame);
}

std::int64_t size_of(VideoReader& self) {
  nb::gil_scoped_release release;
  return self.size();
}

Frame frame_at(VideoReader& self, std::int64_t i) {
  const std::int64_t index = normal_index(i, size_of(self));
  nb::gil_scoped_release release;
  return self.at(index);
}

std::vector<Frame> frames_at(VideoReader& self, const std::vector<std::int64_t>& indices) {
  std::vector<std::int64_t> normal;
  const std::int64_t size = size_of(self);
  for (std::int64_t i : indices) normal.push_back(normal_index(i, size));
  nb::gil_scoped_release release;
  return self.at(normal);
}

void register_frame(nb::module_& module) {
  nb::class_<Frame>(module, "Frame",
                    "A decoded picture and its time. It stays valid for as long as it is held.")
      .def_ro("image", &Frame::image)
      .def_prop_ro(
          "pts", [](const Frame& self) { return pts_or_none(self.pts); },
          nb::sig("def pts(self) -> int | None"), "In ticks of time_base; None when the stream gives none.")
      .def_ro("duration", &Frame::duration, "In ticks of time_base.")
      .def_prop_ro(
          "time_base", [](const Frame& self) { return time_base(self.time_base); },
          nb::sig("def time_base(self) -> fractions.Fraction"), "Seconds of one tick, a Fraction.")
      .def_prop_ro("seconds", &Frame::seconds)
      .def_ro("index", &Frame::index, "Number in presentation order, -1 when not known.")
      .def_ro("key", &Frame::key)
      .def_ro("corrupt", &Frame::corrupt, "The decoder concealed damage.")
      .def_ro("rotation", &Frame::rotation, "Degrees clockwise that a player turns the picture by.")
      .def_prop_ro("width", [](const Frame& self) { return self.image.width; })
      .def_prop_ro("height", [](const Frame& self) { return self.image.height; })
      .def_prop_ro("format", [](const Frame& self) { return std::string(to_string(self.image.format)); })
      .def_prop_ro("color_space",
                   [](const Frame& self) { return std::string(to_string(self.image.color.matrix)); })
      .def_prop_ro("color_range",
                   [](const Frame& self) { return std::string(to_string(self.image.color.range)); })
      .def_prop_ro(
          "planes", [](nb::handle self) { return self.attr("image").attr("planes"); },
          nb::sig("def planes(self) -> list[Tensor]"))
      .def(
          "to_rgb", [](nb::handle self) { return self.attr("image").attr("to_rgb")(); },
          nb::sig("def to_rgb(self) -> Tensor"), "uint8 [height, width, 3].")
      .def(
          "to_tensor",
          [](const Frame& self, nb::kwargs options) {
            const Preprocess spec = to_preprocess(options);
            nb::gil_scoped_release release;
            return to_tensor(self.image, spec);
          },
          nb::arg("options"), nb::sig("def to_tensor(self, **options: object) -> Tensor"),
          "One batch element: see Preprocess for the keywords; size is (height, width).")
      .def("__repr__", [](const Frame& self) {
        return fmt::format("lanner.Frame({}x{} {}, {:.3f} s)", self.image.width, self.image.height,
                           to_string(self.image.format), self.seconds());
      });
}

void register_reader(nb::module_& module) {
  nb::class_<StreamInfo>(module, "StreamInfo", "What a container says of one stream.")
      .def_ro("index", &StreamInfo::index)
      .def_ro("kind", &StreamInfo::kind)
      .def_ro("codec", &StreamInfo::codec)
      .def_ro("profile", &StreamInfo::profile)
      .def_ro("width", &StreamInfo::width)
      .def_ro("height", &StreamInfo::height)
      .def_ro("bit_depth", &StreamInfo::bit_depth)
      .def_ro("format", &StreamInfo::native_format)
      .def_ro("rotation", &StreamInfo::rotation)
      .def_ro("frames", &StreamInfo::frames)
      .def_ro("bit_rate", &StreamInfo::bit_rate)
      .def_prop_ro(
          "time_base", [](const StreamInfo& self) { return time_base(self.time_base); },
          nb::sig("def time_base(self) -> fractions.Fraction"))
      .def_prop_ro("average_rate", [](const StreamInfo& self) { return self.average_rate.to_double(); })
      .def("__repr__", [](const StreamInfo& self) {
        return fmt::format("lanner.StreamInfo({} {} {}x{})", self.kind, self.codec, self.width, self.height);
      });

  nb::class_<VideoReader>(
      module, "VideoReader",
      "Frames of a video by iteration and by number. `len`, negative numbers and slices work as for lists.")
      .def(
          "__init__",
          [](VideoReader* self, nb::handle source, int stream, int threads) {
            VideoReaderOptions options;
            options.stream = stream;
            options.decoder.threads = threads;
            SourcePtr bytes = to_source(source);
            nb::gil_scoped_release release;
            new (self) VideoReader(std::move(bytes), options);
          },
          nb::arg("source"), nb::arg("stream") = -1, nb::arg("threads") = 0,
          "source: a path, bytes or a binary file object. threads: of the codec, 0 takes the machine's "
          "cores.")
      .def_prop_ro("stream", &VideoReader::stream, nb::rv_policy::copy)
      .def_prop_ro("decoder", &VideoReader::decoder_description)
      .def("__len__", &size_of)
      .def(
          "__iter__",
          [](nb::handle self) {
            nb::cast<VideoReader&>(self).rewind();
            return nb::borrow(self);
          },
          nb::sig("def __iter__(self) -> VideoReader"))
      .def("__next__", &next_frame)
      .def("__getitem__", &frame_at, nb::arg("index"))
      .def(
          "__getitem__",
          [](VideoReader& self, const nb::slice& slice) {
            return frames_at(self, slice_indices(slice, size_of(self)));
          },
          nb::arg("slice"))
      .def("__getitem__", &frames_at, nb::arg("indices"));
}

void register_writer(nb::module_& module) {
  nb::class_<VideoWriter>(module, "VideoWriter",
                          "Pictures in, a video file out. Nothing lies under the path before close().")
      .def(
          "__init__",
          [](VideoWriter* self, nb::handle path, std::int32_t width, std::int32_t height, double fps,
             const std::string& codec, double crf, std::int64_t bit_rate, const std::string& preset,
             int gop) {
            EncoderOptions options;
            options.width = width, options.height = height;
            options.rate = rational(fps);
            options.codec = codec, options.crf = crf, options.bit_rate = bit_rate, options.preset = preset,
            options.gop = gop;
            const std::string name = nb::cast<std::string>(nb::module_::import_("os").attr("fsdecode")(path));
            nb::gil_scoped_release release;
            new (self) VideoWriter(name, options);
          },
          nb::arg("path"), nb::kw_only(), nb::arg("width"), nb::arg("height"), nb::arg("fps") = 30.0,
          nb::arg("codec") = "h264", nb::arg("crf") = -1.0, nb::arg("bit_rate") = 0, nb::arg("preset") = "",
          nb::arg("gop") = 0)
      .def(
          "write",
          [](VideoWriter& self, const Image& image) {
            nb::gil_scoped_release release;
            self.write(image);
          },
          nb::arg("image"))
      .def(
          "write",
          [](VideoWriter& self, const Frame& frame) {
            nb::gil_scoped_release release;
            self.write(frame.image);
          },
          nb::arg("frame"))
      .def(
          "write",
          [](VideoWriter& self, nb::handle array) {
            const Image image = Image::from_tensor(to_tensor(array), PixelFormat::rgb24);
            nb::gil_scoped_release release;
            self.write(image);
          },
          nb::arg("rgb"), "uint8 RGB [height, width, 3].")
      .def("close",
           [](VideoWriter& self) {
             nb::gil_scoped_release release;
             self.finish();
           })
      .def(
          "__enter__", [](nb::handle self) { return nb::borrow(self); },
          nb::sig("def __enter__(self) -> VideoWriter"))
      .def(
          "__exit__",
          [](nb::handle self, nb::handle kind, nb::handle, nb::handle) {
            if (kind.is_none()) self.attr("close")();
          },
          nb::arg("kind").none(), nb::arg("value").none(), nb::arg("trace").none());
}

} // namespace

void register_video(nb::module_& module) {
  register_frame(module);
  register_reader(module);
  register_writer(module);
}

} // namespace lanner::python
