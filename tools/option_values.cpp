#include "option_values.h"

#include <algorithm>

namespace lanner::tool {
namespace {

struct Row {
  std::string_view name, value;
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
      {"--trace-passes", "FOLDER"},
      {"--data", "FILE"},
      {"--inputs", "FILE"},
      {"--labels", "FILE"},
      {"--weights", "FILE"},
      {"--plugin", "FILE"},
      {"--task-json", "FILE"},
      {"--then", "MODEL"},
      {"--size", "WIDTHxHEIGHT"},
      {"--region", "WIDTHxHEIGHT+X+Y"},
      {"--shape", "INPUT:SHAPE"},
      {"--profile", "INPUT=MIN:OPT:MAX"},
      {"--pin", "NODE=TYPE"},
      {"--place", "NODE=DEVICE"},
      {"--state", "INPUT=OUTPUT"},
      {"--alias", "OUTPUT=INPUT"},
      {"--limit", "NAME=VALUE"},
      {"--metadata", "NAME=VALUE"},
      {"--start", "TIME"},
      {"--end", "TIME"},
      {"--at", "TIME"},
      {"--budget", "TIME"},
      {"--duration", "TIME"},
      {"--weight-budget", "BYTES"},
      {"--frames", "N"},
      {"--input", "NAME"},
      {"--outputs", "NAME"},
      {"--node", "NAME"},
      {"--stop-after", "PASS"},
      {"--range", "BLACK,WHITE"},
      {"--output-range", "BLACK,WHITE"},
      {"--format", "NAME", {"mp4", "mkv", "webm", "mov", "avi", "ts", "y4m", "rgb24", "yuv420p"}},
      {"--codec", "NAME", {"h264", "hevc", "av1", "vp9", "mpeg4", "mjpeg", "ffv1"}},
      {"--device", "NAME", {"auto", "cpu", "cuda:0"}},
      {"--precision", "TYPES", {"fp32", "fp16", "bf16"}},
      {"--backends", "NAMES", {"cuda", "onednn", "cpu", "reference"}},
      {"--task",
       "NAME",
       {"classify", "detect", "segment", "semantic", "depth", "image", "pose", "obb", "embed", "none"}},
      {"--head", "NAME", {"yolo_v8", "yolo_v5", "yolo_v10", "detr", "ssd"}},
      {"--preset", "NAME", {"yolo", "imagenet", "imagenet-tf", "caffe", "tf-inception", "none"}},
      {"--layout", "NAME", {"nchw", "nhwc"}},
      {"--channels", "NAME", {"rgb", "bgr", "gray"}},
      {"--resize", "NAME", {"nearest", "bilinear", "bicubic", "area", "antialias"}},
      {"--fit", "NAME", {"stretch", "letterbox", "crop"}},
      {"--box-form", "NAME", {"xyxy", "yxyx", "xywh", "cxcywh"}},
      {"--activation", "NAME", {"none", "sigmoid", "softmax"}}};
  return table;
}

} // namespace

OptionValue option_value(std::string_view name) {
  constexpr std::string_view second = "--then-";
  const std::string plain =
      name.starts_with(second) ? "--" + std::string(name.substr(second.size())) : std::string(name);
  const auto row = std::ranges::find(rows(), plain, &Row::name);
  return row == rows().end() ? OptionValue{} : OptionValue{std::string(row->value), row->choices};
}

bool is_path(std::string_view value) {
  return value == "FILE" || value == "FOLDER" || value == "MODEL";
}

} // namespace lanner::tool
