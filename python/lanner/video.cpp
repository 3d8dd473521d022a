// Video files from pictures.

#include <lanner/decoder.h>
#include <lanner/encoder.h>
#include <lanner/error.h>

#include "bindings.h"

namespace lanner::python {
namespace {

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
            const std::string name = path_of(path);
            ReleasedGil release;
            new (self) VideoWriter(name, options);
          },
          nb::arg("path"), nb::kw_only(), nb::arg("width"), nb::arg("height"), nb::arg("fps") = 30.0,
          nb::arg("codec") = "h264", nb::arg("crf") = -1.0, nb::arg("bit_rate") = 0, nb::arg("preset") = "",
          nb::arg("gop") = 0)
      .def(
          "write",
          [](VideoWriter& self, const Image& image) {
            ReleasedGil release;
            self.write(image);
          },
          nb::arg("image"))
      .def(
          "write",
          [](VideoWriter& self, const Frame& frame) {
            ReleasedGil release;
            self.write(frame.image);
          },
          nb::arg("frame"))
      .def(
          "write",
          [](VideoWriter& self, nb::handle array) {
            const Image image = Image::from_tensor(to_tensor(array), PixelFormat::rgb24);
            ReleasedGil release;
            self.write(image);
          },
          nb::arg("rgb"), "uint8 RGB [height, width, 3].")
      .def("close",
           [](VideoWriter& self) {
             ReleasedGil release;
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
  register_writer(module);
}

} // namespace lanner::python
