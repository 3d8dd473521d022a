// Options of preprocessing.

#include <fmt/ranges.h>

#include <lanner/nearest.h>

#include "base/check.h"
#include "options/rows.h"

namespace lanner {
namespace {

using Table = OptionTable<Preprocess>;

constexpr std::string_view in_text = "set in the `preprocess` text, with the names of C++";

template<typename Value>
using Words = std::vector<std::pair<std::string_view, Value>>;

const Words<bool>& layouts() {
  static const Words<bool> words{{"nchw", false}, {"nhwc", true}, {"chw", false}, {"hwc", true}};
  return words;
}

enum class Channels : std::uint8_t { rgb, bgr, gray };

const Words<Channels>& channels() {
  static const Words<Channels> words{
      {"rgb", Channels::rgb}, {"bgr", Channels::bgr}, {"gray", Channels::gray}};
  return words;
}

const Words<Resize>& resizes() {
  static const Words<Resize> words{{"nearest", Resize::nearest},
                                   {"bilinear", Resize::bilinear},
                                   {"bicubic", Resize::bicubic},
                                   {"area", Resize::area},
                                   {"antialias", Resize::antialias},
                                   {"antialias-cubic", Resize::antialias_cubic},
                                   {"antialias-lanczos", Resize::antialias_lanczos}};
  return words;
}

const Words<Fit>& fits() {
  static const Words<Fit> words{
      {"stretch", Fit::stretch}, {"letterbox", Fit::letterbox}, {"crop", Fit::crop}, {"corner", Fit::corner}};
  return words;
}

template<typename Value>
std::vector<std::string_view> names_of(const Words<Value>& words) {
  std::vector<std::string_view> names;
  for (const auto& [name, value] : words) names.push_back(name);
  return names;
}

/// The first name of a value.
template<typename Value>
std::string word_of(const Words<Value>& words, Value value) {
  for (const auto& [name, meant] : words)
    if (meant == value) return std::string(name);
  return {}; // A type that preprocessing rejects.
}

template<typename Value>
Value value_of(const Words<Value>& words, std::string_view option, const std::string& text) {
  std::vector<std::string> known;
  for (const auto& [name, value] : words) {
    if (name == text) return value;
    known.emplace_back(name);
  }
  fail(ErrorCode::invalid_argument, "{} '{}': expected one of {}{}", option, text, fmt::join(known, ", "),
       did_you_mean(text, known));
}

/// NumPy's names of the types that a picture may be converted to.
const Words<DType>& types() {
  static const Words<DType> words{
      {"uint8", DType::u8}, {"float16", DType::f16}, {"bfloat16", DType::bf16}, {"float32", DType::f32}};
  return words;
}

Channels channels_of(const Preprocess& spec) {
  return spec.gray ? Channels::gray : spec.bgr ? Channels::bgr : Channels::rgb;
}

/// Preset, size and layout.
void add_value_rows(Table& table) {
  table.push_back(row<std::string, Preprocess>(
      {.name = "preset",
       .help = "preset to start from, if the model does not declare its preprocessing: yolo, imagenet, "
               "imagenet-tf, keras-caffe, caffe, clip or none",
       .details =
           "imagenet is RGB 0..1, mean 0.485 0.456 0.406, std 0.229 0.224 0.225; imagenet-tf is RGB -1..1; "
           "caffe is BGR 0..255, mean 104 117 123, keras-caffe the same with 103.939 116.779 123.68; clip is "
           "RGB 0..1, CLIP's mean and std, the centre by antialias-cubic; yolo is RGB 0..1, a letterbox with "
           "gray 114 by bilinear; none is RGB 0..255; other options change these values",
       .example = "imagenet",
       .flag = "--preset",
       .choices = {"yolo", "imagenet", "imagenet-tf", "keras-caffe", "caffe", "clip", "none"},
       .other_words = true,
       .no_field = in_text,
       .kind = OptionKind::preset},
      [](const Preprocess&) { return std::optional<std::string>(); },
      [](Preprocess& spec, const std::string& name) { spec = Preprocess::preset(name); }));
  table.push_back(row<std::array<std::int32_t, 2>, Preprocess>(
      {.name = "size",
       .help = "size of the network's input, in pixels",
       .example = "640x480",
       .unset = "the model's, else the image's",
       .flag = "--size",
       .metavar = "WIDTHxHEIGHT",
       .no_field = in_text},
      [](const Preprocess& spec) {
        const bool open = spec.width == 0 && spec.height == 0;
        return open ? std::nullopt : std::optional(std::array{spec.width, spec.height});
      },
      [](Preprocess& spec, const std::array<std::int32_t, 2>& size) {
        spec.width = size[0], spec.height = size[1];
      }));
  table.push_back(row<std::string, Preprocess>(
      {.name = "layout",
       .help = "order of dimensions: nchw or nhwc",
       .details = "the tensor always has a batch dimension; chw and hwc mean the same",
       .example = "nhwc",
       .flag = "--layout",
       .choices = names_of(layouts()),
       .no_field = in_text},
      [](const Preprocess& spec) { return word_of(layouts(), spec.channels_last); },
      [](Preprocess& spec, const std::string& name) {
        spec.channels_last = value_of(layouts(), "layout", name);
      }));
}

/// Element type and channels.
void add_type_rows(Table& table) {
  table.push_back(row<std::string, Preprocess>(
      {.name = "dtype",
       .help = "element type: uint8, float16, bfloat16 or float32",
       .example = "float16",
       .no_flag = "the network's input has one",
       .no_field = in_text,
       .kind = OptionKind::dtype},
      [](const Preprocess& spec) { return word_of(types(), spec.dtype); },
      [](Preprocess& spec, const std::string& name) { spec.dtype = parse_dtype(name); }));
  table.push_back(row<std::string, Preprocess>(
      {.name = "channels",
       .help = "order of channels: rgb, bgr, or gray, which is one channel",
       .example = "bgr",
       .flag = "--channels",
       .choices = names_of(channels()),
       .no_field = in_text},
      [](const Preprocess& spec) { return word_of(channels(), channels_of(spec)); },
      [](Preprocess& spec, const std::string& name) {
        const Channels order = value_of(channels(), "channels", name);
        spec.gray = order == Channels::gray, spec.bgr = order == Channels::bgr;
      }));
}

/// Region, rotation, resizing and fit.
void add_geometry_rows(Table& table) {
  table.push_back(row<PixelRect, Preprocess>(
      {.name = "region",
       .help = "part of the image to use, in pixels",
       .example = "640x480+100+0",
       .unset = "all of it",
       .flag = "--region",
       .metavar = "WIDTHxHEIGHT+X+Y",
       .no_field = in_text},
      [](const Preprocess& spec) { return spec.region.whole() ? std::nullopt : std::optional(spec.region); },
      [](Preprocess& spec, const PixelRect& region) { spec.region = region; }));
  table.push_back(row({.name = "quarter_turns",
                       .help = "number of quarter turns (90 degrees) clockwise, after the region is cut out",
                       .flag = "--turn",
                       .least = std::numeric_limits<std::int32_t>::min(),
                       .no_field = in_text},
                      &Preprocess::quarter_turns));
  table.push_back(row<std::string, Preprocess>(
      {.name = "resize",
       .help =
           "interpolation: nearest, bilinear, bicubic, area, antialias, antialias-cubic or antialias-lanczos",
       .details =
           "antialias is bilinear, averaged over source pixels when shrinking, as Pillow and torchvision "
           "resize; antialias-cubic and antialias-lanczos are Pillow's BICUBIC and LANCZOS",
       .example = "bilinear",
       .flag = "--resize",
       .choices = names_of(resizes()),
       .no_field = in_text},
      [](const Preprocess& spec) { return word_of(resizes(), spec.resize); },
      [](Preprocess& spec, const std::string& name) { spec.resize = value_of(resizes(), "resize", name); }));
  table.push_back(row<std::string, Preprocess>(
      {.name = "fit",
       .help =
           "how an image with another aspect ratio is fitted: stretch, letterbox (pad), corner (pad right "
           "and below) or crop",
       .example = "letterbox",
       .flag = "--fit",
       .choices = names_of(fits()),
       .no_field = in_text},
      [](const Preprocess& spec) { return word_of(fits(), spec.fit); },
      [](Preprocess& spec, const std::string& name) { spec.fit = value_of(fits(), "fit", name); }));
}

/// Range, mean, standard deviation and padding.
void add_number_rows(Table& table) {
  table.push_back(row({.name = "range",
                       .help = "values that black and white become, before mean and std",
                       .example = "0,1",
                       .flag = "--range",
                       .metavar = "BLACK,WHITE",
                       .no_field = in_text},
                      &Preprocess::range));
  table.push_back(row({.name = "mean",
                       .help = "number subtracted from each channel, in units of the range",
                       .details = "one number, or one for each channel in their order",
                       .example = "0.485,0.456,0.406",
                       .flag = "--mean",
                       .metavar = "NUMBERS",
                       .no_field = in_text},
                      &Preprocess::mean));
  table.push_back(row({.name = "std",
                       .help = "divisor of each channel, after mean is subtracted",
                       .details = "one number, or one for each channel in their order",
                       .example = "0.229,0.224,0.225",
                       .flag = "--std",
                       .metavar = "NUMBERS",
                       .no_field = in_text},
                      &Preprocess::std));
  table.push_back(row<double, Preprocess>(
      {.name = "pad_value",
       .help = "gray value of a letterbox's padding, 0 to 255",
       .example = "114",
       .flag = "--pad",
       .no_field = in_text},
      [](const Preprocess& spec) { return static_cast<double>(spec.pad_value); },
      [](Preprocess& spec, double value) { spec.pad_value = static_cast<float>(value); }));
}

/// Sizes derived from the picture's.
void add_side_rows(Table& table) {
  const auto add = [&](const OptionInfo& info, std::int32_t Preprocess::*member) {
    table.push_back(row(info, member));
  };
  add({.name = "shorter_side",
       .help = "size of the shorter side before `fit` crop cuts out the centre, or of an image that keeps "
               "its aspect ratio",
       .unset = "none",
       .flag = "--shorter-side",
       .least = 1,
       .most = 65536,
       .no_field = in_text},
      &Preprocess::shorter_side);
  add({.name = "longer_side",
       .help = "maximum of the longer side of an image that keeps its aspect ratio",
       .unset = "any",
       .flag = "--longer-side",
       .least = 1,
       .most = 65536,
       .no_field = in_text},
      &Preprocess::longer_side);
  add({.name = "multiple",
       .help = "pad only to multiples of this, or round the sides of an image at its native size to such "
               "multiples",
       .flag = "--multiple",
       .least = 1,
       .most = 65536,
       .no_field = in_text},
      &Preprocess::multiple);
}

} // namespace

const OptionTable<Preprocess>& preprocess_option_table() {
  static const Table table = [] {
    Table made;
    for (const auto add : {add_value_rows, add_type_rows, add_geometry_rows, add_number_rows, add_side_rows})
      add(made);
    return made;
  }();
  return table;
}

} // namespace lanner
