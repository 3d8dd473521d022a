// transformers' image processors: preprocessor_config.json, or from version 5 on the part `image_processor`
// of processor_config.json.

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>

#include <fmt/format.h>

#include "base/check.h"
#include "base/text/json.h"
#include "base/text/one_line.h"
#include "known/families.h"

namespace lanner::known {
namespace {

using nlohmann::json;

constexpr std::int32_t most = 65536;

/// A processor's name without the suffixes `ImageProcessor`, `FeatureExtractor` and `Fast`: `CLIP`, `ViT`.
std::string type_of(const json& config) {
  for (const char* key : {"image_processor_type", "feature_extractor_type", "processor_class"}) {
    const json& value = field(config, key);
    if (!value.is_string()) continue;
    const std::string& whole = value.get_ref<const std::string&>();
    std::string_view type = whole;
    for (const std::string_view end : {"Fast", "Pil", "ImageProcessor", "FeatureExtractor", "Processor"})
      if (type.ends_with(end)) type.remove_suffix(end.size());
    return std::string(type);
  }
  return {};
}

bool is_one_of(const std::string& type, std::initializer_list<std::string_view> types) {
  return std::ranges::find(types, type) != types.end();
}

/// Rejects steps that change pixels and that Preprocess cannot express.
void check_steps(const json& config, const std::string& type) {
  check(type.find("Video") == std::string::npos && !is_one_of(type, {"Videomae", "VideoMAE", "Vivit"}),
        ErrorCode::unsupported, "{} is for clips", one_line(type, 60));
  for (const char* step : {"do_thumbnail", "do_align_long_axis", "do_crop_margin", "do_image_splitting",
                           "keep_aspect_ratio", "do_pad_to_square", "do_color_quantize"})
    check(!flag(config, step), ErrorCode::unsupported, "{} has no field of Preprocess", step);
  for (const char* key : {"patch_size", "min_pixels", "image_grid_pinpoints", "size_divisor"})
    check(!config.contains(key), ErrorCode::unsupported, "{} has no field of Preprocess", key);
}

Resize kernel_of(const json& config, const std::string& type) {
  const json& value = field(config, "resample");
  const bool cubic = is_one_of(type, {"CLIP", "ChineseCLIP", "DeiT", "Beit", "BLIP", "Blip", "Levit", "Bit",
                                      "Siglip", "PoolFormer", "Flava", "Dpt", "DPT"});
  switch (value.is_null() ? (cubic ? 3 : 2) : whole(value, "resample", 0, 5)) {
  case 0:
    return Resize::nearest;
  case 1:
    return Resize::antialias_lanczos;
  case 2:
    return Resize::antialias;
  case 3:
    return Resize::antialias_cubic;
  case 4:
    return Resize::area;
  default:
    fail(ErrorCode::unsupported, "resample 5 (Hamming) has no field of Preprocess");
  }
}

/// `rescale_factor` scales 255 to white; some processors subtract one afterwards.
void set_values(const json& config, const std::string& type, Preprocess& spec) {
  const bool rescales = flag(config, "do_rescale", true);
  const json& given = field(config, "rescale_factor");
  const double factor = rescales ? (given.is_null() ? 1.0 / 255 : number(given, "rescale_factor")) : 1;
  const float offset = rescales && flag(config, "rescale_offset") ? -1.f : 0.f;
  // 0.00392156862745098 is 1 / 255: white is exactly 1.
  const double white =
      std::abs(factor * 255 - std::round(factor * 255)) < 1e-6 ? std::round(factor * 255) : factor * 255;
  spec.range = {offset, static_cast<float>(white) + offset};
  if (flag(config, "do_normalize", config.contains("image_mean"))) {
    check(config.contains("image_mean") && config.contains("image_std"), ErrorCode::unsupported,
          "do_normalize without image_mean and image_std");
    spec.mean = three(config["image_mean"], "image_mean");
    spec.std = three(config["image_std"], "image_std");
    for (const float value : spec.std)
      check(value != 0, ErrorCode::bad_data, "image_std contains 0, expected numbers other than 0");
  }
  spec.bgr = flag(config, "do_flip_channel_order", type == "MobileViT");
}

struct Sizes {
  std::int32_t width = 0, height = 0, shorter = 0, longer = 0;
};

/// An integer is both sides, or the shorter one for `shorter`.
Sizes sizes_of(const json& value, const char* key, bool shorter) {
  if (value.is_null()) return {};
  if (value.is_number()) {
    const std::int32_t side = whole(value, key, 1, most);
    return shorter ? Sizes{0, 0, side, 0} : Sizes{side, side, 0, 0};
  }
  if (value.is_array() && value.size() == 2)
    return {whole(value[1], key, 1, most), whole(value[0], key, 1, most), 0, 0};
  check(value.is_object(), ErrorCode::bad_data, "{} is {}, expected a size", key,
        one_line(json_text(value), 60));
  const auto side = [&](const char* name) {
    return field(value, name).is_null() ? 0 : whole(value[name], key, 1, most);
  };
  const Sizes sizes{side("width"), side("height"), side("shortest_edge"), side("longest_edge")};
  check((sizes.width > 0) == (sizes.height > 0) && (sizes.width > 0 || sizes.shorter > 0),
        ErrorCode::unsupported, "{} {} has no field of Preprocess", key, one_line(json_text(value), 60));
  return sizes;
}

/// ConvNeXT: below 384 the centre is cropped from a picture that is larger by `crop_pct`.
bool crops_by_share(const ModelSigns& model, const json& config, const Sizes& size, Preprocess& spec) {
  const json& share = field(config, "crop_pct");
  const std::int32_t side = size.shorter;
  if (share.is_null() || side == 0 || flag(config, "do_center_crop")) return false;
  const double part = number(share, "crop_pct");
  check(part > 0 && part <= 1, ErrorCode::bad_data, "crop_pct is {}, expected a share from 0 to 1", part);
  if (side < 384)
    crop_to(model, static_cast<std::int32_t>(std::min<double>(most, side / part)), side, side, spec);
  else
    size_to(model, side, side, spec);
  return true;
}

void set_size(const ModelSigns& model, const json& config, const std::string& type, Preprocess& spec) {
  const bool shorter =
      is_one_of(type, {"CLIP", "ChineseCLIP", "ConvNext", "Levit", "PoolFormer", "MobileNetV1", "MobileNetV2",
                       "Bit", "MobileViT", "Detr", "ConditionalDetr", "DeformableDetr", "Yolos", "Flava"});
  const bool crops = flag(config, "do_center_crop");
  const Sizes size =
      flag(config, "do_resize", true) ? sizes_of(field(config, "size"), "size", shorter) : Sizes{};
  if (crops_by_share(model, config, size, spec)) return;
  if (crops) {
    const Sizes crop = sizes_of(field(config, "crop_size"), "crop_size", false);
    check(crop.width > 0, ErrorCode::unsupported, "do_center_crop without a crop_size");
    check(size.shorter > 0 || (size.width == crop.width && size.height == crop.height),
          ErrorCode::unsupported,
          "do_center_crop of a picture at its native size has no field of Preprocess");
    if (size.shorter > 0) return crop_to(model, size.shorter, crop.width, crop.height, spec);
    return size_to(model, crop.width, crop.height, spec);
  }
  if (size.width > 0) return size_to(model, size.width, size.height, spec);
  const InputSize input = input_size(model);
  if (input.width > 0 || input.height > 0) return; // The input's size, whatever the picture's shape.
  check(!flag(config, "do_pad") || size.shorter > 0, ErrorCode::unsupported,
        "do_pad of pictures at their native size has no field of Preprocess");
  spec.shorter_side = size.shorter;
  spec.longer_side = size.longer;
}

} // namespace

std::optional<KnownPreprocess> transformers(const ModelSigns& model, const json& whole_config,
                                            const std::string& name) {
  const json& part = field(whole_config, "image_processor");
  const json& config = part.is_object() ? part : whole_config;
  // Configurations of text or audio processors have none of these.
  if (!config.contains("image_mean") && !config.contains("do_rescale") && !config.contains("do_resize"))
    return std::nullopt;
  const std::string type = type_of(config);
  check_steps(config, type);
  KnownPreprocess found;
  found.reason = fmt::format("{} of transformers next to the model{}", name,
                             type.empty() ? "" : " (" + one_line(type, 60) + ")");
  set_values(config, type, found.spec);
  found.spec.resize = kernel_of(config, type);
  set_size(model, config, type, found.spec);
  return found;
}

} // namespace lanner::known
