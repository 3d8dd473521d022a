#include <lanner/known_preprocess.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <system_error>

#include <fmt/format.h>

#include <lanner/source.h>

#include "base/check.h"
#include "base/file/regular_file.h"
#include "base/text/json.h"
#include "base/text/one_line.h"
#include "known/families.h"
#include "known/yaml.h"

namespace lanner::known {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::uint64_t most_bytes = 1 << 20;
constexpr std::size_t shown = 80;

std::string shown_text(const json& value) {
  return one_line(json_text(value), shown);
}

/// Folders that belong to the model: its own, and the parent of a folder `onnx`, where exporters of
/// transformers put networks.
std::vector<fs::path> folders_of(const fs::path& own) {
  if (own.empty()) return {};
  std::error_code ignored;
  std::vector<fs::path> folders{own};
  if (fs::absolute(own, ignored).lexically_normal().filename() == "onnx") folders.push_back(own / "..");
  return folders;
}

std::optional<std::string> text_of(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return std::nullopt;
  Limits limits;
  limits.file_bytes = most_bytes;
  const Content content = read_regular_file(path, limits);
  return std::string(reinterpret_cast<const char*>(content.bytes.data()), content.bytes.size());
}

using FromConfig = std::optional<KnownPreprocess> (*)(const ModelSigns&, const json&, const std::string&);

std::optional<KnownPreprocess> from_file(const ModelSigns& model, const fs::path& path, FromConfig read) {
  const auto text = text_of(path);
  if (!text) return std::nullopt;
  const std::string name = path.filename().string();
  return with_context([&] { return name; },
                      [&]() -> std::optional<KnownPreprocess> {
                        const bool yaml = name.ends_with(".yml") || name.ends_with(".yaml");
                        const json config = yaml ? parse_yaml(*text) : parse_json(*text);
                        return config.is_object() ? read(model, config, name) : std::nullopt;
                      });
}

std::optional<KnownPreprocess> from_files(const ModelSigns& model) {
  for (const fs::path& folder : folders_of(model.folder)) {
    for (const char* name : {"preprocessor_config.json", "processor_config.json"})
      if (auto found = from_file(model, folder / name, transformers)) return found;
    if (auto found = from_file(model, folder / "config.json", timm)) return found;
    for (const char* name : {"inference.yml", "inference.yaml"})
      if (auto found = from_file(model, folder / name, paddle)) return found;
  }
  return std::nullopt;
}

} // namespace

InputSize input_size(const ModelSigns& model) {
  const auto& dims = model.input;
  InputSize size;
  const auto side = [&](std::size_t dim) { return std::max<std::int64_t>(0, dims[dim]); };
  const auto channels = [&](std::size_t dim) { return dims[dim] == 1 || dims[dim] == 3; };
  if (dims.size() == 4) {
    size.channels_last = !channels(1) && channels(3);
    size.height = side(size.channels_last ? 1 : 2);
    size.width = side(size.channels_last ? 2 : 3);
  } else if (dims.size() == 3) {
    size.channels_last = !channels(0) && channels(2);
    size.height = side(size.channels_last ? 0 : 1);
    size.width = side(size.channels_last ? 1 : 2);
  }
  return size;
}

std::int32_t whole(const json& value, std::string_view key, std::int32_t least, std::int32_t most) {
  const bool good = value.is_number() && value.get<double>() == std::floor(value.get<double>()) &&
                    value.get<double>() >= least && value.get<double>() <= most;
  check(good, ErrorCode::bad_data, "{} is {}, expected a whole number from {} to {}", key, shown_text(value),
        least, most);
  return value.get<std::int32_t>();
}

double number(const json& value, std::string_view key) {
  check(value.is_number() && std::abs(value.get<double>()) < 1e30, ErrorCode::bad_data,
        "{} is {}, expected a number", key, shown_text(value));
  return value.get<double>();
}

std::array<float, 3> three(const json& value, std::string_view key) {
  std::array<float, 3> numbers{};
  if (value.is_number()) {
    numbers.fill(static_cast<float>(number(value, key)));
    return numbers;
  }
  check(value.is_array() && (value.size() == 3 || value.size() == 1), ErrorCode::bad_data,
        "{} is {}, expected three numbers", key, shown_text(value));
  for (std::size_t i = 0; i < 3; ++i)
    numbers[i] = static_cast<float>(number(value[value.size() == 1 ? 0 : i], key));
  return numbers;
}

const json& field(const json& object, const char* key) {
  static const json none;
  if (!object.is_object()) return none;
  const auto found = object.find(key);
  return found == object.end() ? none : *found;
}

bool flag(const json& object, const char* key, bool otherwise) {
  const json& value = field(object, key);
  if (value.is_null()) return otherwise;
  check(value.is_boolean(), ErrorCode::bad_data, "{} is {}, expected true or false", key, shown_text(value));
  return value.get<bool>();
}

void size_to(const ModelSigns& model, std::int32_t width, std::int32_t height, Preprocess& spec) {
  const InputSize input = input_size(model);
  spec.width = input.width > 0 ? 0 : width;
  spec.height = input.height > 0 ? 0 : height;
}

void crop_to(const ModelSigns& model, std::int32_t shorter, std::int32_t width, std::int32_t height,
             Preprocess& spec) {
  const InputSize input = input_size(model);
  check((input.width == 0 || input.width == width) && (input.height == 0 || input.height == height),
        ErrorCode::unsupported, "it crops to {}x{}, the model's input is {}x{}", width, height, input.width,
        input.height);
  check(shorter >= std::max(width, height), ErrorCode::unsupported,
        "it crops {}x{} from a picture whose shorter side is {}", width, height, shorter);
  spec.fit = Fit::crop;
  spec.shorter_side = shorter == std::max(width, height) && width == height ? 0 : shorter;
  size_to(model, width, height, spec);
}

} // namespace lanner::known

namespace lanner {

std::optional<KnownPreprocess> known_preprocess(const ModelSigns& model, std::string* why_not) {
  try {
    auto found = known::ultralytics(model);
    if (!found) found = known::torchvision_detector(model);
    if (!found) found = known::from_files(model);
    if (found) found->spec.channels_last = known::input_size(model).channels_last;
    return found;
  } catch (const Error& error) {
    if (why_not) *why_not = error.message();
    return std::nullopt;
  }
}

} // namespace lanner
