#include "report/graph_layout.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <sstream>

#include <fmt/format.h>

#include "program.h"

namespace lanner::tool {
namespace {

constexpr double dot_seconds = 10;
constexpr double layer_height = 66, column_width = 172;
constexpr double points_per_inch = 72;

// The page draws arrowheads itself; dot would end the curves at its own arrowheads.
std::string dot_text(const Drawing& drawing) {
  std::string text = fmt::format(
      "digraph g {{ nodesep=0.22; ranksep=0.34; edge [dir=none]; node [shape=box, fixedsize=true, "
      "width={:.3f}, height={:.3f}, label=\"\"];\n",
      node_width / points_per_inch, node_height / points_per_inch);
  for (std::size_t i = 0; i < drawing.nodes.size(); ++i) text += fmt::format("n{};\n", i);
  for (std::size_t i = 0; i < drawing.nodes.size(); ++i)
    for (const std::size_t from : drawing.nodes[i].from) text += fmt::format("n{} -> n{};\n", from, i);
  return text + "}\n";
}

/// Parses dot's `plain` format: inches, y upwards.
bool read_plain(const std::string& plain, Drawing& drawing) {
  std::istringstream lines(plain);
  std::string line;
  double height = 0;
  std::size_t placed = 0;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string kind, name, other;
    words >> kind;
    if (kind == "graph") {
      double scale = 0;
      words >> scale >> drawing.width >> height;
      drawing.width *= points_per_inch;
      drawing.height = height * points_per_inch;
    } else if (kind == "node") {
      double x = 0, y = 0;
      words >> name >> x >> y;
      const std::size_t index = std::strtoul(name.c_str() + 1, nullptr, 10);
      if (!words || index >= drawing.nodes.size()) return false;
      drawing.nodes[index].x = x * points_per_inch;
      drawing.nodes[index].y = (height - y) * points_per_inch;
      ++placed;
    } else if (kind == "edge") {
      std::size_t count = 0;
      words >> name >> other >> count;
      Curve curve;
      for (std::size_t i = 0; i < count && words; ++i) {
        double x = 0, y = 0;
        words >> x >> y;
        curve.push_back({x * points_per_inch, (height - y) * points_per_inch});
      }
      if (!words) return false;
      drawing.curves.push_back(std::move(curve));
    }
  }
  return placed == drawing.nodes.size() && height > 0;
}

/// Length of the longest path to each node.
std::vector<std::size_t> layers_of(const Drawing& drawing) {
  std::vector<std::size_t> layer(drawing.nodes.size(), 0);
  for (std::size_t i = 0; i < drawing.nodes.size(); ++i)
    for (const std::size_t from : drawing.nodes[i].from) layer[i] = std::max(layer[i], layer[from] + 1);
  return layer;
}

} // namespace

void place_by_layers(Drawing& drawing) {
  const std::vector<std::size_t> layer = layers_of(drawing);
  std::vector<std::vector<std::size_t>> rows;
  for (std::size_t i = 0; i < layer.size(); ++i) {
    rows.resize(std::max(rows.size(), layer[i] + 1));
    rows[layer[i]].push_back(i);
  }
  std::size_t widest = 1;
  for (const auto& row : rows) widest = std::max(widest, row.size());
  drawing.width = static_cast<double>(widest) * column_width;
  drawing.height = static_cast<double>(std::max<std::size_t>(rows.size(), 1)) * layer_height;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    auto& row = rows[r];
    // Below the mean position of the nodes it reads, so that few curves cross.
    std::vector<double> wish(drawing.nodes.size(), drawing.width / 2);
    for (const std::size_t i : row) {
      double sum = 0;
      for (const std::size_t from : drawing.nodes[i].from) sum += drawing.nodes[from].x;
      if (!drawing.nodes[i].from.empty()) wish[i] = sum / static_cast<double>(drawing.nodes[i].from.size());
    }
    std::ranges::stable_sort(row, {}, [&](std::size_t i) { return wish[i]; });
    double left = drawing.width / 2;
    if (!row.empty())
      left = std::accumulate(row.begin(), row.end(), 0.0,
                             [&](double sum, std::size_t i) { return sum + wish[i]; }) /
             static_cast<double>(row.size());
    const double span = static_cast<double>(row.size()) * column_width;
    left = std::clamp(left - span / 2, 0.0, drawing.width - span);
    for (std::size_t k = 0; k < row.size(); ++k) {
      drawing.nodes[row[k]].x = left + (static_cast<double>(k) + 0.5) * column_width;
      drawing.nodes[row[k]].y = (static_cast<double>(r) + 0.5) * layer_height;
    }
  }
  drawing.curves.clear();
  for (const DrawnNode& node : drawing.nodes)
    for (const std::size_t from : node.from) {
      const DrawnNode& source = drawing.nodes[from];
      const double start = source.y + node_height / 2, end = node.y - node_height / 2,
                   bend = std::max(10.0, (end - start) / 2);
      drawing.curves.push_back(
          {{source.x, start}, {source.x, start + bend}, {node.x, end - bend}, {node.x, end}});
    }
}

void place(Drawing& drawing, const CancelToken& cancel) {
  const std::string dot = find_program("dot");
  if (!dot.empty()) {
    const auto plain = run_program(dot, {"-Tplain"}, dot_text(drawing), dot_seconds, cancel);
    if (plain && read_plain(*plain, drawing)) return;
  }
  place_by_layers(drawing);
}

} // namespace lanner::tool
