#pragma once
// One function for each family; known_preprocess() asks them in turn.

#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include <lanner/known_preprocess.h>

namespace lanner::known {

/// Of pictures' sizes in the input: 0 where they are open, or where the input has no such dims.
struct InputSize {
  std::int64_t width = 0, height = 0;
  bool channels_last = false;
  bool open() const { return width == 0 || height == 0; }
};
InputSize input_size(const ModelSigns& model);

/// Each throws Error{bad_data, unsupported} for what it knows, and cannot say as a Preprocess.
std::optional<KnownPreprocess> ultralytics(const ModelSigns& model);
std::optional<KnownPreprocess> torchvision_detector(const ModelSigns& model);
/// `config` is what stands in the file `name`.
std::optional<KnownPreprocess> transformers(const ModelSigns& model, const nlohmann::json& config,
                                            const std::string& name);
std::optional<KnownPreprocess> timm(const ModelSigns& model, const nlohmann::json& config,
                                    const std::string& name);
std::optional<KnownPreprocess> paddle(const ModelSigns& model, const nlohmann::json& config,
                                      const std::string& name);

// Reading of fields; messages name the key.
std::int32_t whole(const nlohmann::json& value, std::string_view key, std::int32_t least, std::int32_t most);
double number(const nlohmann::json& value, std::string_view key);
std::array<float, 3> three(const nlohmann::json& value, std::string_view key);
/// The field, null where there is none, and where it is of no object.
const nlohmann::json& field(const nlohmann::json& object, const char* key);
/// False where there is none.
bool flag(const nlohmann::json& object, const char* key, bool otherwise = false);

/// Crops the centre of `width` x `height` out of the picture whose shorter side is `shorter`; of a size that
/// the input has fixed, if it is another, nothing is known.
void crop_to(const ModelSigns& model, std::int32_t shorter, std::int32_t width, std::int32_t height,
             Preprocess& spec);
/// The input's size, or where it is open that one.
void size_to(const ModelSigns& model, std::int32_t width, std::int32_t height, Preprocess& spec);

} // namespace lanner::known
