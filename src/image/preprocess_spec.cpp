#include <lanner/preprocess.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <lanner/nearest.h>

#include "base/check.h"
#include "base/text/decimal.h"
#include "base/text/joined.h"
#include "base/text/json.h"

namespace lanner {

namespace {

using nlohmann::json;

constexpr std::string_view resize_names[] = {"nearest",   "bilinear",        "bicubic",          "area",
                                             "antialias", "antialias-cubic", "antialias-lanczos"};
constexpr std::string_view fit_names[] = {"stretch", "letterbox", "crop", "corner"};
constexpr std::string_view layout_names[] = {"nchw", "nhwc"};

enum class Channels : std::uint8_t { rgb, bgr, gray };
constexpr std::string_view channels_names[] = {"rgb", "bgr", "gray"};

Channels channels_of(const Preprocess& spec) {
  return spec.gray ? Channels::gray : spec.bgr ? Channels::bgr : Channels::rgb;
}

struct Preset {
  std::string_view name;
  bool bgr;
  std::array<float, 2> range;
  std::array<float, 3> mean, std;
  Resize resize = Resize::antialias;
  Fit fit = Fit::stretch;
  float pad_value = 0;
};

constexpr Preset presets[] = {
    {"imagenet", false, {0, 1}, {0.485f, 0.456f, 0.406f}, {0.229f, 0.224f, 0.225f}},
    {"imagenet-tf", false, {-1, 1}, {0, 0, 0}, {1, 1, 1}},
    {"caffe", true, {0, 255}, {104, 117, 123}, {1, 1, 1}},
    {"keras-caffe", true, {0, 255}, {103.939f, 116.779f, 123.68f}, {1, 1, 1}},
    {"clip",
     false,
     {0, 1},
     {0.48145466f, 0.4578275f, 0.40821073f},
     {0.26862954f, 0.26130258f, 0.27577711f},
     Resize::antialias_cubic,
     Fit::crop},
    {"yolo", false, {0, 1}, {0, 0, 0}, {1, 1, 1}, Resize::bilinear, Fit::letterbox, 114},
    {"none", false, {0, 255}, {0, 0, 0}, {1, 1, 1}},
};

/// Takes fields out of a JSON object and rejects unknown ones.
class FieldReader {
public:
  explicit FieldReader(json object) : object_(std::move(object)) {
    check(object_.is_object(), ErrorCode::bad_data, "preprocess: expected a JSON object, got {}",
          object_.type_name());
  }

  bool take(const char* key, json& value) {
    const auto found = object_.find(key);
    if (found == object_.end()) return false;
    value = std::move(*found);
    object_.erase(found);
    return true;
  }

  void read(const char* key, std::int32_t& into) {
    json value;
    if (!take(key, value)) return;
    const bool good = value.is_number_integer() && value.get<double>() >= 0 && value.get<double>() <= 65536;
    require(good, key, "a whole number from 0 to 65536", value);
    into = value.get<std::int32_t>();
  }

  void read(const char* key, PixelRect& into) {
    json value;
    if (!take(key, value)) return;
    std::int32_t* const numbers[] = {&into.x, &into.y, &into.width, &into.height};
    require(value.is_array() && value.size() == 4, key, "[x, y, width, height]", value);
    for (std::size_t i = 0; i < 4; ++i) {
      const json& number = value[i];
      const bool good =
          number.is_number_integer() && number.get<double>() >= 0 && number.get<double>() <= INT32_MAX;
      require(good, key, "four whole numbers of 0 or more", value);
      *numbers[i] = number.get<std::int32_t>();
    }
  }

  /// Any integer; multiples of four mean no rotation.
  void read_turns(const char* key, int& into) {
    json value;
    if (!take(key, value)) return;
    const bool good = value.is_number_integer() && std::abs(value.get<double>()) <= INT32_MAX;
    require(good, key, "a whole number", value);
    into = value.get<std::int32_t>();
  }

  void read(const char* key, float& into) {
    json value;
    if (take(key, value)) into = number(key, value);
  }

  template<std::size_t N>
  void read(const char* key, std::array<float, N>& into) {
    json value;
    if (!take(key, value)) return;
    require(value.is_array() && value.size() == N, key, "an array of the right length", value);
    for (std::size_t i = 0; i < N; ++i) into[i] = number(key, value[i]);
  }

  template<typename Enum, std::size_t N>
  void read(const char* key, Enum& into, const std::string_view (&names)[N]) {
    json value;
    if (!take(key, value)) return;
    const std::string given = value.is_string() ? value.get<std::string>() : std::string();
    const auto found = std::find(names, names + N, given);
    check(found != names + N, ErrorCode::bad_data, "preprocess: {} is {}, expected one of {}{}", key,
          json_text(value), joined(names, ", "),
          did_you_mean(given, std::vector<std::string>(names, names + N)));
    into = static_cast<Enum>(found - names);
  }

  /// The value that `parse` returns for a name; its errors become bad_data here.
  template<typename T>
  void read(const char* key, T& into, T (*parse)(std::string_view)) {
    json value;
    if (!take(key, value)) return;
    require(value.is_string(), key, "a string", value);
    try {
      into = parse(value.get<std::string>());
    } catch (const Error& error) {
      fail(ErrorCode::bad_data, "preprocess: {}", error.message());
    }
  }

  void finish() const {
    check(object_.empty(), ErrorCode::bad_data, "preprocess: unknown field '{}'",
          object_.empty() ? "" : object_.begin().key());
  }

private:
  static void require(bool good, const char* key, const char* expected, const json& got) {
    check(good, ErrorCode::bad_data, "preprocess: {} is {}, expected {}", key, json_text(got), expected);
  }

  static float number(const char* key, const json& value) {
    require(value.is_number() && std::abs(value.get<double>()) < 1e30, key, "a number", value);
    return value.get<float>();
  }

  json object_;
};

} // namespace

Preprocess Preprocess::preset(std::string_view name) {
  std::vector<std::string> known;
  for (const Preset& preset : presets) {
    known.emplace_back(preset.name);
    if (preset.name != name) continue;
    Preprocess spec;
    spec.bgr = preset.bgr;
    spec.range = preset.range;
    spec.mean = preset.mean;
    spec.std = preset.std;
    spec.resize = preset.resize;
    spec.fit = preset.fit;
    spec.pad_value = preset.pad_value;
    return spec;
  }
  fail(ErrorCode::invalid_argument, "preset '{}' is not known: expected one of {}{}", name,
       fmt::join(known, ", "), did_you_mean(name, known));
}

namespace {

template<std::size_t N>
std::array<double, N> shortest_decimals(const std::array<float, N>& values) {
  std::array<double, N> result;
  std::transform(values.begin(), values.end(), result.begin(), shortest_decimal);
  return result;
}

} // namespace

std::string Preprocess::to_json() const {
  nlohmann::ordered_json object;
  object["width"] = width;
  object["height"] = height;
  object["dtype"] = lanner::to_string(dtype);
  object["layout"] = layout_names[channels_last];
  object["channels"] = channels_names[static_cast<std::size_t>(channels_of(*this))];
  object["region"] = {region.x, region.y, region.width, region.height};
  object["quarter_turns"] = quarter_turns;
  object["resize"] = resize_names[static_cast<std::size_t>(resize)];
  object["fit"] = fit_names[static_cast<std::size_t>(fit)];
  object["range"] = shortest_decimals(range);
  object["mean"] = shortest_decimals(mean);
  object["std"] = shortest_decimals(std);
  object["pad_value"] = shortest_decimal(pad_value);
  object["shorter_side"] = shorter_side;
  object["longer_side"] = longer_side;
  object["multiple"] = multiple;
  return json_text(object);
}

Preprocess Preprocess::from_json(std::string_view text) {
  FieldReader reader(parse_json(text));
  Preprocess spec;
  reader.read("preset", spec, Preprocess::preset);
  reader.read("width", spec.width);
  reader.read("height", spec.height);
  reader.read("dtype", spec.dtype, parse_dtype);
  std::uint8_t layout = 0;
  reader.read("layout", layout, layout_names);
  spec.channels_last = layout == 1;
  Channels channels = channels_of(spec);
  reader.read("channels", channels, channels_names);
  spec.bgr = channels == Channels::bgr;
  spec.gray = channels == Channels::gray;
  reader.read("region", spec.region);
  reader.read_turns("quarter_turns", spec.quarter_turns);
  reader.read("resize", spec.resize, resize_names);
  reader.read("fit", spec.fit, fit_names);
  reader.read("range", spec.range);
  reader.read("mean", spec.mean);
  reader.read("std", spec.std);
  reader.read("pad_value", spec.pad_value);
  reader.read("shorter_side", spec.shorter_side);
  reader.read("longer_side", spec.longer_side);
  reader.read("multiple", spec.multiple);
  reader.finish();
  return spec;
}

} // namespace lanner
