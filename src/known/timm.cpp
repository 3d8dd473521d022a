// timm's config.json: `pretrained_cfg` gives the parameters of its `create_transform` for evaluation.

#include <cmath>

#include "base/check.h"
#include "base/text/json.h"
#include "base/text/one_line.h"
#include "known/families.h"

namespace lanner::known {
namespace {

using nlohmann::json;

Resize kernel_of(const json& value) {
  const std::string name = value.is_string() ? value.get<std::string>() : "bilinear";
  if (name == "bilinear") return Resize::antialias;
  if (name == "bicubic" || name == "random") return Resize::antialias_cubic;
  if (name == "lanczos") return Resize::antialias_lanczos;
  if (name == "nearest") return Resize::nearest;
  fail(ErrorCode::unsupported, "interpolation '{}' is not known", one_line(name, 40));
}

} // namespace

std::optional<KnownPreprocess> timm(const ModelSigns& model, const json& config, const std::string& name) {
  if (!config.contains("architecture")) return std::nullopt;
  const json& nested = field(config, "pretrained_cfg");
  const json& said = nested.is_object() ? nested : config;
  if (!said.contains("mean") || !said.contains("std")) return std::nullopt;
  KnownPreprocess found;
  found.reason = name + " of timm next to the model";
  Preprocess& spec = found.spec;
  spec.range = {0.f, 1.f};
  spec.mean = three(said["mean"], "mean");
  spec.std = three(said["std"], "std");
  spec.resize = kernel_of(field(said, "interpolation"));
  const json& size = field(said, "input_size");
  check(size.is_array() && size.size() == 3, ErrorCode::bad_data,
        "input_size is {}, expected [3, height, width]", one_line(json_text(size), 80));
  spec.gray = whole(size[0], "input_size", 1, 3) == 1;
  std::int32_t height = whole(size[1], "input_size", 1, 65536),
               width = whole(size[2], "input_size", 1, 65536);
  const InputSize input = input_size(model);
  if (input.height > 0) height = static_cast<std::int32_t>(input.height); // Exported at another size.
  if (input.width > 0) width = static_cast<std::int32_t>(input.width);
  const double share = field(said, "crop_pct").is_null() ? 0.875 : number(said["crop_pct"], "crop_pct");
  check(share > 0 && share <= 1, ErrorCode::unsupported, "crop_pct is {}, expected a share from 0 to 1",
        share);
  const json& mode = field(said, "crop_mode");
  const std::string how = mode.is_string() ? mode.get<std::string>() : "center";
  if (how == "squash" && share == 1) {
    size_to(model, width, height, spec);
    return found;
  }
  check(how == "center" && width == height, ErrorCode::unsupported,
        "crop_mode {} of {}x{} with crop_pct {} has no field of Preprocess", one_line(how, 40), width, height,
        share);
  const double shorter = std::floor(width / share);
  check(shorter <= 65536, ErrorCode::unsupported, "crop_pct {} gives a picture above 65536 pixels a side",
        share);
  crop_to(model, static_cast<std::int32_t>(shorter), width, height, spec);
  return found;
}

} // namespace lanner::known
