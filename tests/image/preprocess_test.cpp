#include <lanner/preprocess.h>

#include <algorithm>
#include <cmath>

#include "comma_locale.h"
#include "expect_error.h"
#include "image/reference.h"

namespace lanner {
namespace {

using test::preprocessed;
using test::random_image;

double element(const Tensor& tensor, std::int64_t i) {
  switch (tensor.dtype()) {
  case DType::f32:
    return tensor.as<float>()[static_cast<std::size_t>(i)];
  case DType::u8:
    return tensor.as<std::uint8_t>()[static_cast<std::size_t>(i)];
  case DType::f16:
    return static_cast<float>(tensor.as<Half>()[static_cast<std::size_t>(i)]);
  default:
    return static_cast<float>(tensor.as<BFloat16>()[static_cast<std::size_t>(i)]);
  }
}

// Largest difference from the float64 reference, in units of 1/255 of the range.
double worst(const Image& image, const Preprocess& spec, const Tensor& tensor) {
  const Shape shape = output_shape(spec, image.width, image.height);
  const std::int64_t channels = spec.gray ? 1 : 3;
  const std::int64_t height = shape[spec.channels_last ? 0 : 1], width = shape[spec.channels_last ? 1 : 2];
  double most = 0;
  for (std::int64_t c = 0; c < channels; ++c)
    for (std::int64_t y = 0; y < height; ++y)
      for (std::int64_t x = 0; x < width; ++x) {
        const double got = element(tensor, spec.channels_last ? (y * width + x) * channels + c
                                                              : (c * height + y) * width + x);
        double want = preprocessed(image, spec, static_cast<int>(c), x, y);
        if (spec.dtype == DType::u8) want = std::clamp(want, 0.0, 255.0);
        const double unit =
            std::abs(spec.range[1] - spec.range[0]) / 255 / spec.std[static_cast<std::size_t>(c)];
        most = std::max(most, std::abs(got - want) / unit);
      }
  return most;
}

const std::vector<PixelFormat> all_formats = [] {
  std::vector<PixelFormat> formats;
  for (int i = 0; i < pixel_format_count; ++i) formats.push_back(static_cast<PixelFormat>(i));
  return formats;
}();

TEST(Preprocess, EveryFormatFollowsTheFormula) {
  for (const PixelFormat format : all_formats) {
    const Image image = random_image(format, 37, 23, 1);
    Preprocess spec = Preprocess::preset("imagenet");
    spec.width = 16;
    spec.height = 29;
    EXPECT_LT(worst(image, spec, to_tensor(image, spec)), 0.01) << to_string(format);
  }
}

TEST(Preprocess, EveryResizeAndFit) {
  for (const PixelFormat format : {PixelFormat::yuv420p, PixelFormat::nv12, PixelFormat::rgb24})
    for (const Resize resize : {Resize::nearest, Resize::bilinear, Resize::bicubic, Resize::area,
                                Resize::antialias, Resize::antialias_cubic, Resize::antialias_lanczos})
      for (const Fit fit : {Fit::stretch, Fit::letterbox, Fit::crop, Fit::corner})
        for (const auto& [width, height] : {std::pair{50, 31}, {9, 12}, {33, 47}}) {
          const Image image = random_image(format, 33, 47, 2);
          Preprocess spec;
          spec.width = width;
          spec.height = height;
          spec.resize = resize;
          spec.fit = fit;
          spec.pad_value = 114;
          EXPECT_LT(worst(image, spec, to_tensor(image, spec)), 0.02)
              << to_string(format) << " resize " << static_cast<int>(resize) << " fit "
              << static_cast<int>(fit) << " to " << width << "x" << height;
        }
}

// Every output whose centre is on the edge of two pixels shows the second one, whatever rounding does to the
// position: also rotated, and in both coordinate directions.
TEST(Preprocess, NearestOnAnEdgeTakesTheSecondPixel) {
  const Image image = Image::from_tensor(Tensor::allocate(DType::u8, {256, 256, 3}), PixelFormat::rgb24);
  for (std::int32_t y = 0; y < 256; ++y)
    for (std::int32_t x = 0; x < 256; ++x) {
      std::byte* pixel = image.planes[0].data + y * image.planes[0].pitch + std::int64_t{x} * 3;
      pixel[0] = static_cast<std::byte>(x), pixel[1] = static_cast<std::byte>(y), pixel[2] = {};
    }
  for (const std::int32_t size : {224, 96, 160, 48, 7, 192})
    for (int turns = 0; turns < 4; ++turns) {
      Preprocess spec;
      spec.width = spec.height = size;
      spec.resize = Resize::nearest;
      spec.quarter_turns = turns;
      spec.dtype = DType::u8;
      spec.channels_last = true;
      const Tensor tensor = to_tensor(image, spec);
      const auto found = tensor.as<std::uint8_t>();
      for (std::int32_t i = 0; i < size; ++i) {
        const std::int32_t second = (2 * i + 1) * 256 / (2 * size); // Exact.
        const std::size_t across = static_cast<std::size_t>(i) * 3,
                          down = static_cast<std::size_t>(i) * static_cast<std::size_t>(size) * 3;
        const int column = turns % 2 ? found[across + 1] : found[across],
                  row = turns % 2 ? found[down] : found[down + 1];
        EXPECT_EQ(column, turns == 1 || turns == 2 ? 255 - second : second)
            << size << " " << turns << " " << i;
        EXPECT_EQ(row, turns >= 2 ? 255 - second : second) << size << " " << turns << " " << i;
      }
    }
}

TEST(Preprocess, EveryColourDescription) {
  for (const ColorMatrix matrix : {ColorMatrix::unspecified, ColorMatrix::bt601, ColorMatrix::bt709,
                                   ColorMatrix::bt2020, ColorMatrix::fcc, ColorMatrix::smpte240m})
    for (const ColorRange range : {ColorRange::unspecified, ColorRange::limited, ColorRange::full})
      for (const ChromaSiting siting :
           {ChromaSiting::unspecified, ChromaSiting::left, ChromaSiting::center, ChromaSiting::top_left,
            ChromaSiting::top, ChromaSiting::bottom_left, ChromaSiting::bottom}) {
        Image image = random_image(PixelFormat::yuv420p10, 21, 18, 3);
        image.color = {matrix, range, siting};
        Preprocess spec;
        spec.width = 17;
        spec.height = 25;
        EXPECT_LT(worst(image, spec, to_tensor(image, spec)), 0.01)
            << to_string(matrix) << " " << to_string(range) << " " << to_string(siting);
      }
}

TEST(Preprocess, EveryTypeLayoutAndOrder) {
  const Image image = random_image(PixelFormat::nv12, 40, 30, 4);
  for (const DType dtype : {DType::f32, DType::u8, DType::f16, DType::bf16})
    for (const bool last : {false, true})
      for (const bool bgr : {false, true})
        for (const bool gray : {false, true}) {
          Preprocess spec;
          spec.width = 24;
          spec.height = 20;
          spec.dtype = dtype;
          spec.channels_last = last;
          spec.bgr = bgr;
          spec.gray = gray;
          spec.fit = Fit::letterbox;
          if (dtype != DType::u8)
            spec.range = {0, 1}, spec.mean = {0.1f, 0.2f, 0.3f}, spec.std = {0.5f, 0.6f, 0.7f};
          const double bound = dtype == DType::f32 ? 0.01 : dtype == DType::bf16 ? 1.0 : 0.51;
          EXPECT_LE(worst(image, spec, to_tensor(image, spec)), bound)
              << to_string(dtype) << last << bgr << gray;
        }
}

TEST(Preprocess, ThreadsGiveTheSameBytes) {
  const Image image = random_image(PixelFormat::yuv420p, 200, 150, 5);
  Preprocess spec = Preprocess::preset("imagenet-tf");
  spec.width = 64;
  spec.height = 96;
  spec.channels_last = true;
  const Tensor one = to_tensor(image, spec, {1, {}});
  for (const int threads : {2, 3, 6}) {
    const Tensor many = to_tensor(image, spec, {threads, {}});
    EXPECT_TRUE(std::equal(one.as<float>().begin(), one.as<float>().end(), many.as<float>().begin()))
        << threads;
  }
}

TEST(Preprocess, FillsOnlyItsBatchElement) {
  const Image image = random_image(PixelFormat::rgb24, 8, 8, 6);
  const Preprocess spec;
  Tensor batch = Tensor::zeros(DType::f32, {3, 3, 8, 8});
  preprocess(image, spec, batch, 1);
  const Tensor alone = to_tensor(image, spec);
  const auto all = batch.as<float>();
  EXPECT_TRUE(std::all_of(all.begin(), all.begin() + 192, [](float v) { return v == 0; }));
  EXPECT_TRUE(std::equal(all.begin() + 192, all.begin() + 384, alone.as<float>().begin()));
  EXPECT_TRUE(std::all_of(all.begin() + 384, all.end(), [](float v) { return v == 0; }));
}

TEST(Preprocess, Presets) {
  const Preprocess caffe = Preprocess::preset("caffe");
  Image image = Image::allocate(PixelFormat::rgb24, 1, 1);
  image.planes[0].data[0] = std::byte{10};
  image.planes[0].data[1] = std::byte{20};
  image.planes[0].data[2] = std::byte{30};
  const Tensor blue_first = to_tensor(image, caffe);
  EXPECT_FLOAT_EQ(blue_first.as<float>()[0], 30 - 104);
  EXPECT_FLOAT_EQ(blue_first.as<float>()[1], 20 - 117);
  EXPECT_FLOAT_EQ(blue_first.as<float>()[2], 10 - 123);
  const Tensor signed_values = to_tensor(image, Preprocess::preset("imagenet-tf"));
  EXPECT_NEAR(signed_values.as<float>()[0], 10 / 127.5 - 1, 1e-6);
  const Tensor imagenet = to_tensor(image, Preprocess::preset("imagenet"));
  EXPECT_NEAR(imagenet.as<float>()[2], (30 / 255.0 - 0.406) / 0.225, 1e-5);
  LANNER_EXPECT_ERROR(Preprocess::preset("nosuch"), ErrorCode::invalid_argument, "imagenet");
}

TEST(Preprocess, PlacementMapsBack) {
  Preprocess spec;
  spec.width = spec.height = 100;
  spec.fit = Fit::letterbox;
  const Placement wide = placement(spec, 200, 100);
  EXPECT_DOUBLE_EQ(wide.xx, 0.5);
  EXPECT_DOUBLE_EQ(wide.yy, 0.5);
  EXPECT_DOUBLE_EQ(wide.x, 0);
  EXPECT_DOUBLE_EQ(wide.y, 25);
  spec.fit = Fit::crop;
  const Placement cut = placement(spec, 200, 100);
  EXPECT_DOUBLE_EQ(cut.xx, 1);
  EXPECT_DOUBLE_EQ(cut.x, -50);
}

TEST(Preprocess, PlacementIncludesRegionAndRotation) {
  Preprocess spec;
  spec.region = {10, 20, 60, 40};
  // Where the region's top left and bottom right corners are mapped to, clockwise.
  const std::array<double, 4> corners[] = {{0, 0, 60, 40}, {40, 0, 0, 60}, {60, 40, 0, 0}, {0, 60, 40, 0}};
  for (int turns = -4; turns < 8; ++turns) {
    spec.quarter_turns = turns;
    const Placement place = placement(spec, 200, 100);
    const auto& want = corners[static_cast<std::size_t>((turns + 8) % 4)];
    EXPECT_EQ(place.to_target(10, 20), (std::array<double, 2>{want[0], want[1]})) << turns;
    EXPECT_EQ(place.to_target(70, 60), (std::array<double, 2>{want[2], want[3]})) << turns;
    const auto there = place.to_target(33, 44), back = place.to_source(there[0], there[1]);
    EXPECT_DOUBLE_EQ(back[0], 33);
    EXPECT_DOUBLE_EQ(back[1], 44);
  }
}

TEST(Preprocess, RegionAndRotationOfEveryFormat) {
  // Corners both even and odd, and a border that is the region's, not the picture's.
  const PixelRect regions[] = {{0, 0, 0, 0}, {5, 3, 21, 14}, {4, 7, 30, 16}, {36, 22, 1, 1}};
  unsigned turn = 0;
  for (const PixelFormat format : all_formats) {
    Image image = random_image(format, 37, 23, 12);
    image.color.siting = turn % 3 == 0 ? ChromaSiting::top_left : ChromaSiting::unspecified;
    for (const PixelRect& region : regions) {
      Preprocess spec = Preprocess::preset("imagenet");
      spec.width = 17, spec.height = 12;
      spec.region = region;
      spec.quarter_turns = static_cast<int>(turn++ % 4);
      EXPECT_LT(worst(image, spec, to_tensor(image, spec)), 0.01)
          << to_string(format) << " " << spec.to_json();
    }
  }
}

TEST(Preprocess, RegionAndRotationOfEveryResizeFitTypeAndLayout) {
  constexpr DType types[] = {DType::f32, DType::u8, DType::f16, DType::bf16};
  std::size_t run = 0;
  for (const Resize resize : {Resize::nearest, Resize::bilinear, Resize::bicubic, Resize::area,
                              Resize::antialias, Resize::antialias_cubic, Resize::antialias_lanczos})
    for (const Fit fit : {Fit::stretch, Fit::letterbox, Fit::crop, Fit::corner})
      for (int turns = -1; turns < 3; ++turns)
        for (const auto& [width, height] : {std::pair{50, 31}, {9, 12}}) {
          const Image image = random_image(run % 2 ? PixelFormat::nv12 : PixelFormat::yuv422p10, 45, 39, 13);
          Preprocess spec;
          spec.width = width, spec.height = height;
          spec.region = {7, 5, 33, 31};
          spec.quarter_turns = turns;
          spec.resize = resize;
          spec.fit = fit;
          spec.pad_value = 99;
          spec.dtype = types[run % 4];
          spec.channels_last = run % 3 == 0;
          spec.bgr = run % 5 == 0;
          spec.gray = run % 7 == 0;
          ++run;
          const double bound = spec.dtype == DType::f32 ? 0.02 : spec.dtype == DType::bf16 ? 1.0 : 0.53;
          EXPECT_LE(worst(image, spec, to_tensor(image, spec)), bound) << spec.to_json();
        }
}

TEST(Preprocess, SmallTargetsOfEveryFormat) {
  for (const PixelFormat format : all_formats)
    for (const std::int32_t width : {4, 5, 41, 64})
      for (const bool gray : {false, true}) {
        const Image image = random_image(format, width, 19, 15);
        Preprocess spec;
        spec.width = width > 5 ? 6 : 1, spec.height = 5;
        spec.gray = gray;
        spec.region = {1, 2, width - 1, 17};
        EXPECT_LT(worst(image, spec, to_tensor(image, spec)), 0.01) << to_string(format) << width;
      }
}

TEST(Preprocess, RegionOfTheWholePictureEqualsNoRegion) {
  const Image image = random_image(PixelFormat::nv12, 33, 21, 14);
  Preprocess spec;
  const Tensor none = to_tensor(image, spec);
  spec.region = {0, 0, 33, 21};
  spec.quarter_turns = 4;
  const Tensor whole = to_tensor(image, spec);
  EXPECT_TRUE(std::ranges::equal(none.as<float>(), whole.as<float>()));
}

TEST(Preprocess, RegionOutsideThePictureIsRefused) {
  const Image image = random_image(PixelFormat::nv12, 33, 21, 14);
  for (const PixelRect& region :
       {PixelRect{0, 0, 34, 21}, PixelRect{30, 0, 4, 4}, PixelRect{-1, 0, 4, 4}, PixelRect{0, 0, 4, 0},
        PixelRect{3, 0, 0, 0}, PixelRect{INT32_MAX, 0, INT32_MAX, 1}}) {
    Preprocess spec;
    spec.region = region;
    LANNER_EXPECT_ERROR(to_tensor(image, spec), ErrorCode::invalid_argument, "within the picture of 33x21");
    LANNER_EXPECT_ERROR(placement(spec, 33, 21), ErrorCode::invalid_argument, "region");
  }
}

TEST(Preprocess, JsonRoundTrip) {
  Preprocess spec = Preprocess::preset("imagenet");
  spec.width = 640;
  spec.height = 384;
  spec.dtype = DType::bf16;
  spec.resize = Resize::antialias;
  spec.fit = Fit::letterbox;
  spec.bgr = spec.channels_last = true;
  spec.pad_value = 114;
  spec.region = {1, 2, 30, 40};
  spec.quarter_turns = -1;
  EXPECT_EQ(Preprocess::from_json(spec.to_json()), spec);
  EXPECT_NE(spec.to_json().find("0.485,0.456,0.406"), std::string::npos) << spec.to_json();
  EXPECT_EQ(Preprocess::from_json("{}"), Preprocess());
  const auto refuse = [](const char* text, const char* reason) {
    LANNER_EXPECT_ERROR(Preprocess::from_json(text), ErrorCode::bad_data, reason);
  };
  refuse("[]", "expected a JSON object");
  refuse("{\"size\": 3}", "unknown field 'size'");
  refuse("{\"width\": -1}", "width is -1");
  refuse("{\"width\": 1e9}", "width");
  refuse("{\"resize\": \"lanczos\"}", "bilinear");
  refuse("{\"mean\": [1, 2]}", "mean");
  refuse("{\"region\": [1, 2, 3]}", "[x, y, width, height]");
  refuse("{\"region\": [1, 2, 3, -4]}", "0 or more");
  refuse("{\"region\": [1, 2, 3, 4e10]}", "0 or more");
  refuse("{\"quarter_turns\": 0.5}", "a whole number");
  refuse("{\"channels\": 1}", "channels is 1");
  refuse("{\"layout\": \"chwn\"}", "nchw, nhwc");
  refuse("{\"width\": 3", "");
  LANNER_EXPECT_ERROR(Preprocess::from_json("{\"dtype\": \"complex\"}"), ErrorCode::bad_data, "dtype");
  refuse("{\"preset\": \"resnet\"}", "imagenet-tf");
  refuse("{\"preset\": 3}", "preset is 3");
}

TEST(Preprocess, JsonDoesNotDependOnTheLocale) {
  const Preprocess spec = Preprocess::preset("imagenet");
  const std::string text = spec.to_json();
  LANNER_WITH_DECIMAL_COMMA();
  EXPECT_EQ(spec.to_json(), text);
  EXPECT_EQ(Preprocess::from_json(text), spec);
}

TEST(Preprocess, JsonFieldsOverrideAPreset) {
  Preprocess expected = Preprocess::preset("caffe");
  expected.width = 224;
  EXPECT_EQ(Preprocess::from_json("{\"width\": 224, \"preset\": \"caffe\"}"), expected);
  expected.bgr = false;
  EXPECT_EQ(Preprocess::from_json("{\"width\": 224, \"preset\": \"caffe\", \"channels\": \"rgb\"}"),
            expected);
}

TEST(Preprocess, MismatchedTensorsAreRefused) {
  const Image image = random_image(PixelFormat::rgb24, 8, 8, 7);
  Preprocess spec;
  Tensor wrong = Tensor::zeros(DType::f32, {1, 3, 8, 9});
  LANNER_EXPECT_ERROR(preprocess(image, spec, wrong), ErrorCode::invalid_argument, "[3, 8, 8]");
  Tensor right = Tensor::zeros(DType::f32, {1, 3, 8, 8});
  LANNER_EXPECT_ERROR(preprocess(image, spec, right, 1), ErrorCode::invalid_argument, "batch index 1");
  spec.dtype = DType::i32;
  LANNER_EXPECT_ERROR(preprocess(image, spec, right), ErrorCode::invalid_argument, "i32");
  spec.dtype = DType::f32;
  spec.std[1] = 0;
  LANNER_EXPECT_ERROR(preprocess(image, spec, right), ErrorCode::invalid_argument, "std[1]");
  LANNER_EXPECT_ERROR(to_tensor(Image(), Preprocess()), ErrorCode::invalid_argument, "no image");
}

} // namespace
} // namespace lanner
