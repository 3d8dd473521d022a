// Images and preprocessing.

#include <algorithm>

#include <lanner/error.h>
#include <lanner/image.h>

#include "calls/bindings.h"
#include "calls/check.h"
#include "calls/keywords.h"
#include "calls/option_rows.h"
#include "engine/notebook.h"

namespace lanner::python {
Preprocess to_preprocess(const nb::kwargs& keywords, Preprocess base) {
  const std::string unknown = unknown_option(keywords, preprocess_keywords());
  check(unknown.empty(), ErrorCode::invalid_argument, "{}", unknown);
  const auto take = [&](const std::string& name, nb::handle value) {
    if (value.is_none()) return;
    const auto& row = *find_option(preprocess_option_table(), name);
    const Keyword& keyword = *std::ranges::find(preprocess_keywords(), name, &Keyword::name);
    with_option_named(
        name, value, [&] { row.set(base, to_option_value(row.info, value, {})); }, keyword.expected);
  };
  if (keywords.contains("preset")) take("preset", nb::object(keywords["preset"]));
  for (const auto& [key, value] : keywords)
    if (const std::string name = nb::cast<std::string>(key); name != "preset") take(name, value);
  return base;
}

Preprocess to_preprocess(std::string_view function, const nb::args& others, const nb::kwargs& keywords) {
  Preprocess base;
  const bool in_front = others.size() == 1 && nb::isinstance<Preprocess>(others[0]);
  if (in_front)
    base = nb::cast<Preprocess>(others[0]);
  else
    check_named(function, others, "size=(224, 224), or a Preprocess");
  const std::string unknown = unknown_option(keywords, picture_keywords());
  check(unknown.empty(), ErrorCode::invalid_argument, "{}", unknown);
  nb::kwargs rest;
  for (const auto& [key, value] : keywords) rest[key] = value;
  if (!keywords.contains("spec")) return to_preprocess(rest, base);
  const nb::object spec = keywords["spec"];
  PyDict_DelItemString(rest.ptr(), "spec");
  if (spec.is_none()) return to_preprocess(rest, base);
  if (in_front) fail_type(fmt::format("{}: spec is given twice", function));
  return to_preprocess(rest, to_value<Preprocess>("spec", spec, "a Preprocess"));
}

std::string preprocess_docs(std::string_view begin) {
  return fmt::format("{}\n\n{}", begin, keyword_docs(picture_keywords()));
}

static void register_preprocess(nb::module_& module) {
  nb::class_<Preprocess>(module, "Preprocess",
                         "How an image becomes a network's input: region, rotation, size, channel order, "
                         "range, mean and std, layout and type; docs/preprocess.md. Functions like to_tensor "
                         "take one, or the same keywords. In build, the element type and a size that is not "
                         "set are those of the input. Immutable; compares by value, can be pickled.")
      .def(
          "__init__",
          [](Preprocess* self, const nb::args& others, const nb::kwargs& keywords) {
            check_named("Preprocess", others, "preset=\"imagenet\"");
            new (self) Preprocess(to_preprocess(keywords));
          },
          nb::arg("others"), nb::arg("options"),
          nb::sig(signature("def __init__(self", preprocess_keywords(), "None").c_str()),
          keyword_docs(preprocess_keywords()).c_str())
      .def("to_json", &Preprocess::to_json,
           "One line of JSON with every field, the form of the metadata key `lanner.preprocess`.")
      .def_static(
          "from_json", [](const std::string& text) { return Preprocess::from_json(text); }, nb::arg("text"),
          "The reverse of to_json. Raises BadData for unknown keys and wrong types.\n\ntext: JSON with some "
          "or "
          "all of the fields in docs/preprocess.md; \"preset\" may be among them")
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
      .def("_repr_html_", &preprocess_html, nb::sig("def _repr_html_(self) -> str"))
      .def("__repr__", [](const Preprocess& self) { return "lanner.Preprocess(" + self.to_json() + ")"; });
}

static void register_files(nb::module_& module) {
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
      "Reads a still image: PNG, JPEG, BMP, PPM, WebP, TIFF and other formats that FFmpeg reads, detected "
      "from the content; rotated by its EXIF orientation. Raises NotFound, BadData, Unsupported.\n\npath: "
      "file to "
      "read\nlimits: limits on the resources that the file may use, as in build");
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
      "Writes PNG or JPEG. The file appears complete or not at all.\n\npath: file to write; .png, .jpg or "
      ".jpeg "
      "chooses the format\nimage: pixels of any format; gray stays gray, others are written in colour; alpha "
      "is dropped");
}

void register_image(nb::module_& module) {
  register_preprocess(module);
  register_pixels(module);
  register_files(module);
}

} // namespace lanner::python
