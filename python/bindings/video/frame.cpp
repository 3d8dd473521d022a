// Frames and what a container says of a stream.

#include <cmath>

#include <fmt/format.h>

#include <lanner/decoder.h>
#include <lanner/error.h>

#include "calls/bindings.h"
#include "calls/check.h"
#include "calls/keywords.h"
#include "values/view.h"
#include "video/packets.h"
#include "video/video_facts.h"

namespace lanner::python {
namespace {

View view_of(const Frame& self) {
  return image_view(self.image, self.stream);
}

nb::list planes_of(const Frame& self) {
  nb::list list;
  for (int i = 0; i < plane_count(self.image.format); ++i)
    list.append(plane_view(self.image, static_cast<std::size_t>(i), self.stream));
  return list;
}

nb::list sei_of(const Frame& self) {
  nb::list list;
  for (const SeiMessage& message : self.sei)
    list.append(nb::make_tuple(message.type, nb::bytes(message.bytes.data(), message.bytes.size())));
  return list;
}

nb::object tensor_of(const Frame& self) {
  return self.tensor.defined() ? nb::cast(self.tensor) : nb::none();
}

Tensor to_network(const Frame& self, const Preprocess& spec) {
  ReleasedGil release;
  if (self.stream.handle) wait_for(self.image.device, self.stream);
  return to_tensor(self.image, spec);
}

/// In the host's memory and the format asked for.
Frame converted(const Frame& self, const std::string& format) {
  const PixelFormat wanted = parse_pixel_format(format);
  ReleasedGil release;
  if (self.stream.handle) wait_for(self.image.device, self.stream);
  Frame frame = self;
  frame.stream = {};
  frame.image = Image::allocate(wanted, self.image.width, self.image.height, {}, self.image.device);
  if (format_info(wanted).yuv) frame.image.color = self.image.color;
  convert_image(self.image, frame.image);
  return frame;
}

Frame on_host(const Frame& self) {
  if (self.image.device.is_host()) return self;
  ReleasedGil release;
  if (self.stream.handle) wait_for(self.image.device, self.stream);
  Frame frame = self;
  frame.stream = {};
  frame.image = Image::allocate(self.image.format, self.image.width, self.image.height);
  copy_image(self.image, frame.image);
  return frame;
}

void register_times(nb::class_<Frame>& frame) {
  frame
      .def_prop_ro(
          "pts", [](const Frame& self) { return pts_or_none(self.pts); },
          nb::sig("def pts(self) -> int | None"), "Presentation time in ticks of time_base; None if unknown.")
      .def_ro("duration", &Frame::duration, "How long it is shown, in ticks of time_base; 0 if unknown.")
      .def_prop_ro(
          "time_base", [](const Frame& self) { return fraction(self.time_base); },
          nb::sig("def time_base(self) -> fractions.Fraction"), "Seconds of one tick.")
      .def_prop_ro(
          "seconds",
          [](const Frame& self) { return self.pts == no_pts ? nb::none() : nb::cast(self.seconds()); },
          nb::sig("def seconds(self) -> float | None"), "Presentation time in seconds; None if unknown.")
      .def_ro("index", &Frame::index, "Number of the frame in presentation order, from 0; -1 if unknown.")
      .def_ro("key", &Frame::key, "Whether it is a keyframe, which can be decoded without other frames.")
      .def_ro("corrupt", &Frame::corrupt, "Whether the decoder concealed damage in it.")
      .def_ro("interlaced", &Frame::interlaced, "Whether it holds two fields.")
      .def_ro("top_field_first", &Frame::top_field_first,
              "For an interlaced frame: whether the top field comes first.")
      .def_ro("mirror", &Frame::mirror,
              "Whether a player must still mirror it left to right, before rotating it; False from a reader "
              "with rotate=True.")
      .def_ro("rotation", &Frame::rotation,
              "Degrees clockwise by which a player must still rotate it; 0 from a reader with rotate=True, "
              "unless it is no multiple of 90.")
      .def_prop_ro(
          "sample_aspect", [](const Frame& self) { return fraction(self.sample_aspect); },
          nb::sig("def sample_aspect(self) -> fractions.Fraction"),
          "Width of a pixel divided by its height; 1 for square pixels.")
      .def_prop_ro("sei", &sei_of, nb::sig("def sei(self) -> list[tuple[int, bytes]]"),
                   "SEI messages (in AV1: metadata OBUs) as (type, bytes), such as closed captions; empty "
                   "unless the reader was opened with sei=True.");
}

/// NumPy comes here where there is no __array_interface__, and would make an array of one object without it.
nb::object array_of(nb::handle self, const nb::args&, const nb::kwargs&) {
  try {
    static_cast<void>(array_interface(view_of(nb::cast<const Frame&>(self))));
  } catch (const nb::builtin_exception& error) {
    throw nb::type_error(error.what());
  }
  return nb::module_::import_("numpy").attr("asarray")(self);
}

std::string describe(const Frame& self) {
  const std::string time = self.pts == no_pts ? "no pts" : fmt::format("{:.3f} s", self.seconds());
  const std::string number = self.index < 0 ? "" : fmt::format("#{}, ", self.index);
  const std::string tensor =
      self.tensor.defined() ? fmt::format(", tensor {}", self.tensor.shape().to_string()) : "";
  return fmt::format("lanner.Frame({}{}x{} {}, {}, {}{})", number, self.image.width, self.image.height,
                     to_string(self.image.format), time, self.image.device.to_string(), tensor);
}

void register_colors(nb::class_<Frame>& frame) {
  frame
      .def_prop_ro(
          "color_space", [](const Frame& self) { return std::string(to_string(self.image.color.matrix)); },
          "Matrix between YUV and RGB, such as `bt709`.")
      .def_prop_ro(
          "color_range", [](const Frame& self) { return std::string(to_string(self.image.color.range)); },
          "`full`: samples from 0 to 255; `limited`: from 16 to 235.")
      .def_prop_ro(
          "color_primaries",
          [](const Frame& self) { return std::string(primaries_name(self.image.color.primaries)); },
          "Chromaticities of the primaries, by FFmpeg's name, such as `bt709`, `bt2020`.")
      .def_prop_ro(
          "color_transfer",
          [](const Frame& self) { return std::string(transfer_name(self.image.color.transfer)); },
          "Transfer characteristic, by FFmpeg's name, such as `bt709`, `smpte2084` (PQ), `arib-std-b67` "
          "(HLG).")
      .def_prop_ro(
          "chroma_siting", [](const Frame& self) { return std::string(to_string(self.image.color.siting)); },
          "Where chroma samples are among those of luma, such as `left`, `center`, `top_left`.");
}

void register_samples(nb::class_<Frame>& frame) {
  frame
      .def_prop_ro(
          "width", [](const Frame& self) { return self.image.width; }, "Width in pixels.")
      .def_prop_ro(
          "height", [](const Frame& self) { return self.image.height; }, "Height in pixels.")
      .def_prop_ro(
          "format", [](const Frame& self) { return std::string(to_string(self.image.format)); },
          "Pixel format by FFmpeg's name, such as `yuv420p`.")
      .def_prop_ro(
          "device", [](const Frame& self) { return self.image.device.to_string(); },
          "Where the pixels are: `cpu`, `cuda:0`.")
      .def_prop_ro("planes", &planes_of, nb::sig("def planes(self) -> list[Plane]"),
                   "The planes of the pixel format, without a copy; that of opacity is the last.")
      .def_prop_ro(
          "alpha",
          [](const Frame& self) {
            const PixelFormatInfo& facts = format_info(self.image.format);
            return facts.alpha_plane ? nb::cast(plane_view(self.image, facts.planes, self.stream))
                                     : nb::none();
          },
          nb::sig("def alpha(self) -> Plane | None"),
          "The alpha plane, the last of `planes`, without a copy, of formats that have one (yuva420p); None "
          "if "
          "pixels are opaque or contain alpha (rgba32). to(\"rgba\") keeps it.")
      .def_prop_ro(
          "__array_interface__", [](const Frame& self) { return array_interface(view_of(self)); },
          nb::sig("def __array_interface__(self) -> dict[str, object]"))
      .def("__array__", &array_of,
           nb::sig("def __array__(self, dtype: object | None = None, copy: bool | None = None) -> Any"))
      .def_prop_ro(
          "__cuda_array_interface__", [](const Frame& self) { return cuda_array_interface(view_of(self)); },
          nb::sig("def __cuda_array_interface__(self) -> dict[str, object]"))
      .def(
          "__dlpack__",
          [](const Frame& self, nb::handle stream, nb::handle max_version, nb::handle, nb::handle copy) {
            return dlpack(view_of(self), stream, max_version, copy);
          },
          nb::kw_only(), nb::arg("stream") = nb::none(), nb::arg("max_version") = nb::none(),
          nb::arg("dl_device") = nb::none(), nb::arg("copy") = nb::none())
      .def(
          "__dlpack_device__", [](const Frame& self) { return dlpack_device(view_of(self)); },
          nb::sig("def __dlpack_device__(self) -> tuple[int, int]"));
}

void register_frame_class(nb::module_& module) {
  nb::class_<Frame> frame(module, "Frame",
                          "A decoded picture and its time. Its memory stays valid as long as the frame is "
                          "held. NumPy, DLPack and CUDA read frames whose pixels are one array (RGB, 4:4:4, "
                          "semi-planar of even width) without a copy; for others read the planes.");
  register_times(frame);
  register_colors(frame);
  register_samples(frame);
  register_contiguous(frame);
  frame.def_ro("image", &Frame::image, "The picture, without a copy.")
      .def_prop_ro("tensor", &tensor_of, nb::sig("def tensor(self) -> Tensor | None"),
                   "Result of the reader's preprocess, [1, ...]; None without preprocess.")
      .def(
          "to_rgb", [](nb::handle self) { return self.attr("image").attr("to_rgb")(); },
          nb::sig("def to_rgb(self) -> Tensor"), "The pixels as RGB, uint8 [height, width, 3].")
      .def("to", &converted, nb::arg("format"),
           "A copy in another pixel format, on the same device.\n\nformat: FFmpeg's name, such as \"rgb24\" "
           "or \"nv12\"")
      .def("cpu", &on_host, "The frame in host memory: a copy if it is on a GPU, else itself.")
      .def(
          "to_tensor",
          [](const Frame& self, const nb::args& others, const nb::kwargs& options) {
            return to_network(self, to_preprocess("to_tensor", others, options));
          },
          nb::arg("others"), nb::arg("options"),
          nb::sig(
              signature("def to_tensor(self, spec: Preprocess | None = None", preprocess_keywords(), "Tensor")
                  .c_str()),
          preprocess_docs("The frame as a network's input: one batch element, [1, 3, height, width] unless "
                          "layout or channels say otherwise, on the frame's device.")
              .c_str())
      .def(
          "_repr_png_",
          [](const Frame& self) {
            if (self.stream.handle) {
              const ReleasedGil release;
              wait_for(self.image.device, self.stream);
            }
            return png_of(self.image);
          },
          nb::sig("def _repr_png_(self) -> bytes | None"))
      .def("__repr__", &describe);
}

void register_stream(nb::module_& module) {
  nb::class_<StreamInfo> stream(module, "StreamInfo",
                                "What a container says about one stream, before anything is decoded.");
  register_description(stream);
  stream.def_ro("index", &StreamInfo::index, "Number in the container, from 0.")
      .def_ro("kind", &StreamInfo::kind, "`video`, `audio` or another kind.")
      .def_ro("codec", &StreamInfo::codec, "FFmpeg's name, such as `h264`.")
      .def_ro("profile", &StreamInfo::profile, "Profile of the codec, such as `High`; empty if unknown.")
      .def_ro("width", &StreamInfo::width, "Coded width in pixels, before rotation.")
      .def_ro("height", &StreamInfo::height, "Coded height in pixels, before rotation.")
      .def_ro("bit_depth", &StreamInfo::bit_depth, "Bits of a sample.")
      .def_ro("format", &StreamInfo::native_format, "Pixel format of the decoder, by FFmpeg's name.")
      .def_ro("interlaced", &StreamInfo::interlaced, "Whether frames hold two fields.")
      .def_ro("layers", &StreamInfo::layers, "Layers of a scalable stream; 1 for others.")
      .def_ro("mirror", &StreamInfo::mirror,
              "Whether a player mirrors frames left to right, before it rotates them.")
      .def_ro("rotation", &StreamInfo::rotation, "Degrees clockwise by which a player rotates frames.")
      .def_ro("frames", &StreamInfo::frames,
              "Number of frames according to the container, which may be wrong; 0 if it does not say. "
              "`len(reader)` is exact.")
      .def_ro("bit_rate", &StreamInfo::bit_rate, "Bits per second; 0 if unknown.")
      .def_prop_ro(
          "time_base", [](const StreamInfo& self) { return fraction(self.time_base); },
          nb::sig("def time_base(self) -> fractions.Fraction"), "Seconds of one tick of pts.")
      .def_prop_ro(
          "average_rate", [](const StreamInfo& self) { return self.average_rate.to_double(); },
          "Frames per second; 0 if unknown.")
      .def("__repr__", [](const StreamInfo& self) {
        return fmt::format("lanner.StreamInfo({} {} {}x{})", self.kind, self.codec, self.width, self.height);
      });
}

} // namespace

nb::object fraction(const Rational& value) {
  return nb::module_::import_("fractions").attr("Fraction")(value.num, value.den ? value.den : 1);
}

void register_frame(nb::module_& module) {
  register_view(module);
  register_frame_class(module);
  register_stream(module);
}

} // namespace lanner::python
