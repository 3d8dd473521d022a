#include "keywords.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <lanner/nearest.h>

namespace lanner::python {

std::span<const Keyword> preprocess_keywords() {
  static const std::array keywords{
      Keyword{"preset", "str"}.of(
          "\"imagenet\": RGB, range (0, 1), mean (0.485, 0.456, 0.406), std (0.229, 0.224, 0.225); "
          "\"imagenet-tf\": RGB, range (-1, 1); \"caffe\": BGR, range (0, 255), mean (104, 117, 123); "
          "\"keras-caffe\": the same with mean (103.939, 116.779, 123.68); \"clip\": RGB, range (0, 1), "
          "CLIP's "
          "mean and std, the centre by \"antialias-cubic\"; \"yolo\": RGB, range (0, 1), letterbox with gray "
          "114 by \"bilinear\"; \"none\", the default: RGB, range (0, 255). The other keywords override its "
          "values"),
      Keyword{"size", "tuple[int, int]"}.of("(height, width) in pixels; default the image's own"),
      Keyword{"layout", "typing.Literal['nchw', 'chw', 'nhwc', 'hwc']"}.of(
          "order of dimensions: \"nchw\" (the default, same as \"chw\") or \"nhwc\" (same as \"hwc\"); the "
          "batch dimension is always there"),
      Keyword{"dtype", "numpy.typing.DTypeLike"}.of(
          "element type: uint8, float16, bfloat16 or float32, the default"),
      Keyword{"channels", "typing.Literal['rgb', 'bgr', 'gray']"}.of(
          "order of channels: \"rgb\" (the default), \"bgr\", or \"gray\": one channel"),
      Keyword{"region", "tuple[int, int, int, int]"}.of(
          "(x, y, width, height) in pixels: the part of the image to use; default all of it"),
      Keyword{"quarter_turns", "int"}.of(
          "rotation by so many times 90 degrees clockwise, after the region is taken; default 0"),
      Keyword{"resize", "typing.Literal['nearest', 'bilinear', 'bicubic', 'area', 'antialias', "
                        "'antialias-cubic', 'antialias-lanczos']"}
          .of("interpolation; default \"antialias\": bilinear, averaged over source pixels when shrinking, "
              "as "
              "Pillow and torchvision resize; \"antialias-cubic\" and \"antialias-lanczos\" are Pillow's "
              "BICUBIC "
              "and LANCZOS"),
      Keyword{"fit", "typing.Literal['stretch', 'letterbox', 'crop', 'corner']"}.of(
          "what happens to another aspect ratio: \"stretch\" (the default) changes it, \"letterbox\" pads, "
          "\"crop\" cuts off both ends, \"corner\" pads on the right and below alone"),
      Keyword{"range", "float | collections.abc.Iterable[float]"}.of(
          "values that black (0) and white (255) become, before mean and std; default (0, 255)"),
      Keyword{"mean", "float | collections.abc.Iterable[float]"}.of(
          "one number, or one for each channel in the order of channels: subtracted, in units of the range; "
          "default 0"),
      Keyword{"std", "float | collections.abc.Iterable[float]"}.of(
          "one number, or one for each channel: what the difference is divided by; default 1"),
      Keyword{"pad_value", "float"}.of("0 to 255: gray value of a letterbox's padding; default 0"),
      Keyword{"shorter_side", "int"}.of("crop: pixels of the shorter side before the centre is cut, as "
                                        "torchvision's Resize; stretch without a "
                                        "size: the same, the whole picture kept; default 0: none"),
      Keyword{"longer_side", "int"}.of(
          "stretch without a size: the most pixels that the longer side becomes; default 0: any"),
      Keyword{"multiple", "int"}.of(
          "letterbox, corner: pad no further than to multiples of this; stretch without a size: sides become "
          "such; default 1"),
  };
  return keywords;
}

std::span<const Keyword> picture_keywords() {
  static const std::vector<Keyword> keywords = [] {
    std::vector<Keyword> list{Keyword{"spec", "Preprocess"}.of(
        "preprocessing to start from; the other keywords override its values")};
    list.insert(list.end(), preprocess_keywords().begin(), preprocess_keywords().end());
    return list;
  }();
  return keywords;
}

std::string signature(std::string_view begin, std::span<const Keyword> keywords, std::string_view result,
                      bool by_place) {
  std::string text = fmt::format("{}{}", begin, by_place ? "" : ", *");
  for (const Keyword& keyword : keywords)
    text += keyword.required ? fmt::format(", {}: {}", keyword.name, keyword.type)
            : keyword.standard.empty()
                ? fmt::format(", {}: {} | None = None", keyword.name, keyword.type)
                : fmt::format(", {}: {} = {}", keyword.name, keyword.type, keyword.standard);
  return fmt::format("{}) -> {}", text, result);
}

std::string keyword_docs(std::span<const Keyword> keywords) {
  std::string text;
  for (const Keyword& keyword : keywords)
    if (!keyword.meaning.empty())
      text += fmt::format("{}{}: {}", text.empty() ? "" : "\n", keyword.name, keyword.meaning);
  return text;
}

std::string unknown_option(const nb::kwargs& given, std::span<const Keyword> keywords) {
  for (const auto& [key, value] : given) {
    const std::string name = nb::cast<std::string>(key);
    if (std::ranges::find(keywords, name, &Keyword::name) != keywords.end()) continue;
    std::vector<std::string> known;
    for (const Keyword& keyword : keywords) known.emplace_back(keyword.name);
    const std::string meant = did_you_mean(name, known);
    return fmt::format("unknown option '{}'{}", name,
                       meant.empty() ? fmt::format("; known are {}", fmt::join(known, ", ")) : meant);
  }
  return {};
}

static std::string_view expected_of(const Keyword& keyword) {
  return keyword.expected.empty() ? keyword.type : keyword.expected;
}

void apply_options(const nb::kwargs& given, std::span<const Keyword> keywords,
                   const std::function<void(const std::string& name, nb::handle value)>& apply) {
  if (const std::string unknown = unknown_option(given, keywords); !unknown.empty()) fail_type(unknown);
  for (const auto& [key, value] : given) {
    if (value.is_none()) continue;
    const std::string name = nb::cast<std::string>(key);
    const Keyword& keyword = *std::ranges::find(keywords, name, &Keyword::name);
    with_option_named(
        name, value, [&] { apply(name, value); }, expected_of(keyword));
  }
}

void check_named(std::string_view function, const nb::args& others, std::string_view like) {
  if (!others.empty())
    fail_type(fmt::format("{}: {} has no name; expected options by their names, like {}", function,
                          shown(others[0]), like));
}

} // namespace lanner::python
