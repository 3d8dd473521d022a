#include "ops/strings/regex_case.h"

#include <clocale>
#include <cwctype>
#include <map>

#include "ops/strings/regex.h"

namespace lanner::ops {

namespace {

using Group = std::vector<std::uint32_t>;
constexpr std::uint32_t last_cased_code = 0x1ffff; // All letters with case are in planes 0 and 1.

std::map<std::uint32_t, Group> ascii_groups() {
  std::map<std::uint32_t, Group> groups;
  for (std::uint32_t lower = 'a'; lower <= 'z'; ++lower)
    groups[lower] = groups[lower ^ 0x20u] = {lower ^ 0x20u, lower};
  return groups;
}

/// For each letter with case, all letters that equal it when case is ignored. ASCII only without the locale
/// C.UTF-8 (glibc before 2.35).
std::map<std::uint32_t, Group> make_groups() {
  const locale_t locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  if (!locale) return ascii_groups();
  std::map<std::uint32_t, Group> by_lower;
  for (std::uint32_t code = 0; code <= last_cased_code; ++code) {
    const std::uint32_t lower = towlower_l(towupper_l(code, locale), locale);
    if (lower != code || towupper_l(code, locale) != code) by_lower[lower].push_back(code);
  }
  freelocale(locale);
  std::map<std::uint32_t, Group> groups;
  for (const auto& [lower, group] : by_lower)
    for (const std::uint32_t code : group) groups[code] = group;
  return groups;
}

const std::map<std::uint32_t, Group>& groups() {
  static const std::map<std::uint32_t, Group> made = make_groups();
  return made;
}

} // namespace

void add_other_cases(CodeSet& set) {
  const auto ranges = set.ranges;
  for (const auto& [first, last] : ranges) {
    for (auto one = groups().lower_bound(first); one != groups().end() && one->first <= last; ++one)
      for (const std::uint32_t code : one->second)
        if (code < first || code > last) set.ranges.emplace_back(code, code);
  }
}

} // namespace lanner::ops
