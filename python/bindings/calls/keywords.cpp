#include "calls/keywords.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <lanner/nearest.h>

#include "calls/option_rows.h"

namespace lanner::python {

std::span<const Keyword> preprocess_keywords() {
  static const std::vector<Keyword> keywords = keywords_of(preprocess_option_table(), false);
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
