// PaddleOCR's and PaddleX's inference.yml: `PreProcess.transform_ops`, applied to BGR pictures from OpenCV.

#include "base/check.h"
#include "base/text/one_line.h"
#include "known/families.h"

namespace lanner::known {
namespace {

using nlohmann::json;

constexpr std::int32_t most = 65536, text_stride = 32;

/// A number, or `1./255.` in the spelling of these files.
double factor_of(const json& value) {
  if (!value.is_string()) return number(value, "scale");
  const std::string text = value.get<std::string>();
  check(text == "1./255." || text == "1.0/255.0" || text == "1/255", ErrorCode::unsupported,
        "scale '{}' is not known", one_line(text, 40));
  return 1.0 / 255;
}

void normalize(const json& step, Preprocess& spec) {
  spec.range = {
      0.f, static_cast<float>(255 * (field(step, "scale").is_null() ? 1.0 / 255 : factor_of(step["scale"])))};
  if (spec.range[1] > 0.999f && spec.range[1] < 1.001f) spec.range[1] = 1;
  if (!field(step, "mean").is_null()) spec.mean = three(step["mean"], "mean");
  if (!field(step, "std").is_null()) spec.std = three(step["std"], "std");
}

/// Text detection runs on pictures at their native size, with sides rounded to multiples of 32.
void find_text(const ModelSigns& model, const json& step, Preprocess& spec) {
  const InputSize input = input_size(model);
  if (input.width > 0 || input.height > 0) return;
  check(field(step, "limit_type").is_null() || step["limit_type"] == "max", ErrorCode::unsupported,
        "limit_type min has no field of Preprocess");
  const char* key = field(step, "resize_long").is_null() ? "limit_side_len" : "resize_long";
  spec.longer_side = field(step, key).is_null() ? 960 : whole(step[key], key, 1, most);
  spec.multiple = text_stride;
}

/// Text recognition: a line of text is aligned to the left; the rest is 0 after normalisation.
void read_line(const ModelSigns& model, const json& step, Preprocess& spec) {
  const json& shape = field(step, "image_shape");
  check(shape.is_array() && shape.size() == 3, ErrorCode::bad_data,
        "RecResizeImg has no image_shape of three");
  spec.range = {0.f, 1.f};
  spec.mean = spec.std = {0.5f, 0.5f, 0.5f};
  spec.fit = Fit::corner;
  spec.pad_value = 127.5f;
  size_to(model, whole(shape[2], "image_shape", 1, most), whole(shape[1], "image_shape", 1, most), spec);
}

void resize(const ModelSigns& model, const json& step, Preprocess& spec, std::int32_t& shorter) {
  if (!field(step, "resize_short").is_null()) {
    shorter = whole(step["resize_short"], "resize_short", 1, most);
    return;
  }
  const json& size = field(step, "size");
  check(size.is_array() && size.size() == 2, ErrorCode::unsupported,
        "ResizeImage without resize_short or a size of two is not known");
  size_to(model, whole(size[0], "size", 1, most), whole(size[1], "size", 1, most), spec);
}

} // namespace

std::optional<KnownPreprocess> paddle(const ModelSigns& model, const json& config, const std::string& name) {
  const json& steps = field(field(config, "PreProcess"), "transform_ops");
  if (!steps.is_array()) return std::nullopt;
  KnownPreprocess found;
  found.reason = name + " of PaddleOCR next to the model";
  Preprocess& spec = found.spec;
  spec.bgr = true;
  spec.resize = Resize::bilinear;
  std::int32_t shorter = 0;
  for (const json& entry : steps) {
    check(entry.is_object() && entry.size() == 1, ErrorCode::bad_data, "a step of transform_ops has no name");
    const std::string step = entry.begin().key();
    const json& values = entry.begin().value().is_object() ? entry.begin().value() : entry;
    if (step == "DecodeImage") {
      spec.bgr = field(values, "img_mode") != "RGB";
    } else if (step == "NormalizeImage") {
      normalize(values, spec);
    } else if (step == "DetResizeForTest") {
      find_text(model, values, spec);
    } else if (step == "RecResizeImg") {
      read_line(model, values, spec);
    } else if (step == "ResizeImage") {
      resize(model, values, spec, shorter);
    } else if (step == "CropImage") {
      const std::int32_t side = whole(field(values, "size"), "size", 1, most);
      crop_to(model, shorter > 0 ? shorter : side, side, side, spec);
    } else {
      // Labels are for training; changing the order of an array's axes changes no value.
      const bool harmless = step.find("Label") != std::string::npos || step == "ToCHWImage" ||
                            step == "KeepKeys" || step == "ToTensor";
      check(harmless, ErrorCode::unsupported, "the step {} has no field of Preprocess", one_line(step, 60));
    }
  }
  return found;
}

} // namespace lanner::known
