#pragma once
// One function per family of exporters; known_preprocess() calls them in turn.

#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include <lanner/known_preprocess.h>

namespace lanner::known {

/// Height and width of the model's picture input: 0 where they are open, or where the input has no such dims.
struct InputSize {
  std::int64_t width = 0, height = 0;
  bool channels_last = false;
  bool open() const { return width == 0 || height == 0; }
};
InputSize input_size(const ModelSigns& model);

/// Each throws Error{bad_data, unsupported} for a model that it recognises but cannot express as a
/// Preprocess.
std::optional<KnownPreprocess> ultralytics(const ModelSigns& model);
std::optional<KnownPreprocess> torchvision_detector(const ModelSigns& model);
/// `config` is the content of the file `name`.
std::optional<KnownPreprocess> transformers(const ModelSigns& model, const nlohmann::json& config,
                                            const std::string& name);
std::optional<KnownPreprocess> timm(const ModelSigns& model, const nlohmann::json& config,
                                    const std::string& name);
std::optional<KnownPreprocess> paddle(const ModelSigns& model, const nlohmann::json& config,
                                      const std::string& name);

// Helpers that read fields; messages name the key.
std::int32_t whole(const nlohmann::json& value, std::string_view key, std::int32_t least, std::int32_t most);
double number(const nlohmann::json& value, std::string_view key);
std::array<float, 3> three(const nlohmann::json& value, std::string_view key);
/// The field; null where it is missing, or `object` is not an object.
const nlohmann::json& field(const nlohmann::json& object, const char* key);
/// `otherwise` where it is missing.
bool flag(const nlohmann::json& object, const char* key, bool otherwise = false);

/// Crops the centre of `width` x `height` out of the picture whose shorter side is `shorter`;
/// Error{unsupported} where the input has a fixed size that differs.
void crop_to(const ModelSigns& model, std::int32_t shorter, std::int32_t width, std::int32_t height,
             Preprocess& spec);
/// The input's size, or the given one where it is open.
void size_to(const ModelSigns& model, std::int32_t width, std::int32_t height, Preprocess& spec);

} // namespace lanner::known
