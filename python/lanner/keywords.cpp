#include "keywords.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lanner::python {

std::span<const Keyword> preprocess_keywords() {
  static constexpr std::array keywords{
      Keyword{"preset", "str"}.of(
          "\"imagenet\" (RGB 0..1 less mean, by std), \"caffe\" (BGR 0..255 less 104, 117, 123), "
          "\"tf-inception\" (RGB -1..1) or \"none\" (RGB 0..255, the default); the others change its values"),
      Keyword{"size", "tuple[int, int]"}.of("(height, width); default the picture's"),
      Keyword{"layout", "typing.Literal['nchw', 'chw', 'nhwc', 'hwc']"}.of("default nchw"),
      Keyword{"dtype", "numpy.typing.DTypeLike"}.of("uint8, float16, bfloat16 or float32, the default"),
      Keyword{"channels", "typing.Literal['rgb', 'bgr', 'gray']"}.of("default rgb"),
      Keyword{"region", "tuple[int, int, int, int]"}.of("(x, y, width, height) of the picture to read"),
      Keyword{"quarter_turns", "int"}.of("clockwise, after the region is taken"),
      Keyword{"resize", "typing.Literal['nearest', 'bilinear', 'bicubic', 'area', 'antialias']"}.of(
          "default antialias, as Pillow and torchvision resize"),
      Keyword{"fit", "typing.Literal['stretch', 'letterbox', 'crop']"}.of(
          "how another aspect ratio meets the size; default stretch"),
      Keyword{"range", "float | collections.abc.Iterable[float]"}.of(
          "what 0 and 255 become; default (0, 255)"),
      Keyword{"mean", "float | collections.abc.Iterable[float]"}.of("subtracted, in units of the range"),
      Keyword{"std", "float | collections.abc.Iterable[float]"}.of("divided by, after that"),
      Keyword{"pad_value", "float"}.of("0 to 255, of a letterbox's padding; default 0"),
  };
  return keywords;
}

std::span<const Keyword> picture_keywords() {
  static const std::vector<Keyword> keywords = [] {
    std::vector<Keyword> list{Keyword{"spec", "Preprocess"}.of("whose values the others change")};
    list.insert(list.end(), preprocess_keywords().begin(), preprocess_keywords().end());
    return list;
  }();
  return keywords;
}

std::string signature(std::string_view begin, std::span<const Keyword> keywords, std::string_view result) {
  std::string text = fmt::format("{}, *", begin);
  for (const Keyword& keyword : keywords)
    text += keyword.standard.empty()
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
    std::vector<std::string_view> known;
    for (const Keyword& keyword : keywords) known.push_back(keyword.name);
    return fmt::format("unknown option '{}'; known are {}", name, fmt::join(known, ", "));
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
