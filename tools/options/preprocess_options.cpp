#include "options/preprocess_options.h"

#include <charconv>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <lanner/error.h>
#include <lanner/known_preprocess.h>
#include <lanner/nearest.h>

#include "check.h"
#include "options/arguments.h"

namespace lanner::tool {
namespace {

constexpr const char* presets =
    "yolo (detectors of ultralytics), imagenet (torchvision, timm), imagenet-tf or keras-caffe (TensorFlow, "
    "Keras), caffe, clip";

/// Whether the engine's preprocessing equals the metadata's; sizes and type are the input's.
bool is_of_metadata(const Preprocess& spec, const std::string& json) {
  try {
    Preprocess said = Preprocess::from_json(json);
    said.width = spec.width, said.height = spec.height, said.dtype = spec.dtype;
    return said == spec;
  } catch (const Error&) {
    return false;
  }
}

std::optional<KnownPreprocess> known(const Engine& engine, const std::filesystem::path& folder,
                                     const Binding& input, std::string& why_not) {
  ModelSigns signs{engine.metadata(), folder, input.dims, {}};
  for (const Binding& output : engine.outputs())
    if (!output.sequence) signs.outputs.push_back({output.dtype, output.dims});
  return known_preprocess(signs, &why_not);
}

/// Without sizes and type, which are the input's.
bool is_of_family(const Preprocess& spec, const KnownPreprocess& family) {
  Preprocess same = family.spec;
  same.width = spec.width, same.height = spec.height, same.dtype = spec.dtype;
  return same == spec;
}

/// What a plan or a model declares for this input. An imported engine already includes what its family
/// implies.
/// known of its family.
std::optional<PictureInput> declared(const Engine& engine, const Binding& input, bool plan,
                                     const std::optional<KnownPreprocess>& family) {
  const auto spec = engine.preprocess(input.name);
  if (spec && !plan && family && is_of_family(*spec, *family)) return std::nullopt;
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

void set(const PreprocessOptions& options, std::string_view name, Preprocess& spec) {
  const auto& row = *find_option(preprocess_option_table(), name);
  options.options.apply_to(spec, row, GivenOptions::flag_of(row.info, options.prefix));
}

/// Declared sizes that were for another fit, or for an open size, no longer apply.
void set_sizes(const PreprocessOptions& options, Preprocess& spec) {
  if (options.has("fit")) spec.shorter_side = spec.longer_side = 0;
  if (options.has("fit") || options.has("size")) spec.multiple = 1;
  set(options, "size", spec);
  if (options.has("size") && spec.fit != Fit::crop) spec.shorter_side = spec.longer_side = 0;
  for (const std::string_view name : {"shorter_side", "longer_side", "multiple"}) set(options, name, spec);
}

void apply_flags(const PreprocessOptions& options, Preprocess& spec) {
  for (const std::string_view name : {"layout", "channels", "resize", "region", "quarter_turns", "fit",
                                      "range", "mean", "std", "pad_value"})
    set(options, name, spec);
  for (const float value : spec.std)
    check(value != 0, ErrorCode::invalid_argument,
          "{}: cannot divide by 0; give the number that values are divided by", options.flag("std"));
  check(spec.pad_value >= 0 && spec.pad_value <= 255, ErrorCode::invalid_argument,
        "{} '{}': expected a pixel value, 0 to 255", options.flag("pad"), options.options.text("pad_value"));
  set_sizes(options, spec);
}

/// Checks that the target size fits the network's stride.
void check_stride(const PreprocessOptions& options, std::int32_t stride, const Binding& input,
                  const Preprocess& spec) {
  if (stride <= 1 || spec.width == 0 || spec.height == 0) return;
  if (spec.width % stride == 0 && spec.height % stride == 0) return;
  const auto above = [&](std::int32_t size) { return (size + stride - 1) / stride * stride; };
  fail(ErrorCode::invalid_argument,
       "{} {}x{}: input {} takes sizes that are multiples of {} (the model's stride), like {} {}x{}",
       options.flag("size"), spec.width, spec.height, input.to_string(), stride, options.flag("size"),
       above(spec.width), above(spec.height));
}

/// Takes a fixed size from the input, or compares it with the declared one.
void fit_size(const PreprocessOptions& options, std::int64_t dim, std::int32_t& size, const char* side,
              const Binding& input) {
  if (dim < 0) {
    check(size > 0, ErrorCode::invalid_argument, "input {} leaves its {} open; give {} WIDTHxHEIGHT",
          input.to_string(), side, options.flag("size"));
    return;
  }
  check(dim > 0 && dim <= 65536 && (size == 0 || size == dim), ErrorCode::invalid_argument,
        "input {} has {} {}, {} was declared", input.to_string(), side, dim, size);
  size = static_cast<std::int32_t>(dim);
}

/// A row of pixels has only a length.
void fit_row(const PreprocessOptions& options, const Binding& input, Preprocess& spec) {
  check(spec.width > 0 && spec.height > 0, ErrorCode::invalid_argument,
        "input {} takes a row of pixels; give the image's {} WIDTHxHEIGHT", input.to_string(),
        options.flag("size"));
  const std::int64_t pixels = std::int64_t{spec.width} * spec.height * (spec.gray ? 1 : 3);
  check(input.dims[1] < 0 || input.dims[1] == pixels, ErrorCode::invalid_argument,
        "input {}: an image of {} x {} and {} is {} numbers", input.to_string(), spec.width, spec.height,
        spec.gray ? "one channel" : "three channels", pixels);
  spec.dtype = input.dtype;
}

/// Derives the layout from the channels unless it was given.
void fit_layout(const PreprocessOptions& options, const Binding& input, Preprocess& spec) {
  const std::int64_t wanted = spec.gray ? 1 : 3;
  const std::size_t count = input.dims.size();
  const std::int64_t first = input.dims[count - 3], last = input.dims[count - 1];
  const std::int64_t channels = spec.channels_last ? last : first, other = spec.channels_last ? first : last;
  if (!options.has("layout") && channels != wanted && other == wanted) {
    spec.channels_last = !spec.channels_last;
    return;
  }
  check(channels < 0 || channels == wanted, ErrorCode::invalid_argument,
        "input {} has {} channels in layout {}, {} were declared; {}", input.to_string(), channels,
        spec.channels_last ? "nhwc" : "nchw", wanted,
        other == wanted
            ? fmt::format("did you mean {} {}?", options.flag("layout"), spec.channels_last ? "nchw" : "nhwc")
        : channels == 1 || other == 1
            ? fmt::format("say {} gray", options.flag("channels"))
            : fmt::format("give {} rgb or bgr, and {}", options.flag("channels"), options.flag("layout")));
}

void fit_input(const PreprocessOptions& options, const Binding& input, Preprocess& spec, bool open_size) {
  if (input.dims.size() == 2) return fit_row(options, input, spec);
  check(input.dims.size() == 4 || input.dims.size() == 3, ErrorCode::invalid_argument,
        "input {} takes no images: expected four dimensions, or three without a batch", input.to_string());
  fit_layout(options, input, spec);
  spec.dtype = input.dtype;
  const std::size_t rows = input.dims.size() - (spec.channels_last ? 3 : 2);
  const std::int64_t height = input.dims[rows], width = input.dims[rows + 1];
  if (open_size && height < 0 && width < 0 && spec.height == 0 && spec.width == 0) return;
  fit_size(options, height, spec.height, "height", input);
  fit_size(options, width, spec.width, "width", input);
}

/// For a plan whose network includes the preprocessing, sizes and type are fixed; other differences are
/// reported when an image is bound.
void fit_network(const Preprocess& built, Preprocess& spec) {
  if (spec.width == 0) spec.width = built.width;
  if (spec.height == 0) spec.height = built.height;
  spec.dtype = built.dtype;
}

} // namespace

void add_preprocess_options(Command& command, PreprocessOptions& options) {
  OptionRows rows(command, options.options);
  rows.heading(options.group("How images are preprocessed for the network"))
      .prefix(options.prefix)
      .without_defaults();
  for (const auto& row : preprocess_option_table())
    if (row.info.name != "region" || options.regions) rows.add(preprocess_option_table(), {row.info.name});
}

void check_size(const PreprocessOptions& options, const Binding& input, const Preprocess& spec) {
  Preprocess sized = spec;
  if (input.image.empty()) fit_input(options, input, sized, false);
}

namespace {

const char* text_of(Resize resize) {
  constexpr const char* names[] = {"nearest",   "bilinear",        "bicubic",          "area",
                                   "antialias", "antialias-cubic", "antialias-lanczos"};
  return names[static_cast<std::size_t>(resize)];
}

std::string fit_text(const Preprocess& spec) {
  std::string size = spec.width > 0 ? fmt::format(" to {}x{}", spec.width, spec.height) : "";
  if (spec.multiple > 1) size += fmt::format(" or less, by {}", spec.multiple);
  if (spec.width == 0 && spec.longer_side > 0) size += fmt::format(" to at most {}", spec.longer_side);
  switch (spec.fit) {
  case Fit::letterbox:
    return fmt::format("letterbox{} with gray {}", size, spec.pad_value);
  case Fit::corner:
    return fmt::format("in the corner{} with gray {}", size, spec.pad_value);
  case Fit::crop:
    return fmt::format("{}centre{}",
                       spec.shorter_side > 0 ? fmt::format("shorter side to {}, ", spec.shorter_side) : "",
                       size);
  case Fit::stretch:
    break;
  }
  if (spec.width == 0 && spec.shorter_side > 0)
    return fmt::format("shorter side to {}{}", spec.shorter_side, size);
  return size.empty() ? "its native size" : "stretched" + size;
}

[[noreturn]] void fail_unsaid(const PreprocessOptions& options, const Binding& input,
                              const std::string& why_not) {
  fail(ErrorCode::invalid_argument,
       "neither the command line nor the model declares the preprocessing of input {}{}; give {} {}, if it "
       "is "
       "of such a family, else its authors' preprocessing by {}, {}, {}, {}, {} (docs/preprocess.md)",
       input.to_string(), why_not.empty() ? "" : " (" + why_not + ")", options.flag("preset"), presets,
       options.flag("range"), options.flag("mean"), options.flag("std"), options.flag("channels"),
       options.flag("fit"));
}

} // namespace

void as_one_size(PictureInput& picture) {
  if (picture.spec.width > 0 && picture.spec.height > 0) picture.spec.multiple = 1;
}

bool PictureInput::follows_picture() const {
  const bool open = spec.width == 0 && spec.height == 0;
  return spec.multiple > 1 || (open && (known || spec.shorter_side > 0 || spec.longer_side > 0));
}

std::string PictureInput::text() const {
  const char* channels = spec.gray ? "gray" : spec.bgr ? "BGR" : "RGB";
  std::string values = fmt::format("{} {}..{}", channels, spec.range[0], spec.range[1]);
  const auto list = [](const std::array<float, 3>& three) {
    return three[0] == three[1] && three[1] == three[2]
               ? fmt::format("{}", three[0])
               : fmt::format("{},{},{}", three[0], three[1], three[2]);
  };
  if (spec.mean != std::array{0.f, 0.f, 0.f}) values += " minus " + list(spec.mean);
  if (spec.std != std::array{1.f, 1.f, 1.f}) values += " by " + list(spec.std);
  return fmt::format("{}, {}, {}, by {}", values, fit_text(spec), text_of(spec.resize), source);
}

PictureInput resolve_preprocess(const PreprocessOptions& options, const Engine& engine,
                                const std::filesystem::path& folder, const Binding& input, bool open_size) {
  std::string why_not;
  const auto family = known(engine, folder, input, why_not);
  std::optional<PictureInput> picture;
  if (options.has("preset"))
    picture =
        PictureInput{input.name, Preprocess::preset(options.options.text("preset")), "the command line"};
  else
    picture = declared(engine, input, folder.empty(), family);
  const bool values = options.has("range") || options.has("mean") || options.has("std");
  if (!picture && family) picture = PictureInput{input.name, family->spec, family->reason, true};
  if (!picture && values) picture = PictureInput{input.name, Preprocess::preset("none"), "the command line"};
  if (!picture) fail_unsaid(options, input, why_not);
  if (family) picture->stride = family->stride;
  if (family && !options.has("preset") && is_of_family(picture->spec, *family)) picture->known = true;
  apply_flags(options, picture->spec);
  if (options.given() && !options.has("preset") && picture->source != "the command line")
    picture->source += ", changed by the command line";
  if (input.image.empty())
    fit_input(options, input, picture->spec, open_size);
  else
    fit_network(*engine.preprocess(input.name), picture->spec);
  if (options.has("size")) check_stride(options, picture->stride, input, picture->spec);
  return *picture;
}

} // namespace lanner::tool
