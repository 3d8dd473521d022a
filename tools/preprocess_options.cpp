#include "preprocess_options.h"

#include <charconv>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <lanner/error.h>

#include "arguments.h"
#include "check.h"

namespace lanner::tool {
namespace {

constexpr const char* presets = "imagenet, caffe, tf-inception or none";

/// Whether the model's metadata says what the engine does; sizes and type are the input's.
bool is_of_metadata(const Preprocess& spec, const std::string& json) {
  try {
    Preprocess said = Preprocess::from_json(json);
    said.width = spec.width, said.height = spec.height, said.dtype = spec.dtype;
    return said == spec;
  } catch (const Error&) {
    return false;
  }
}

/// What a plan or a model declares for this input.
std::optional<PictureInput> declared(const Engine& engine, const Binding& input) {
  const auto spec = engine.preprocess(input.name);
  const auto found = engine.metadata().find("lanner.preprocess");
  const bool metadata = found != engine.metadata().end();
  if (spec && !(metadata && is_of_metadata(*spec, found->second)))
    return PictureInput{input.name, *spec, "the plan"};
  if (!metadata) return std::nullopt;
  return with_context([] { return "metadata lanner.preprocess"; },
                      [&] {
                        return PictureInput{input.name, spec ? *spec : Preprocess::from_json(found->second),
                                            "the model's metadata"};
                      });
}

template<typename Enum>
Enum named(const std::string& text, const std::string& option,
           std::initializer_list<std::pair<const char*, Enum>> names) {
  std::string known;
  for (const auto& [name, value] : names) {
    if (text == name) return value;
    known += (known.empty() ? "" : ", ") + std::string(name);
  }
  fail(ErrorCode::invalid_argument, "{} '{}': expected one of {}", option, text, known);
}

std::int32_t whole_number(std::string_view text, const std::string& option, const std::string& all,
                          const char* expected) {
  std::int32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  check(error == std::errc() && end == text.data() + text.size(), ErrorCode::invalid_argument,
        "{} '{}': expected {}", option, all, expected);
  return value;
}

PixelRect parse_region(const std::string& text, const std::string& option) {
  const auto cross = text.find('x'), first = text.find('+'),
             second = first == std::string::npos ? first : text.find('+', first + 1);
  const bool complete = cross < first && second != std::string::npos;
  const auto part = [&](std::size_t from, std::size_t to) {
    return whole_number(complete ? std::string_view(text).substr(from, to - from) : std::string_view(),
                        option, text, "WIDTHxHEIGHT+X+Y, like 640x480+100+0");
  };
  return {part(first + 1, second), part(second + 1, text.size()), part(0, cross), part(cross + 1, first)};
}

void apply_flags(const PreprocessOptions& options, Preprocess& spec) {
  if (!options.layout.empty())
    spec.channels_last =
        named<bool>(options.layout, options.flag("layout"), {{"nchw", false}, {"nhwc", true}});
  if (!options.channels.empty()) {
    const int channels =
        named<int>(options.channels, options.flag("channels"), {{"rgb", 0}, {"bgr", 1}, {"gray", 2}});
    spec.bgr = channels == 1;
    spec.gray = channels == 2;
  }
  if (!options.resize.empty())
    spec.resize = named<Resize>(options.resize, options.flag("resize"),
                                {{"nearest", Resize::nearest},
                                 {"bilinear", Resize::bilinear},
                                 {"bicubic", Resize::bicubic},
                                 {"area", Resize::area},
                                 {"antialias", Resize::antialias}});
  if (!options.region.empty()) spec.region = parse_region(options.region, options.flag("region"));
  if (!options.turns.empty())
    spec.quarter_turns =
        whole_number(options.turns, options.flag("turn"), options.turns, "a whole number, like 1 or -1");
  if (!options.fit.empty())
    spec.fit = named<Fit>(options.fit, options.flag("fit"),
                          {{"stretch", Fit::stretch}, {"letterbox", Fit::letterbox}, {"crop", Fit::crop}});
  if (!options.range.empty()) spec.range = parse_range(options.range, options.flag("range"));
  if (!options.mean.empty()) spec.mean = parse_three(options.mean, options.flag("mean"));
  if (!options.std.empty()) spec.std = parse_three(options.std, options.flag("std"));
  for (const float value : spec.std)
    check(value != 0, ErrorCode::invalid_argument,
          "{}: 0 divides by nothing; give what values are divided by", options.flag("std"));
  if (!options.pad.empty()) spec.pad_value = parse_three(options.pad, options.flag("pad"))[0];
  check(spec.pad_value >= 0 && spec.pad_value <= 255, ErrorCode::invalid_argument,
        "{} '{}': expected a value of a picture, 0 to 255", options.flag("pad"), options.pad);
  if (!options.size.empty()) std::tie(spec.width, spec.height) = parse_size(options.size);
}

/// Takes a fixed size from the input, or holds against it what was declared.
void fit_size(const PreprocessOptions& options, std::int64_t dim, std::int32_t& size, const char* side,
              const Binding& input) {
  if (dim < 0) {
    check(size > 0, ErrorCode::invalid_argument, "input {} leaves its {} open; say {} WIDTHxHEIGHT",
          input.to_string(), side, options.flag("size"));
    return;
  }
  check(dim > 0 && dim <= 65536 && (size == 0 || size == dim), ErrorCode::invalid_argument,
        "input {} has {} {}, {} was declared", input.to_string(), side, dim, size);
  size = static_cast<std::int32_t>(dim);
}

/// A row of pixels has a length only.
void fit_row(const PreprocessOptions& options, const Binding& input, Preprocess& spec) {
  check(spec.width > 0 && spec.height > 0, ErrorCode::invalid_argument,
        "input {} takes a row of pixels; say {} WIDTHxHEIGHT of the picture", input.to_string(),
        options.flag("size"));
  const std::int64_t pixels = std::int64_t{spec.width} * spec.height * (spec.gray ? 1 : 3);
  check(input.dims[1] < 0 || input.dims[1] == pixels, ErrorCode::invalid_argument,
        "input {}: a picture of {} x {} and {} is {} numbers", input.to_string(), spec.width, spec.height,
        spec.gray ? "one channel" : "three channels", pixels);
  spec.dtype = input.dtype;
}

void fit_input(const PreprocessOptions& options, const Binding& input, Preprocess& spec, bool open_size) {
  if (input.dims.size() == 2) return fit_row(options, input, spec);
  check(input.dims.size() == 4, ErrorCode::invalid_argument,
        "input {} takes no pictures: expected four dimensions", input.to_string());
  const std::size_t channel = spec.channels_last ? 3 : 1;
  const std::int64_t channels = input.dims[channel];
  const std::int64_t wanted = spec.gray ? 1 : 3;
  const std::int64_t other = input.dims[spec.channels_last ? 1 : 3];
  check(channels < 0 || channels == wanted, ErrorCode::invalid_argument,
        "input {} has {} channels in layout {}, {} were declared; {}", input.to_string(), channels,
        spec.channels_last ? "nhwc" : "nchw", wanted,
        other == wanted
            ? fmt::format("did you mean {} {}?", options.flag("layout"), spec.channels_last ? "nchw" : "nhwc")
        : channels == 1
            ? fmt::format("say {} gray", options.flag("channels"))
            : fmt::format("say {} rgb or bgr, and {}", options.flag("channels"), options.flag("layout")));
  spec.dtype = input.dtype;
  const std::int64_t height = input.dims[spec.channels_last ? 1 : 2],
                     width = input.dims[spec.channels_last ? 2 : 3];
  if (open_size && height < 0 && width < 0 && spec.height == 0 && spec.width == 0) return;
  fit_size(options, height, spec.height, "height", input);
  fit_size(options, width, spec.width, "width", input);
}

/// Of a plan whose network has the preprocessing in it: sizes and type are given there; what else differs is
/// told when a picture is bound.
void fit_network(const Preprocess& built, Preprocess& spec) {
  if (spec.width == 0) spec.width = built.width;
  if (spec.height == 0) spec.height = built.height;
  spec.dtype = built.dtype;
}

} // namespace

bool PreprocessOptions::given() const {
  for (const std::string* text :
       {&preset, &layout, &channels, &resize, &fit, &mean, &std, &range, &size, &pad, &region, &turns})
    if (!text->empty()) return true;
  return false;
}

void add_preprocess_options(Command& command, PreprocessOptions& options) {
  const std::string group = options.group("What the network expects of a picture");
  const auto add = [&](const char* name, std::string& into, const char* help) {
    command.add_option(options.flag(name), into, help).group(group);
  };
  add("preset", options.preset,
      "Values to start from: imagenet (RGB 0..1, then mean and std), caffe (BGR 0..255 minus 104,117,123), "
      "tf-inception (RGB -1..1) or none (RGB 0..255); docs/preprocess.md");
  add("layout", options.layout, "nchw or nhwc");
  add("channels", options.channels, "rgb, bgr or gray");
  add("resize", options.resize,
      "nearest, bilinear, bicubic, area or antialias (default: antialias, as Pillow and torchvision resize)");
  if (options.regions) add("region", options.region, "Part of the image to use, WIDTHxHEIGHT+X+Y in pixels");
  add("turn", options.turns, "Rotate clockwise by so many times 90 degrees, after --region");
  add("fit", options.fit, "Of another aspect ratio: stretch, letterbox (pad) or crop");
  add("range", options.range, "Values that black and white become, like 0,1");
  add("mean", options.mean, "Subtracted from each channel, in units of --range: one number or three");
  add("std", options.std, "Each channel is divided by it after that: one number or three");
  add("size", options.size, "WIDTHxHEIGHT of the network's input, where the model leaves it open");
  add("pad", options.pad, "Gray value of a letterbox's padding, 0..255");
}

void check_size(const PreprocessOptions& options, const Binding& input, const Preprocess& spec) {
  Preprocess sized = spec;
  if (input.picture.empty()) fit_input(options, input, sized, false);
}

PictureInput resolve_preprocess(const PreprocessOptions& options, const Engine& engine, const Binding& input,
                                bool open_size) {
  std::optional<PictureInput> picture;
  if (!options.preset.empty())
    picture = PictureInput{input.name, Preprocess::preset(options.preset), "the command line"};
  else
    picture = declared(engine, input);
  const bool values = !options.range.empty() || !options.mean.empty() || !options.std.empty();
  if (!picture && values) picture = PictureInput{input.name, Preprocess::preset("none"), "the command line"};
  check(picture.has_value(), ErrorCode::invalid_argument,
        "neither the command line nor the model says what input {} expects of a picture; give {} {}, "
        "or {}, {}, {}, {}, {}",
        input.to_string(), options.flag("preset"), presets, options.flag("range"), options.flag("mean"),
        options.flag("std"), options.flag("channels"), options.flag("layout"));
  apply_flags(options, picture->spec);
  if (options.given() && options.preset.empty() && picture->source != "the command line")
    picture->source += ", changed by the command line";
  if (input.picture.empty())
    fit_input(options, input, picture->spec, open_size);
  else
    fit_network(*engine.preprocess(input.name), picture->spec);
  return *picture;
}

} // namespace lanner::tool
