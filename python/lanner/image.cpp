// Images and preprocessing.

#include <lanner/error.h>
#include <lanner/image.h>

#include "bindings.h"
#include "check.h"
#include "keywords.h"
#include "view.h"

namespace lanner::python {
namespace {

template<std::size_t N>
std::array<float, N> floats(nb::handle value, std::string_view name) {
  std::array<float, N> result;
  if (nb::isinstance<nb::float_>(value) || nb::isinstance<nb::int_>(value)) {
    result.fill(nb::cast<float>(value));
    return result;
  }
  std::size_t i = 0;
  for (nb::handle element : value) {
    check(i < N, ErrorCode::invalid_argument, "{}: expected {} numbers, got more", name, N);
    result[i++] = nb::cast<float>(element);
  }
  check(i == N, ErrorCode::invalid_argument, "{}: expected {} numbers, got {}", name, N, i);
  return result;
}

template<typename T>
T one_of(const std::string& value, std::string_view name,
         const std::vector<std::pair<std::string, T>>& choices) {
  std::string known;
  for (const auto& [text, choice] : choices) {
    if (text == value) return choice;
    known += (known.empty() ? "" : ", ") + text;
  }
  fail(ErrorCode::invalid_argument, "{}: '{}' is not one of {}", name, value, known);
}

void apply(Preprocess& spec, const std::string& name, nb::handle value) {
  const auto text = [&] { return nb::cast<std::string>(value); };
  if (name == "layout") {
    spec.channels_last =
        one_of<bool>(text(), name, {{"nchw", false}, {"chw", false}, {"nhwc", true}, {"hwc", true}});
  } else if (name == "dtype") {
    spec.dtype = parse_dtype(
        nb::isinstance<nb::str>(value)
            ? text()
            : nb::cast<std::string>(nb::module_::import_("numpy").attr("dtype")(value).attr("name")));
  } else if (name == "size") {
    const auto size = nb::cast<std::array<std::int32_t, 2>>(value);
    spec.height = size[0], spec.width = size[1];
  } else if (name == "channels") {
    const std::string channels = text();
    spec.gray = one_of<bool>(channels, name, {{"rgb", false}, {"bgr", false}, {"gray", true}});
    spec.bgr = channels == "bgr";
  } else if (name == "region") {
    const auto region = nb::cast<std::array<std::int32_t, 4>>(value);
    spec.region = {region[0], region[1], region[2], region[3]};
  } else if (name == "quarter_turns") {
    spec.quarter_turns = nb::cast<int>(value);
  } else if (name == "resize") {
    spec.resize = one_of<Resize>(text(), name,
                                 {{"nearest", Resize::nearest},
                                  {"bilinear", Resize::bilinear},
                                  {"bicubic", Resize::bicubic},
                                  {"area", Resize::area},
                                  {"antialias", Resize::antialias}});
  } else if (name == "fit") {
    spec.fit = one_of<Fit>(text(), name,
                           {{"stretch", Fit::stretch}, {"letterbox", Fit::letterbox}, {"crop", Fit::crop}});
  } else if (name == "range") {
    spec.range = floats<2>(value, name);
  } else if (name == "mean") {
    spec.mean = floats<3>(value, name);
  } else if (name == "std") {
    spec.std = floats<3>(value, name);
  } else if (name == "pad_value") {
    spec.pad_value = nb::cast<float>(value);
  } else {
    fail(ErrorCode::internal, "the option '{}' is not applied", name);
  }
}

std::string describe(const Image& self) {
  return fmt::format("lanner.Image({}x{} {})", self.width, self.height, to_string(self.format));
}

nb::list planes(const Image& self) {
  nb::list list;
  for (std::size_t i = 0; i < format_info(self.format).planes; ++i) list.append(plane_view(self, i, {}));
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

} // namespace

Preprocess to_preprocess(const nb::kwargs& keywords, Preprocess base) {
  const std::string unknown = unknown_option(keywords, preprocess_keywords());
  check(unknown.empty(), ErrorCode::invalid_argument, "{}", unknown);
  if (keywords.contains("preset") && !keywords["preset"].is_none()) {
    const nb::object preset = keywords["preset"];
    base = Preprocess::preset(
        with_option_named("preset", preset, [&] { return nb::cast<std::string>(preset); }));
  }
  for (const auto& [name, value] : keywords) {
    const std::string option = nb::cast<std::string>(name);
    if (option == "preset" || value.is_none()) continue;
    with_option_named(option, value, [&] { apply(base, option, value); });
  }
  return base;
}

void register_image(nb::module_& module) {
  nb::class_<Preprocess>(module, "Preprocess",
                         "What a network expects of a picture; `to_tensor` takes the same keywords.")
      .def(
          "__init__",
          [](Preprocess* self, const nb::args& others, const nb::kwargs& keywords) {
            check_named("Preprocess", others, "preset=\"imagenet\"");
            new (self) Preprocess(to_preprocess(keywords));
          },
          nb::arg("others"), nb::arg("options"),
          nb::sig(signature("def __init__(self", preprocess_keywords(), "None").c_str()))
      .def("to_json", &Preprocess::to_json)
      .def_static(
          "from_json", [](const std::string& text) { return Preprocess::from_json(text); }, nb::arg("text"))
      .def(
          "__eq__", [](const Preprocess& a, const Preprocess& b) { return a == b; }, nb::arg("other"),
          nb::is_operator(), nb::sig("def __eq__(self, other: object) -> bool"))
      .def(
          "__reduce__",
          [](nb::handle self) {
            const nb::object again = nb::module_::import_("lanner").attr("_preprocess_of");
            return nb::make_tuple(again, nb::make_tuple(self.attr("to_json")()));
          },
          nb::sig("def __reduce__(self) -> tuple[object, ...]"))
      .def("__repr__", [](const Preprocess& self) { return "lanner.Preprocess(" + self.to_json() + ")"; });

  nb::class_<Image>(module, "Image", "Pixels of one picture with their colour description.")
      .def(
          "__init__",
          [](Image* self, nb::handle array, const std::string& format) {
            new (self) Image(Image::from_tensor(to_tensor(array), parse_pixel_format(format)));
          },
          nb::arg("array"), nb::arg("format") = "rgb24",
          "A view of uint8 pixels [height, width, 3], or [height, width] with format=\"gray8\".")
      .def_ro("width", &Image::width)
      .def_ro("height", &Image::height)
      .def_prop_ro("format", [](const Image& self) { return std::string(to_string(self.format)); })
      .def_prop_ro("color_space", [](const Image& self) { return std::string(to_string(self.color.matrix)); })
      .def_prop_ro("color_range", [](const Image& self) { return std::string(to_string(self.color.range)); })
      .def_prop_ro("planes", &planes, nb::sig("def planes(self) -> list[Plane]"),
                   "The planes as they lie, without a copy: [height, width] or [height, width, 2 or 3].")
      .def("to_rgb", &to_rgb, "uint8 [height, width, 3].")
      .def(
          "to_tensor",
          [](const Image& self, const nb::args& others, const nb::kwargs& options) {
            check_named("to_tensor", others, "size=(224, 224)");
            const Preprocess spec = to_preprocess(options);
            ReleasedGil release;
            return to_tensor(self, spec);
          },
          nb::arg("others"), nb::arg("options"),
          nb::sig(signature("def to_tensor(self", preprocess_keywords(), "Tensor").c_str()),
          "One batch element [1, 3, height, width]: see Preprocess for the keywords; size is (height, "
          "width), region (x, y, width, height).")
      .def("__repr__", &describe);

  module.def(
      "load_image",
      [](nb::handle path, nb::handle limits) {
        const std::string name = path_of(path);
        const Limits bounds = to_limits(limits);
        ReleasedGil release;
        return load_image(name, bounds);
      },
      nb::arg("path"), nb::kw_only(), nb::arg("limits") = nb::none(),
      nb::sig("def load_image(path: str | os.PathLike[str], *, limits: collections.abc.Mapping[str, float | "
              "str] | None = None) -> Image"),
      "Reads a still picture: PNG, JPEG, BMP, PPM, WebP, TIFF and what else FFmpeg knows. limits: as of "
      "build.");
  module.def(
      "save_image",
      [](nb::handle path, nb::handle given) {
        const std::string name = path_of(path);
        const auto image = to_value<Image>("image", given, "Image; Image(array) makes one of pixels");
        ReleasedGil release;
        save_image(name, image);
      },
      nb::arg("path").none(), nb::arg("image").none(),
      nb::sig("def save_image(path: str | os.PathLike[str], image: Image) -> None"),
      "Writes PNG or JPEG, by the path's extension.");
}

} // namespace lanner::python
