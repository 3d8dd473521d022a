// lanner.Image: conversion from and to arrays and tensors.

#include <algorithm>
#include <cmath>

#include <fmt/ranges.h>

#include <lanner/error.h>
#include <lanner/image.h>

#include "calls/bindings.h"
#include "calls/check.h"
#include "calls/keywords.h"
#include "values/view.h"
#include "video/packets.h"

namespace lanner::python {
namespace {

std::string describe(const Image& self) {
  return fmt::format("lanner.Image({}x{} {})", self.width, self.height, to_string(self.format));
}

nb::list planes(const Image& self) {
  nb::list list;
  for (int i = 0; i < plane_count(self.format); ++i)
    list.append(plane_view(self, static_cast<std::size_t>(i), {}));
  return list;
}

Tensor to_rgb(const Image& self) {
  ReleasedGil release;
  Tensor tensor = Tensor::allocate(DType::u8, {self.height, self.width, 3}, {}, self.device);
  Image target;
  target.format = PixelFormat::rgb24;
  target.width = self.width, target.height = self.height;
  target.device = self.device;
  target.planes[0] = {static_cast<std::byte*>(tensor.data()), std::int64_t{self.width} * 3, self.width,
                      self.height};
  target.owner = tensor.owner();
  convert_image(self, target);
  return tensor;
}

/// An array of floats as a row-major tensor of f32 on the host; others unchanged.
Tensor to_samples(nb::handle array) {
  const Tensor tensor = to_tensor(array).to(Device{});
  const bool real =
      tensor.dtype() == DType::f64 || tensor.dtype() == DType::f16 || tensor.dtype() == DType::bf16;
  if (!real) return tensor.layout().row_major() ? tensor : tensor.clone();
  const nb::object numbers = nb::module_::import_("numpy").attr("asarray")(nb::cast(tensor));
  return to_tensor(numbers.attr("astype")("float32"));
}

/// Strides of an array of pixels.
struct Samples {
  std::int64_t height, width, channels;
  std::int64_t row, column, channel; ///< Strides in samples.
};

/// Accepts [height, width], with 1 or 3 channels first or last, and a leading batch of one.
Samples samples_of(const Tensor& tensor, const std::optional<std::string>& layout) {
  std::vector<std::int64_t> sizes(tensor.shape().begin(), tensor.shape().end());
  if (sizes.size() == 4 && sizes[0] == 1) sizes.erase(sizes.begin());
  const auto is_color = [](std::int64_t size) { return size == 1 || size == 3; };
  const auto refuse = [&](std::string_view expected) {
    fail(ErrorCode::invalid_argument, "from_array: an array of shape {}, expected {}",
         tensor.shape().to_string(), expected);
  };
  if (sizes.size() == 2) return {sizes[0], sizes[1], 1, sizes[1], 1, 0};
  if (sizes.size() != 3)
    refuse("[height, width], [height, width, 3 or 1] or [3 or 1, height, width] of one picture");
  const bool first = is_color(sizes[0]), last = is_color(sizes[2]);
  if (!layout && first == last)
    refuse(first ? "a layout=, chw or hwc, as both its first and its last dim could be channels"
                 : "3 or 1 channels in its first or last dim");
  const bool chw = layout ? *layout == "chw" || *layout == "nchw" : first;
  if (!(chw ? first : last)) refuse(fmt::format("3 or 1 channels in its {} dim", chw ? "first" : "last"));
  if (chw) return {sizes[1], sizes[2], sizes[0], sizes[2], 1, sizes[1] * sizes[2]};
  return {sizes[0], sizes[1], sizes[2], sizes[1] * sizes[2], sizes[2], 1};
}

/// `convert` returns an 8-bit sample.
template<typename T, typename Convert>
void fill_pixels(const Samples& samples, const T* from, const Plane& to, Convert&& convert) {
  for (std::int64_t y = 0; y < samples.height; ++y) {
    std::byte* out = to.data + y * to.pitch;
    for (std::int64_t x = 0; x < samples.width; ++x)
      for (std::int64_t c = 0; c < samples.channels; ++c)
        *out++ =
            static_cast<std::byte>(convert(from[y * samples.row + x * samples.column + c * samples.channel]));
  }
}

void fill_from_floats(const Samples& samples, const Tensor& tensor, std::array<float, 2> range,
                      const Plane& to) {
  check(std::isfinite(range[0]) && std::isfinite(range[1]) && range[0] != range[1],
        ErrorCode::invalid_argument,
        "from_array: range {} to {}, expected two different numbers, of black and of white", range[0],
        range[1]);
  const float scale = 255.f / (range[1] - range[0]);
  bool numbers = true;
  fill_pixels(samples, static_cast<const float*>(tensor.data()), to, [&](float value) {
    numbers = numbers && !std::isnan(value);
    const float level = (value - range[0]) * scale;
    return static_cast<std::uint8_t>(level > 0 ? std::min(level, 255.f) + 0.5f : 0.f);
  });
  check(numbers, ErrorCode::invalid_argument, "from_array: NaN is among the values; expected numbers");
}

std::optional<std::array<float, 2>> to_range_of_levels(nb::handle range) {
  if (range.is_none()) return std::nullopt;
  return to_value<std::array<float, 2>>("range", range, "two numbers, like (0, 1)");
}

/// Checks that an option is one of the known names.
std::string choice(std::string_view option, nb::handle value, const std::vector<std::string>& known) {
  const auto name = to_value<std::string>(option, value, fmt::format("one of {}", fmt::join(known, ", ")));
  check(std::ranges::find(known, name) != known.end(), ErrorCode::invalid_argument,
        "from_array: {} '{}' is not one of {}", option, name, fmt::join(known, ", "));
  return name;
}

Image from_array(nb::handle array, nb::handle layout, nb::handle range, nb::handle channels) {
  if (array.is_none()) fail_type("from_array: expected an array, got None");
  std::optional<std::string> named;
  if (!layout.is_none()) named = choice("layout", layout, {"chw", "hwc", "nchw", "nhwc"});
  const bool bgr = choice("channels", channels, {"rgb", "bgr"}) == "bgr";
  const auto levels = to_range_of_levels(range);
  const Tensor tensor = to_samples(array);
  const bool floats = tensor.dtype() == DType::f32;
  check(floats || tensor.dtype() == DType::u8, ErrorCode::invalid_argument,
        "from_array: an array of {}, expected uint8, or floats with 0 for black and 1 for white (or range=)",
        to_string(tensor.dtype()));
  check(floats || !levels, ErrorCode::invalid_argument,
        "from_array: range is of floats, the array is of uint8, 0 to 255");
  const Samples samples = samples_of(tensor, named);
  check(samples.height > 0 && samples.width > 0 && samples.height <= INT32_MAX && samples.width <= INT32_MAX,
        ErrorCode::invalid_argument, "from_array: an array of shape {}, expected at least 1x1",
        tensor.shape().to_string());
  const ReleasedGil release;
  const PixelFormat format = samples.channels == 1 ? PixelFormat::gray8
                             : bgr                 ? PixelFormat::bgr24
                                                   : PixelFormat::rgb24;
  Image image = Image::allocate(format, static_cast<std::int32_t>(samples.width),
                                static_cast<std::int32_t>(samples.height));
  if (floats)
    fill_from_floats(samples, tensor, levels.value_or(std::array{0.f, 1.f}), image.planes[0]);
  else
    fill_pixels(samples, static_cast<const std::uint8_t*>(tensor.data()), image.planes[0],
                [](std::uint8_t value) { return value; });
  return image;
}

bool is_gray(const Image& image) {
  return format_info(image.format).gray() && !format_info(image.format).has_alpha();
}

/// A view of the samples if they are RGB or gray on the host, else a copy.
nb::object array_of(const Image& self, nb::object dtype, nb::object copy) {
  const nb::module_ numpy = nb::module_::import_("numpy");
  const bool as_they_lie = self.device.is_host() && (is_gray(self) || self.format == PixelFormat::rgb24 ||
                                                     self.format == PixelFormat::rgb48);
  const bool forbidden = !copy.is_none() && !nb::cast<bool>(copy);
  if (forbidden && !as_they_lie) {
    PyErr_Format(PyExc_ValueError, "an image of format %s becomes RGB by a copy, but copy=False was given",
                 std::string(to_string(self.format)).c_str());
    throw nb::python_error();
  }
  nb::object array;
  if (as_they_lie)
    array = numpy.attr("asarray")(nb::cast(plane_view(self, 0, {})));
  else if (is_gray(self))
    array = numpy.attr("asarray")(nb::cast(plane_view(on_host(self), 0, {})));
  else
    array = numpy.attr("asarray")(nb::cast(to_rgb(self).to(Device{})));
  const bool other = !dtype.is_none() && !array.attr("dtype").equal(numpy.attr("dtype")(dtype));
  if (other) return array.attr("astype")(dtype);
  return !copy.is_none() && nb::cast<bool>(copy) ? array.attr("copy")() : array;
}

void register_properties(nb::class_<Image>& image) {
  image.def_ro("width", &Image::width, "Width in pixels.")
      .def_ro("height", &Image::height, "Height in pixels.")
      .def_prop_ro(
          "format", [](const Image& self) { return std::string(to_string(self.format)); },
          "Pixel format by FFmpeg's name, such as `rgb24`, `yuv420p`, `nv12`, `gray8`.")
      .def_prop_ro(
          "color_space", [](const Image& self) { return std::string(to_string(self.color.matrix)); },
          "Matrix between YUV and RGB, such as `bt709`.")
      .def_prop_ro(
          "color_range", [](const Image& self) { return std::string(to_string(self.color.range)); },
          "`full`: samples from 0 to 255; `limited`: from 16 to 235.")
      .def_prop_ro("planes", &planes, nb::sig("def planes(self) -> list[Plane]"),
                   "The planes of the pixel format, without a copy: each [height, width], or [height, width, "
                   "2 to 4] for interleaved channels. A plane of alpha is the last.")
      .def("to_rgb", &to_rgb, "The pixels as RGB, uint8 [height, width, 3], on the image's device.")
      .def(
          "to_tensor",
          [](const Image& self, const nb::args& others, const nb::kwargs& options) {
            const Preprocess spec = to_preprocess("to_tensor", others, options);
            ReleasedGil release;
            return to_tensor(self, spec);
          },
          nb::arg("others"), nb::arg("options"),
          nb::sig(
              signature("def to_tensor(self, spec: Preprocess | None = None", preprocess_keywords(), "Tensor")
                  .c_str()),
          preprocess_docs("The image as a network's input: one batch element, [1, 3, height, width] unless "
                          "layout or channels say otherwise, on the image's device.")
              .c_str())
      .def("__array__", &array_of, nb::arg("dtype") = nb::none(), nb::arg("copy") = nb::none(),
           nb::sig("def __array__(self, dtype: object | None = None, copy: bool | None = None) -> Any"),
           "For numpy.asarray: RGB [height, width, 3], or gray [height, width]; shares memory where the "
           "pixels lie so.")
      .def(
          "_repr_png_", [](const Image& self) { return png_of(self); },
          nb::sig("def _repr_png_(self) -> bytes | None"))
      .def("__repr__", &describe);
}

} // namespace

Image on_host(const Image& image) {
  if (image.device.is_host()) return image;
  Image host = Image::allocate(image.format, image.width, image.height);
  copy_image(image, host);
  return host;
}

nb::object png_of(const Image& image, std::int32_t widest) {
  if (!image.defined()) return nb::none();
  const std::vector<std::byte> bytes = [&] {
    const ReleasedGil release;
    Image shown = on_host(image);
    if (shown.width > widest) {
      Preprocess smaller;
      smaller.width = widest;
      smaller.height = static_cast<std::int32_t>(
          std::max<std::int64_t>(1, std::int64_t{widest} * shown.height / shown.width));
      smaller.dtype = DType::u8;
      smaller.channels_last = true;
      const Tensor pixels = to_tensor(shown, smaller);
      shown = Image::from_tensor(pixels.reshaped({smaller.height, smaller.width, 3}), PixelFormat::rgb24);
    }
    return encode_image(shown, "png");
  }();
  return nb::bytes(bytes.data(), bytes.size());
}

void register_pixels(nb::module_& module) {
  nb::class_<Image> image(module, "Image",
                          "Pixels, with their format and colour space, in host memory, or in GPU memory if a "
                          "decoder placed them there.");
  register_contiguous(image);
  image
      .def(
          "__init__",
          [](Image* self, nb::handle array, const std::string& format) {
            new (self) Image(Image::from_tensor(to_tensor(array), parse_pixel_format(format)));
          },
          nb::arg("array"), nb::arg("format") = "rgb24",
          "A view of uint8 pixels, which shares their memory; Image.from_array copies, and takes floats and "
          "other layouts.\n\narray: uint8 [height, width, 3], with four channels [height, width, 4], or gray "
          "[height, width], as format says\nformat: \"rgb24\", \"bgr24\", \"rgba\", \"bgra\", \"gray8\" or "
          "\"ya8\"")
      .def_static(
          "from_array", &from_array, nb::arg("array").none(), nb::kw_only(), nb::arg("layout") = nb::none(),
          nb::arg("range") = nb::none(), nb::arg("channels") = "rgb",
          nb::sig("def from_array(array: object, *, layout: typing.Literal['chw', 'hwc', 'nchw', 'nhwc'] "
                  "| None = None, range: collections.abc.Iterable[float] | None = None, channels: "
                  "typing.Literal['rgb', 'bgr'] = 'rgb') -> Image"),
          "Copies an array into an image.\n\narray: array, tensor or anything with DLPack: uint8, or floats, "
          "[3, height, width] or [height, width, 3]; one channel, or none, gives gray; a batch of one is "
          "accepted\nlayout: the layout, if the shape fits both\nrange: the floats for black and white; "
          "default (0, 1). Values outside are clamped\nchannels: order of the three "
          "channels in the array");
  register_properties(image);
}

} // namespace lanner::python
