#include "options/option_values.h"

#include <algorithm>

#include "options/option_rows.h"

namespace lanner::tool {
namespace {

struct Row {
  std::string_view name;
  std::string value;
  std::vector<std::string> choices = {};
};

const std::vector<Row>& rows() {
  static const std::vector<Row> table = {
      {"-i", "FILE"},
      {"-o", "FILE"},
      {"--output", "FILE"},
      {"--json", "FILE"},
      {"--report", "FILE"},
      {"--truth", "FILE"},
      {"--csv", "FILE"},
      {"--coco", "FILE"},
      {"--yolo", "FOLDER"},
      {"--crops", "FOLDER"},
      {"--images", "FOLDER"},
      {"--data", "FILE"},
      {"--inputs", "FILE"},
      {"--labels", "FILE"},
      {"--plugin", "FILE"},
      {"--task-json", "FILE"},
      {"--then", "MODEL"},
      {"--start", "TIME"},
      {"--end", "TIME"},
      {"--at", "TIME"},
      {"--duration", "TIME"},
      {"--frames", "N"},
      {"--input", "NAME"},
      {"--node", "NAME"},
      {"--plan", "FILE"},
      {"--onnx", "FILE"},
      {"--events", "FOLDER"},
      {"--build-for", "INPUT=SHAPE"},
      {"--deny-node", "NAME"},
      {"--deny-operator", "NAME"},
      {"--image-key", "NAME"},
      {"--label-key", "NAME"},
      {"--output-range", "BLACK,WHITE"},
      {"--format",
       "NAME",
       {"mp4", "mkv", "webm", "mov", "avi", "ts", "gif", "webp", "y4m", "rgb24", "yuv420p"}},
      {"--backends", "NAMES", {"cuda", "onednn", "cpu", "reference"}},
      {"--task",
       "NAME",
       {"classify", "detect", "segment", "semantic", "depth", "image", "pose", "obb", "embed", "none"}},
      {"--head", "NAME", {"yolo_v8", "yolo_v5", "yolo_v10", "detr", "ssd"}},
      {"--box-form", "NAME", {"xyxy", "yxyx", "xywh", "cxcywh"}},
      {"--activation", "NAME", {"none", "sigmoid", "softmax"}}};
  return table;
}

/// Of the options of the library's tables, by their flags.
const std::vector<Row>& table_rows() {
  static const std::vector<Row> table = [] {
    std::vector<Row> made;
    for_each_flag([&](const OptionInfo& info) {
      for (const std::string_view flag : {info.flag, info.other_flag})
        if (!flag.empty())
          made.push_back({flag, metavar_of(info), {info.choices.begin(), info.choices.end()}});
    });
    return made;
  }();
  return table;
}

} // namespace

ShownValue option_value(std::string_view name) {
  constexpr std::string_view second = "--then-";
  const std::string plain =
      name.starts_with(second) ? "--" + std::string(name.substr(second.size())) : std::string(name);
  for (const auto* table : {&rows(), &table_rows()}) {
    const auto row = std::ranges::find(*table, plain, &Row::name);
    if (row != table->end()) return {row->value, row->choices};
  }
  return {};
}

bool is_path(std::string_view value) {
  return value == "FILE" || value == "FOLDER" || value == "MODEL";
}

} // namespace lanner::tool
