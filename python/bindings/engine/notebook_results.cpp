// Representations of tasks' results in a notebook.

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include <fmt/format.h>

#include <lanner/classes.h>
#include <lanner/draw.h>

#include "calls/check.h"
#include "engine/notebook.h"

namespace lanner::python {
namespace {

constexpr std::size_t most_rows = 20;
constexpr std::int32_t widest = 480;

using Cells = std::vector<std::vector<std::string>>;

std::string table_of(std::vector<std::string> headings, const Cells& cells, std::size_t all) {
  std::string text = html_columns(headings, cells);
  if (all > cells.size()) text += fmt::format("<p>and {} more</p>", all - cells.size());
  return text;
}

std::size_t rows_of(const TaskResult& result) {
  return std::min(most_rows, static_cast<std::size_t>(result.count()));
}

std::string classes_of(const TaskResult& result, const Task& task) {
  Cells cells;
  for (std::size_t i = 0; i < rows_of(result); ++i) {
    const std::int64_t number = result.labels.as<std::int64_t>()[i];
    cells.push_back({std::to_string(number), class_label(task, number),
                     fmt::format("{:.4f}", result.scores.as<float>()[i])});
  }
  return table_of({"class", "name", "probability"}, cells, static_cast<std::size_t>(result.count()));
}

/// A box as its four edges, or centre, size and angle if rotated.
std::string box_of(const TaskResult& result, std::size_t i) {
  if (result.rotated.defined()) {
    const float* box = result.rotated.as<float>().data() + 5 * i;
    return fmt::format("centre {:.1f}, {:.1f}; {:.1f} x {:.1f}, {:.1f} degrees", box[0], box[1], box[2],
                       box[3], box[4] * 180.f / 3.14159265f);
  }
  const float* box = result.boxes.as<float>().data() + 4 * i;
  return fmt::format("{:.1f}, {:.1f}, {:.1f}, {:.1f}", box[0], box[1], box[2], box[3]);
}

std::string boxes_of(const TaskResult& result, const Task& task) {
  const bool keypoints = result.keypoints.defined(), masks = !result.masks.empty();
  std::vector<std::string> headings{"", "name", "score",
                                    result.rotated.defined() ? "box" : "left, top, right, bottom"};
  if (keypoints) headings.emplace_back("key points");
  if (masks) headings.emplace_back("mask");
  Cells cells;
  for (std::size_t i = 0; i < rows_of(result); ++i) {
    cells.push_back({std::to_string(i), class_label(task, result.labels.as<std::int64_t>()[i]),
                     fmt::format("{:.3f}", result.scores.as<float>()[i]), box_of(result, i)});
    if (keypoints) cells.back().push_back(std::to_string(result.keypoints.shape()[1]));
    if (masks) {
      const auto inside = result.masks[i].inside.as<std::uint8_t>();
      cells.back().push_back(fmt::format("{} pixels", std::ranges::count(inside, std::uint8_t{1})));
    }
  }
  return table_of(headings, cells, static_cast<std::size_t>(result.count()));
}

std::string shares_of(const TaskResult& result, const Task& task) {
  std::map<std::int32_t, std::int64_t> counts;
  for (const std::int32_t number : result.classes.as<std::int32_t>()) ++counts[number];
  std::vector<std::pair<std::int32_t, std::int64_t>> sorted(counts.begin(), counts.end());
  std::ranges::stable_sort(sorted, std::greater{}, [](const auto& one) { return one.second; });
  Cells cells;
  for (const auto& [number, count] : sorted) {
    if (cells.size() == most_rows) break;
    cells.push_back({number < 0 ? "not seen" : class_label(task, number),
                     fmt::format("{:.2f} %", 100.0 * static_cast<double>(count) /
                                                 static_cast<double>(result.classes.elements()))});
  }
  return table_of({"class", "share of pixels"}, cells, sorted.size());
}

Rows depths_of(const TaskResult& result) {
  float least = std::numeric_limits<float>::infinity(), most = -least;
  for (const float depth : result.depth.as<float>())
    if (std::isfinite(depth)) least = std::min(least, depth), most = std::max(most, depth);
  if (least > most) return {{"depth", "no pixel was seen"}};
  return {{"depth", fmt::format("{:.5g} to {:.5g}", least, most)}};
}

/// A map without its picture, which is not known here.
std::string map_of(const TaskResult& result, const Task& task) {
  Image black = Image::allocate(PixelFormat::rgb24, result.width, result.height);
  for (std::int32_t y = 0; y < black.height; ++y)
    std::fill_n(black.planes[0].data + y * black.planes[0].pitch, black.width * 3, std::byte{0});
  const Image drawn = [&] {
    const ReleasedGil released;
    return draw_result(black, result, task, {1.f, false, 0});
  }();
  return html_picture(drawn, widest);
}

std::string class_name_of(TaskKind kind) {
  switch (kind) {
  case TaskKind::classify:
    return "Classification";
  case TaskKind::semantic:
    return "SemanticMap";
  case TaskKind::depth:
    return "DepthMap";
  case TaskKind::image:
    return "Picture";
  case TaskKind::embed:
    return "Embedding";
  default:
    return "Detections";
  }
}

} // namespace

nb::object result_html(const TaskResult& result, const Task& task) {
  Rows rows{{"task", std::string(to_string(result.kind))},
            {"picture", fmt::format("{} x {}", result.width, result.height)}};
  std::string below, name;
  if (result.kind == TaskKind::classify) {
    below = classes_of(result, task);
  } else if (result.kind == TaskKind::semantic) {
    below = map_of(result, task) + shares_of(result, task);
  } else if (result.kind == TaskKind::depth) {
    for (auto& row : depths_of(result)) rows.push_back(std::move(row));
    below = map_of(result, task);
  } else if (result.kind == TaskKind::image) {
    rows.emplace_back("made", fmt::format("{} x {}", result.image.width, result.image.height));
    below = html_picture(result.image, widest);
  } else if (result.kind == TaskKind::embed) {
    double squares = 0;
    for (const float value : result.embedding.as<float>()) squares += double{value} * value;
    rows.emplace_back("values", std::to_string(result.embedding.elements()));
    rows.emplace_back("length", fmt::format("{:.5g}", std::sqrt(squares)));
  } else {
    name = fmt::format("{} {}", result.count(), result.count() == 1 ? "box" : "boxes");
    if (result.count() > 0) below = boxes_of(result, task);
  }
  return html_table("tasks." + class_name_of(result.kind), name, rows, below);
}

} // namespace lanner::python
