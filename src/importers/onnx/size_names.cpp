#include "importers/onnx/size_names.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

namespace lanner::onnx {

static std::string symbol_name(std::string_view text) {
  std::string name;
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text[0])) || text[0] == '.') name += '_';
  for (char c : text) name += std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' ? c : '_';
  return name;
}

bool names_a_size(std::string_view text) {
  const auto is_digit = [](unsigned char c) { return std::isdigit(c) != 0; };
  const auto first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return false;
  text = text.substr(first, text.find_last_not_of(' ') - first + 1);
  if (text == "None" || text == "-1") return false;
  for (const std::string_view unknown : {"unk__", "unknown__"})
    if (text.starts_with(unknown) && std::ranges::all_of(text.substr(unknown.size()), is_digit)) return false;
  return std::ranges::any_of(text, [](unsigned char c) { return std::isalnum(c) || c == '_'; });
}

const std::string& SizeNames::of(std::string_view text) {
  const auto [found, added] = symbols_.try_emplace(std::string(text));
  if (!added) return found->second;
  const std::string name = symbol_name(text);
  found->second = name;
  for (int i = 2; !taken_.insert(found->second).second; ++i) found->second = fmt::format("{}__{}", name, i);
  return found->second;
}

} // namespace lanner::onnx
