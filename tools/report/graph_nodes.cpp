// Makes drawn nodes from an engine's JSON.

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "output/json_text.h"
#include "report/graph_layout.h"

namespace lanner::tool {
namespace {

constexpr std::size_t max_drawn = 180; ///< A drawing with more nodes is unreadable.

std::string text_of(const Json& node, const char* key) {
  return node.contains(key) ? node[key].get<std::string>() : std::string();
}

std::string tip_of(const Json& node) {
  std::string tip = text_of(node, "name");
  if (!text_of(node, "kernel").empty())
    tip += fmt::format("\n{}:{}", text_of(node, "backend"), text_of(node, "kernel"));
  if (const std::string unit = text_of(node, "matrix_unit"); !unit.empty() && unit != "none")
    tip += " by " + unit;
  const Json& sources = node["sources"];
  if (!sources.empty()) tip += "\nfrom ";
  for (std::size_t i = 0; i < std::min<std::size_t>(sources.size(), 12); ++i)
    tip += (i > 0 ? " + " : "") + sources[i].get<std::string>();
  return sources.size() > 12 ? tip + fmt::format(" and {} more", sources.size() - 12) : tip;
}

/// `f32[1, 64, 56, 56]` as `1x64x56x56`, types other than f32 named.
std::string short_type(const std::string& type) {
  std::string text;
  for (const char c : type) {
    if (c == ',')
      text += 'x';
    else if (c != ' ' && c != ']')
      text += c == '[' ? ' ' : c;
  }
  return text.starts_with("f32 ") ? text.substr(4) : text;
}

DrawnNode drawn(const Json& node) {
  DrawnNode result;
  result.title = node.contains("kind") ? text_of(node, "kind") : text_of(node, "op");
  result.group = result.title.substr(0, result.title.find_first_of("+( "));
  if (!node["outputs"].empty()) result.detail = short_type(text_of(node["outputs"][0], "type"));
  result.tip = tip_of(node);
  return result;
}

std::string input_name(const Json& input) {
  if (input.is_string()) return input.get<std::string>();
  return input[input.contains("from") ? "from" : "name"].get<std::string>();
}

/// Combines consecutive nodes in execution order into one; arrows then still go forward.
void group_runs(Drawing& drawing) {
  const std::size_t count = drawing.nodes.size();
  const std::size_t size = (count + max_drawn - 1) / max_drawn;
  std::vector<DrawnNode> groups;
  for (std::size_t first = 0; first < count; first += size) {
    const std::size_t last = std::min(first + size, count) - 1;
    DrawnNode group = drawing.nodes[first];
    std::set<std::size_t> from;
    std::map<std::string, int> kinds;
    for (std::size_t i = first; i <= last; ++i) {
      ++kinds[drawing.nodes[i].group];
      for (const std::size_t source : drawing.nodes[i].from)
        if (source / size != groups.size()) from.insert(source / size);
    }
    group.tip.clear();
    for (const auto& [kind, number] : kinds)
      group.tip += fmt::format("{}{} x {}", group.tip.empty() ? "" : "\n", number, kind);
    group.title = last > first ? fmt::format("{} +{}", group.title, last - first) : group.title;
    group.detail = drawing.nodes[last].detail;
    group.from.assign(from.begin(), from.end());
    groups.push_back(std::move(group));
  }
  drawing.nodes = std::move(groups);
}

} // namespace

Drawing to_drawing(const Json& graph) {
  Drawing drawing;
  std::map<std::string, std::size_t> makers;
  for (const Json& node : graph["nodes"]) {
    DrawnNode one = drawn(node);
    std::set<std::size_t> from;
    for (const Json& input : node["inputs"]) {
      const auto maker = makers.find(input_name(input));
      if (maker != makers.end()) from.insert(maker->second);
    }
    one.from.assign(from.begin(), from.end());
    for (const Json& output : node["outputs"])
      makers[output["name"].get<std::string>()] = drawing.nodes.size();
    drawing.nodes.push_back(std::move(one));
  }
  drawing.operators = drawing.nodes.size();
  if (drawing.nodes.size() > max_drawn) group_runs(drawing);
  return drawing;
}

} // namespace lanner::tool
