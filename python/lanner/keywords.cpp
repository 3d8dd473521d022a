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
  for (const Keyword& keyword : keywords)
    text += keyword.standard.empty()
                ? fmt::format(", {}: {} | None = None", keyword.name, keyword.type)
                : fmt::format(", {}: {} = {}", keyword.name, keyword.type, keyword.standard);
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
