#include "base/text/nearest.h"

#include <algorithm>
#include <numeric>

namespace lanner {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before, last(b.size() + 1), row(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = last;
    last = row;
  }
  return last.back();
}

std::vector<std::string> nearest_names(std::string_view name, const std::vector<std::string>& names,
                                       std::size_t most) {
  // Names from untrusted files may be long, and nothing that long is a typo.
  constexpr std::size_t longest = 200;
  if (name.size() > longest) return {};
  const std::size_t bound = std::max<std::size_t>(1, name.size() / 3);
  std::vector<std::pair<std::size_t, std::string>> found;
  for (const std::string& candidate : names) {
    if (candidate.size() > name.size() + bound) continue;
    const std::size_t distance = edit_distance(name, candidate);
    if (distance <= bound) found.emplace_back(distance, candidate);
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> result;
  for (std::size_t i = 0; i < std::min(most, found.size()); ++i) result.push_back(found[i].second);
  return result;
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& candidate : nearest_names(name, names))
    text += (text.empty() ? "; did you mean " : ", ") + candidate;
  return text.empty() ? text : text + "?";
}

} // namespace lanner
