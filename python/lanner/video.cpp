// Video files from pictures.

#include <lanner/decoder.h>
#include <lanner/encoder.h>
#include <lanner/error.h>

#include "bindings.h"

namespace lanner::python {
namespace {

void register_writer(nb::module_& module) {
  nb::class_<VideoWriter>(
      module, "VideoWriter",
      "Encodes images into a video file; docs/writing-video.md. The file appears under its path with "
      "close(), or at the end of `with`; after an error there is none. One thread at a time.")
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
            const std::string name = path_of(path);
            ReleasedGil release;
            new (self) VideoWriter(name, options);
          },
          nb::arg("path"), nb::kw_only(), nb::arg("width"), nb::arg("height"), nb::arg("fps") = 30.0,
          nb::arg("codec") = "h264", nb::arg("crf") = -1.0, nb::arg("bit_rate") = 0, nb::arg("preset") = "",
          nb::arg("gop") = 0,
          nb::sig("def __init__(self, path: str | os.PathLike[str], *, width: int, height: int, fps: float = "
                  "30.0, codec: str = 'h264', crf: float = -1.0, bit_rate: int = 0, preset: str = '', gop: "
                  "int = 0) -> None"),
          "Opens the encoder. Raises Unsupported where this machine's FFmpeg has no such encoder, "
          "InvalidArgument for options that do not fit.\n\npath: file to write; its extension chooses the "
          "container: .mp4, .mkv, .webm, .mov, .avi and others\nwidth: width of the video in pixels\nheight: "
          "height of the video in pixels\nfps: frames per second; frame i is shown from i / fps seconds "
          "on\ncodec: \"h264\", \"hevc\", \"av1\", \"vp9\", \"mpeg4\", \"mjpeg\", \"ffv1\", or the name of "
          "one of FFmpeg's encoders\ncrf: constant quality on the codec's own scale, lower is better; -1: "
          "the codec's default\nbit_rate: bits per second, in place of constant quality; 0: crf "
          "counts\npreset: speed of x264 and x265, \"ultrafast\" to \"placebo\", or the codec's own; \"\": "
          "its default\ngop: frames between keyframes; 0: the codec's default")
      .def(
          "write",
          [](VideoWriter& self, const Image& image) {
            ReleasedGil release;
            self.write(image);
          },
          nb::arg("image"), "Appends an image.\n\nimage: of the video's size; its pixel format is converted")
      .def(
          "write",
          [](VideoWriter& self, const Frame& frame) {
            ReleasedGil release;
            self.write(frame.image);
          },
          nb::arg("frame"),
          "Appends the picture of a frame.\n\nframe: of the video's size; its time is not used")
      .def(
          "write",
          [](VideoWriter& self, nb::handle array) {
            const Image image = Image::from_tensor(to_tensor(array), PixelFormat::rgb24);
            ReleasedGil release;
            self.write(image);
          },
          nb::arg("rgb"), "Appends RGB pixels.\n\nrgb: uint8 [height, width, 3]")
      .def(
          "close",
          [](VideoWriter& self) {
            ReleasedGil release;
            self.finish();
          },
          "Encodes what is left, finishes the file and gives it its name.")
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
  register_writer(module);
}

} // namespace lanner::python
