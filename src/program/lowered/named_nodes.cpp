#include "program/lowered/named_nodes.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include <lanner/error.h>
#include <lanner/nearest.h>

#include "base/check.h"

namespace lanner {
namespace {

/// Glob match: `*` for any characters, `?` for one.
bool matches(std::string_view pattern, std::string_view name) {
  std::size_t p = 0, n = 0, star = std::string_view::npos, tried = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      tried = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p, ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++tried;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

} // namespace

bool answers(const Node& node, const std::string& pattern) {
  const auto fits = [&](const std::string& name) { return matches(pattern, name); };
  return std::ranges::any_of(node.sources, fits) ||
         std::ranges::any_of(node.outputs(), [&](const auto& value) { return fits(value->name()); });
}

void check_answered(const Graph& graph, const std::string& pattern, const std::string& option) {
  bool found = false;
  std::vector<std::string> names;
  each_node(graph.body(), [&](const Node& node) {
    found = found || answers(node, pattern);
    names.insert(names.end(), node.sources.begin(), node.sources.end());
  });
  check(found, ErrorCode::invalid_argument, "{}: no node of the model and no value of the IR has this name{}",
        option, did_you_mean(pattern, names));
}

std::string node_name(const Node& node) {
  return node.sources.empty() ? node.output()->name() : node.sources.front();
}

} // namespace lanner
