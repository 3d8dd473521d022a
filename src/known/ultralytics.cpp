// Ultralytics writes `names` and `stride` into each export, and from YOLOv8 on `task`, `imgsz` and more;
// YOLOv5 only these two.

#include <algorithm>

#include <fmt/format.h>

#include "base/check.h"
#include "base/text/literal.h"
#include "known/families.h"

namespace lanner::known {
namespace {

using nlohmann::json;

constexpr std::int32_t default_size = 640, default_class_size = 224, most_size = 65536, most_stride = 4096;

const std::string* text_of(const ModelSigns& model, const char* key) {
  const auto found = model.metadata.find(key);
  return found == model.metadata.end() ? nullptr : &found->second;
}

template<typename Body>
auto reading(const char* key, Body&& body) {
  return with_context([&] { return std::string("metadata ") + key; }, body);
}

/// Height and width at export.
std::array<std::int32_t, 2> exported_size(const ModelSigns& model, std::int32_t otherwise) {
  const std::string* text = text_of(model, "imgsz");
  if (!text) return {otherwise, otherwise};
  return reading("imgsz", [&]() -> std::array<std::int32_t, 2> {
    const json value = parse_literal(*text);
    if (!value.is_array()) {
      const std::int32_t side = whole(value, "it", 1, most_size);
      return {side, side};
    }
    check(value.size() == 1 || value.size() == 2, ErrorCode::bad_data, "expected [height, width]");
    return {whole(value[0], "height", 1, most_size), whole(value.back(), "width", 1, most_size)};
  });
}

/// YOLOv5 exports no task: its classifiers give one row of scores for each picture.
bool gives_classes(const ModelSigns& model) {
  return model.outputs.size() == 1 && model.outputs[0].dims.size() == 2;
}

/// Resized and cropped by torchvision on Pillow images. YOLOv5 uses OpenCV, with ImageNet's mean.
void classifier(const ModelSigns& model, bool v5, KnownPreprocess& found) {
  found.spec = v5 ? Preprocess::preset("imagenet") : Preprocess();
  found.spec.range = {0.f, 1.f};
  found.spec.fit = Fit::crop;
  if (v5) found.spec.resize = Resize::bilinear;
  const auto [height, width] = exported_size(model, default_class_size);
  size_to(model, width, height, found.spec);
  const InputSize input = input_size(model);
  // For a size that is not square, each side is scaled on its own.
  if (!v5 && (input.open() ? width != height : input.width != input.height)) found.spec.fit = Fit::stretch;
}

} // namespace

std::optional<KnownPreprocess> ultralytics(const ModelSigns& model) {
  const std::string *names = text_of(model, "names"), *stride = text_of(model, "stride"),
                    *task = text_of(model, "task");
  if (!names || !stride) return std::nullopt;
  KnownPreprocess found;
  found.stride = reading("stride", [&] { return whole(parse_literal(*stride), "it", 1, most_stride); });
  found.reason = fmt::format("ultralytics' metadata ({}stride{})", task ? "task, " : "",
                             text_of(model, "imgsz") ? ", imgsz" : "");
  if (task ? *task == "classify" : gives_classes(model)) {
    classifier(model, !task, found);
    found.stride = 1;
    return found;
  }
  found.spec = Preprocess::preset("yolo");
  const auto [height, width] = exported_size(model, default_size);
  size_to(model, width, height, found.spec);
  if (task && *task == "depth") {
    found.spec.fit = Fit::stretch;
    found.spec.pad_value = 0;
  } else if (const InputSize input = input_size(model); task && input.width == 0 && input.height == 0) {
    found.spec.multiple = found.stride; // As with `rect`: only the padding that the network requires.
  }
  if (const std::string* channels = text_of(model, "channels"); channels && *channels == "1")
    found.spec.gray = true;
  return found;
}

} // namespace lanner::known
