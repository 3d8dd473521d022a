#include "keywords.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lanner::python {

std::span<const Keyword> preprocess_keywords() {
  static constexpr std::array keywords{
      Keyword{"preset", "str"},
      Keyword{"size", "tuple[int, int]"},
      Keyword{"layout", "typing.Literal['nchw', 'chw', 'nhwc', 'hwc']"},
      Keyword{"dtype", "numpy.typing.DTypeLike"},
      Keyword{"channels", "typing.Literal['rgb', 'bgr', 'gray']"},
      Keyword{"region", "tuple[int, int, int, int]"},
      Keyword{"quarter_turns", "int"},
      Keyword{"resize", "typing.Literal['nearest', 'bilinear', 'bicubic', 'area', 'antialias']"},
      Keyword{"fit", "typing.Literal['stretch', 'letterbox', 'crop']"},
      Keyword{"range", "float | collections.abc.Iterable[float]"},
      Keyword{"mean", "float | collections.abc.Iterable[float]"},
      Keyword{"std", "float | collections.abc.Iterable[float]"},
      Keyword{"pad_value", "float"},
  };
  return keywords;
}

std::string signature(std::string_view begin, std::span<const Keyword> keywords, std::string_view result) {
  std::string text = fmt::format("{}, *", begin);
  for (const auto& [name, type] : keywords) text += fmt::format(", {}: {} | None = None", name, type);
  return fmt::format("{}) -> {}", text, result);
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

} // namespace lanner::python
