#include <lanner/image.h>

#include <lanner/preprocess.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "expect_error.h"
#include "image/color.h"
#include "image/orientation.h"
#include "image/planes.h"
#include "image/reference.h"
#include "image/row_kernels.h"

namespace lanner {
namespace {

using test::random_image;
using test::rgb_at;
using test::sample_at;

template<typename Chosen>
std::vector<PixelFormat> formats_that(Chosen&& chosen) {
  std::vector<PixelFormat> formats;
  for (int i = 0; i < pixel_format_count; ++i)
    if (const auto format = static_cast<PixelFormat>(i); chosen(format_info(format)))
      formats.push_back(format);
  return formats;
}

const std::vector<PixelFormat> yuv_formats =
    formats_that([](const PixelFormatInfo& facts) { return facts.yuv; });
const std::vector<PixelFormat> rgb_formats =
    formats_that([](const PixelFormatInfo& facts) { return !facts.yuv && !facts.gray(); });
const std::vector<PixelFormat> alpha_formats =
    formats_that([](const PixelFormatInfo& facts) { return facts.has_alpha(); });

// Whether `got` is the code that `exact` rounds to; exactly between two codes both are allowed.
bool rounds_to(double got, double exact, double top) {
  exact = std::clamp(exact, 0.0, top);
  return std::abs(got - exact) <= 0.5 + top * 2e-6;
}

void expect_exact_rgb(const Image& source) {
  constexpr std::int32_t width = 23, height = 17;
  std::vector<std::array<double, 3>> exact;
  for (std::int32_t y = 0; y < height; ++y)
    for (std::int32_t x = 0; x < width; ++x) exact.push_back(rgb_at(source, x, y));
  for (const PixelFormat to : rgb_formats) {
    Image target = Image::allocate(to, width, height);
    convert_image(source, target);
    const double top = std::pow(2, format_info(to).bits) - 1;
    for (std::int32_t y = 0; y < height; ++y)
      for (std::int32_t x = 0; x < width; ++x)
        for (int c = 0; c < 3; ++c) {
          const double want =
              exact[static_cast<std::size_t>(y * width + x)][static_cast<std::size_t>(c)] * top;
          ASSERT_TRUE(rounds_to(sample_at(target, c, x, y), want, top))
              << to_string(source.format) << " to " << to_string(to) << " at " << x << "," << y
              << " component " << c << ": got " << sample_at(target, c, x, y) << ", expected " << want;
        }
  }
}

TEST(Convert, EveryYuvToEveryRgb) {
  for (const PixelFormat from : yuv_formats) expect_exact_rgb(random_image(from, 23, 17, 1));
}

TEST(Convert, QuarterChromaOfEverySiting) {
  for (const PixelFormat from : {PixelFormat::yuv410p, PixelFormat::yuv411p, PixelFormat::yuv440p})
    for (const ChromaSiting siting : {ChromaSiting::center, ChromaSiting::top_left, ChromaSiting::top,
                                      ChromaSiting::bottom_left, ChromaSiting::bottom}) {
      Image source = random_image(from, 23, 17, 1);
      source.color.siting = siting;
      expect_exact_rgb(source);
    }
}

// A ramp: each chroma sample must be the value at its own position, away from the border.
TEST(Convert, QuarterChromaIsSampledAtItsSiting) {
  Image source = Image::allocate(PixelFormat::yuv444p, 48, 48);
  source.color = {ColorMatrix::bt709, ColorRange::full};
  for (int p = 0; p < 3; ++p)
    for (std::int32_t y = 0; y < 48; ++y)
      for (std::int32_t x = 0; x < 48; ++x)
        source.planes[p].data[y * source.planes[p].pitch + x] = static_cast<std::byte>(3 * x + 2 * y);
  for (const ChromaSiting siting : {ChromaSiting::left, ChromaSiting::center, ChromaSiting::top_left,
                                    ChromaSiting::top, ChromaSiting::bottom_left, ChromaSiting::bottom})
    for (const PixelFormat format : {PixelFormat::yuv410p, PixelFormat::yuv411p, PixelFormat::yuv440p}) {
      Image target = Image::allocate(format, 48, 48);
      target.color = {ColorMatrix::bt709, ColorRange::full, siting};
      convert_image(source, target);
      const PixelFormatInfo& facts = format_info(format);
      const ChromaOffset offset = chroma_offset(format, siting);
      for (std::int32_t y = 1; y < 11; ++y)
        for (std::int32_t x = 1; x < 11; ++x)
          ASSERT_NEAR(sample_at(target, 2, x, y),
                      3 * ((x << facts.chroma_x) + offset.x) + 2 * ((y << facts.chroma_y) + offset.y), 0.51)
              << to_string(format) << " " << to_string(siting);
    }
}

// Luma needs no neighbours, so it is exact; chroma is checked on pictures of one colour and by the round
// trip.
TEST(Convert, EveryRgbToEveryYuv) {
  for (const PixelFormat from : rgb_formats)
    for (const PixelFormat to : yuv_formats) {
      const Image source = random_image(from, 22, 16, 2);
      Image target = Image::allocate(to, 22, 16);
      convert_image(source, target);
      const double unit = std::pow(2, format_info(to).bits - 8), top = 256 * unit - 1;
      for (std::int32_t y = 0; y < 16; ++y)
        for (std::int32_t x = 0; x < 22; ++x) {
          const auto rgb = rgb_at(source, x, y);
          const double luma = 0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2];
          ASSERT_TRUE(rounds_to(sample_at(target, 0, x, y), (16 + 219 * luma) * unit, top))
              << to_string(from) << " to " << to_string(to);
        }
    }
}

TEST(Convert, ChromaIsSampledAtItsSiting) {
  // A horizontal ramp: each chroma sample must be the value at its own position, away from the border.
  for (const ChromaSiting siting : {ChromaSiting::left, ChromaSiting::center, ChromaSiting::top_left,
                                    ChromaSiting::top, ChromaSiting::bottom_left, ChromaSiting::bottom})
    for (const bool across : {true, false}) {
      Image source = Image::allocate(PixelFormat::yuv444p16, 32, 32);
      source.color = {ColorMatrix::bt709, ColorRange::full};
      for (int p = 0; p < 3; ++p)
        for (std::int32_t y = 0; y < 32; ++y)
          for (std::int32_t x = 0; x < 32; ++x)
            reinterpret_cast<std::uint16_t*>(source.planes[p].data + y * source.planes[p].pitch)[x] =
                static_cast<std::uint16_t>(1000 * (across ? x : y));
      Image target = Image::allocate(PixelFormat::yuv420p16, 32, 32);
      target.color = {ColorMatrix::bt709, ColorRange::full, siting};
      convert_image(source, target);
      const ChromaOffset offset = chroma_offset(PixelFormat::yuv420p16, siting);
      for (std::int32_t i = 1; i < 15; ++i) {
        const double place = 2 * i + (across ? offset.x : offset.y);
        ASSERT_NEAR(sample_at(target, 1, across ? i : 7, across ? 7 : i), 1000 * place, 1)
            << to_string(siting) << " across " << across;
      }
    }
}

TEST(Convert, OneColourSurvivesTheRoundTrip) {
  for (const PixelFormat format : yuv_formats)
    for (const ColorRange range : {ColorRange::limited, ColorRange::full})
      for (const ColorMatrix matrix :
           {ColorMatrix::bt601, ColorMatrix::bt709, ColorMatrix::bt2020, ColorMatrix::ycgco}) {
        Image source = Image::allocate(PixelFormat::rgb24, 5, 7);
        for (std::int32_t y = 0; y < 7; ++y)
          for (std::int32_t x = 0; x < 5; ++x)
            for (int c = 0; c < 3; ++c)
              source.planes[0].data[y * source.planes[0].pitch + 3 * x + c] =
                  static_cast<std::byte>(200 - 70 * c);
        Image middle = Image::allocate(format, 5, 7);
        middle.color = {matrix, range};
        convert_image(source, middle);
        Image back = Image::allocate(PixelFormat::rgb24, 5, 7);
        convert_image(middle, back);
        for (int c = 0; c < 3; ++c)
          ASSERT_NEAR(sample_at(back, c, 3, 4), 200 - 70 * c, 2) << to_string(format);
      }
}

TEST(Convert, ChangingOnlyTheStorageIsLossless) {
  const std::pair<PixelFormat, PixelFormat> pairs[] = {
      {PixelFormat::yuv420p, PixelFormat::nv12},   {PixelFormat::yuv422p, PixelFormat::nv16},
      {PixelFormat::yuv420p10, PixelFormat::p010}, {PixelFormat::yuv422p10, PixelFormat::p210},
      {PixelFormat::yuv420p16, PixelFormat::p016}, {PixelFormat::yuv420p, PixelFormat::p010},
      {PixelFormat::nv12, PixelFormat::yuv420p16}};
  for (const auto& [a, b] : pairs) {
    const Image source = random_image(a, 19, 13, 3);
    Image middle = Image::allocate(b, 19, 13), back = Image::allocate(a, 19, 13);
    convert_image(source, middle);
    convert_image(middle, back);
    for (int c = 0; c < 3; ++c)
      for (std::int32_t y = 0; y < source.planes[c ? 1 : 0].height; ++y)
        for (std::int32_t x = 0; x < source.planes[c ? 1 : 0].width; ++x) {
          ASSERT_EQ(sample_at(back, c, x, y), sample_at(source, c, x, y))
              << to_string(a) << " " << to_string(b);
          ASSERT_TRUE(format_info(a).bits != format_info(b).bits ||
                      sample_at(middle, c, x, y) == sample_at(source, c, x, y));
        }
  }
}

TEST(Convert, GrayBothWays) {
  const Image rgb = random_image(PixelFormat::rgb24, 9, 9, 4);
  Image gray = Image::allocate(PixelFormat::gray8, 9, 9);
  convert_image(rgb, gray);
  const auto pixel = rgb_at(rgb, 4, 5);
  EXPECT_TRUE(rounds_to(sample_at(gray, 0, 4, 5),
                        255 * (0.299 * pixel[0] + 0.587 * pixel[1] + 0.114 * pixel[2]), 255));
  Image back = Image::allocate(PixelFormat::bgra32, 9, 9);
  convert_image(gray, back);
  for (int c = 0; c < 3; ++c) EXPECT_EQ(sample_at(back, c, 4, 5), sample_at(gray, 0, 4, 5));
  EXPECT_EQ(std::to_integer<int>(back.planes[0].data[3]), 255);
  Image yuv = Image::allocate(PixelFormat::yuv420p, 9, 9);
  convert_image(gray, yuv);
  EXPECT_EQ(sample_at(yuv, 1, 2, 2), 128);
}

TEST(Convert, SmallestSizes) {
  for (const PixelFormat format : yuv_formats)
    for (const auto& [width, height] : {std::pair{1, 1}, {2, 1}, {1, 2}, {3, 3}}) {
      const Image source = random_image(PixelFormat::rgb24, width, height, 5);
      Image middle = Image::allocate(format, width, height),
            back = Image::allocate(PixelFormat::rgb24, width, height);
      for (const ChromaSiting siting :
           {ChromaSiting::left, ChromaSiting::center, ChromaSiting::top_left, ChromaSiting::bottom}) {
        middle.color.siting = siting;
        convert_image(source, middle);
        convert_image(middle, back);
        EXPECT_TRUE(rounds_to(sample_at(back, 0, 0, 0), 255 * rgb_at(middle, 0, 0)[0], 255));
      }
    }
}

TEST(Convert, MismatchedImagesAreRefused) {
  const Image a = random_image(PixelFormat::rgb24, 4, 4, 6);
  Image b = Image::allocate(PixelFormat::yuv420p, 4, 5);
  LANNER_EXPECT_ERROR(convert_image(a, b), ErrorCode::invalid_argument, "4x4 into 4x5");
  LANNER_EXPECT_ERROR(copy_image(a, b), ErrorCode::invalid_argument, "rgb24 4x4 into yuv420p 4x5");
  Image none;
  LANNER_EXPECT_ERROR(convert_image(a, none), ErrorCode::invalid_argument, "");
}

namespace {

std::byte alpha_at(const Image& image, std::int64_t x, std::int64_t y) {
  return image.planes[0].data[y * image.planes[0].pitch + 4 * x + 3];
}

} // namespace

TEST(Convert, AlphaIsKept) {
  const Image image = random_image(PixelFormat::bgra32, 23, 7, 4);
  Image other = Image::allocate(PixelFormat::rgba32, 23, 7);
  convert_image(image, other);
  for (std::int64_t x = 0; x < 23; ++x) ASSERT_EQ(alpha_at(other, x, 5), alpha_at(image, x, 5));
  Image opaque = Image::allocate(PixelFormat::rgb24, 23, 7);
  convert_image(image, opaque);
  convert_image(opaque, other);
  EXPECT_EQ(alpha_at(other, 3, 5), std::byte{255});
}

namespace {

unsigned opacity_at(const Image& image, std::int64_t x, std::int64_t y) {
  const Alpha alpha = alpha_of(image);
  const std::byte* row = alpha.plane.data + y * alpha.plane.pitch;
  return alpha.bytes == 1 ? static_cast<unsigned>(row[x * alpha.step])
                          : reinterpret_cast<const std::uint16_t*>(row)[x * alpha.step];
}

} // namespace

TEST(Convert, EveryAlphaToEveryAlpha) {
  for (const PixelFormat from : alpha_formats)
    for (const PixelFormat to : alpha_formats) {
      const Image source = random_image(from, 13, 7, 5);
      Image target = Image::allocate(to, 13, 7);
      convert_image(source, target);
      const double top_from = alpha_of(source).top, top_to = alpha_of(target).top;
      for (std::int64_t y = 0; y < 7; ++y)
        for (std::int64_t x = 0; x < 13; ++x)
          ASSERT_NEAR(opacity_at(target, x, y), opacity_at(source, x, y) * top_to / top_from, 0.5 + 1e-9)
              << to_string(from) << " to " << to_string(to);
    }
}

TEST(Convert, WithoutAlphaIsOpaque) {
  const Image source = random_image(PixelFormat::yuv420p, 13, 7, 5);
  for (const PixelFormat to : alpha_formats) {
    Image target = Image::allocate(to, 13, 7);
    convert_image(source, target);
    EXPECT_EQ(opacity_at(target, 12, 6), alpha_of(target).top) << to_string(to);
  }
}

TEST(Convert, ATargetWithoutItsAlphaPlane) {
  const Image source = random_image(PixelFormat::yuv420p, 12, 8, 5);
  Image target = Image::allocate(PixelFormat::yuva420p, 12, 8);
  target.alpha = {};
  LANNER_EXPECT_ERROR(convert_image(source, target), ErrorCode::invalid_argument, "plane of opacity");
}

TEST(ImageTest, RotationKeepsAlpha) {
  for (const PixelFormat format : alpha_formats) {
    const Image image = random_image(format, 13, 7, 5);
    const Image turned = lanner::rotated_image(image, 1, {}, true);
    EXPECT_EQ(format_info(turned.format).bits, format_info(format).bits);
    for (std::int64_t y = 0; y < 7; ++y) // Mirrored, then clockwise: x and y swap, both counted from the end.
      for (std::int64_t x = 0; x < 13; ++x)
        ASSERT_EQ(opacity_at(turned, 6 - y, 12 - x), opacity_at(image, x, y)) << to_string(format);
  }
}

namespace {

/// An image of one colour, full range.
Image of_codes(PixelFormat format, ColorMatrix matrix, std::array<std::uint16_t, 3> codes) {
  Image image = Image::allocate(format, 2, 2);
  image.color = {matrix, ColorRange::full};
  for (std::size_t p = 0; p < 3; ++p)
    for (std::int32_t y = 0; y < 2; ++y) {
      auto* row = reinterpret_cast<std::uint16_t*>(image.planes[p].data + y * image.planes[p].pitch);
      row[0] = row[1] = codes[p];
    }
  return image;
}

double from_linear(double light) { // BT.2020, Table 4.
  return light < 0.018053968510807 ? 4.5 * light
                                   : 1.09929682680944 * std::pow(light, 0.45) - 0.09929682680944;
}
double to_linear(double coded) {
  return coded < 4.5 * 0.018053968510807 ? coded / 4.5
                                         : std::pow((coded + 0.09929682680944) / 1.09929682680944, 1 / 0.45);
}

} // namespace

// H.273, MatrixCoefficients 8: Y is G/2 + (R + B)/4, Cg is G/2 - (R + B)/4, Co (R - B)/2 of the codes.
TEST(Convert, YCgCo) {
  Tensor pixels = Tensor::zeros(DType::u8, {1, 1, 3});
  for (const bool full : {true, false}) {
    for (const auto& [r, g, b] : {std::array{200, 100, 40}, {255, 0, 0}, {255, 255, 255}, {0, 30, 255}}) {
      const std::array<int, 3> given{r, g, b};
      std::array<double, 3> code{};
      for (std::size_t c = 0; c < 3; ++c) {
        pixels.as<std::uint8_t>()[c] = static_cast<std::uint8_t>(given[c]);
        code[c] = full ? given[c] : 16 + given[c] * 219 / 255.0;
      }
      Image target = Image::allocate(PixelFormat::yuv444p, 1, 1);
      target.color = {ColorMatrix::ycgco, full ? ColorRange::full : ColorRange::limited};
      convert_image(Image::from_tensor(pixels, PixelFormat::rgb24), target);
      const double half = (code[0] + code[2]) / 4;
      EXPECT_NEAR(sample_at(target, 0, 0, 0), code[1] / 2 + half, 0.501);
      EXPECT_NEAR(sample_at(target, 1, 0, 0), code[1] / 2 - half + 128, 0.501);
      EXPECT_NEAR(sample_at(target, 2, 0, 0), std::min(255.0, (code[0] - code[2]) / 2 + 128), 0.501);
    }
  }
}

TEST(Convert, ConstantLuminance) {
  for (const auto& rgb : {std::array{0.6, 0.3, 0.8}, {0.9, 0.7, 0.05}, {0.5, 0.5, 0.5}, {0.02, 0.4, 0.1}}) {
    const double y =
        from_linear(0.2627 * to_linear(rgb[0]) + 0.6780 * to_linear(rgb[1]) + 0.0593 * to_linear(rgb[2]));
    const double blue = rgb[2] - y, red = rgb[0] - y;
    const double cb = blue / (blue < 0 ? 1.9404 : 1.5816), cr = red / (red < 0 ? 1.7184 : 0.9936);
    const auto code = [](double value) { return static_cast<std::uint16_t>(std::lround(value)); };
    const Image source = of_codes(PixelFormat::yuv444p16, ColorMatrix::bt2020c,
                                  {code(65535 * y), code(65535 * cb + 32768), code(65535 * cr + 32768)});
    Image words = Image::allocate(PixelFormat::rgb48, 2, 2),
          bytes = Image::allocate(PixelFormat::rgb24, 2, 2);
    convert_image(source, words);
    convert_image(source, bytes);
    Preprocess spec;
    spec.channels_last = true;
    const Tensor tensor = to_tensor(source, spec);
    for (int c = 0; c < 3; ++c) {
      const double want = rgb[static_cast<std::size_t>(c)];
      EXPECT_NEAR(sample_at(words, c, 1, 1), 65535 * want, 12) << c;
      EXPECT_NEAR(sample_at(bytes, c, 1, 1), 255 * want, 0.6) << c;
      EXPECT_NEAR(tensor.as<float>()[static_cast<std::size_t>(c)], 255 * want, 0.05) << c;
    }
    Image again = Image::allocate(PixelFormat::yuv444p16, 2, 2);
    again.color = source.color;
    LANNER_EXPECT_ERROR(convert_image(words, again), ErrorCode::unsupported, "constant luminance");
    Image planes = Image::allocate(PixelFormat::yuv444p10, 2, 2);
    planes.color = source.color;
    EXPECT_NO_THROW(convert_image(source, planes)); // Depth alone.
  }
}

// Threads share only rows.
TEST(Convert, ThreadsGiveTheSameBytes) {
  const std::pair<PixelFormat, PixelFormat> pairs[] = {
      {PixelFormat::yuv420p, PixelFormat::rgb24}, {PixelFormat::p010, PixelFormat::rgb48},
      {PixelFormat::rgb24, PixelFormat::nv12},    {PixelFormat::rgb24, PixelFormat::yuv420p10},
      {PixelFormat::nv12, PixelFormat::yuv420p},  {PixelFormat::yuv444p, PixelFormat::nv12}};
  for (const auto& [from, to] : pairs)
    for (const ChromaSiting siting : {ChromaSiting::left, ChromaSiting::top_left}) {
      Image source = random_image(from, 75, 83, 15);
      source.color.siting = siting;
      Image one = Image::allocate(to, 75, 83), many = Image::allocate(to, 75, 83);
      one.color.siting = many.color.siting = siting;
      convert_image(source, one);
      for (const int threads : {2, 3, 8}) {
        convert_image(source, many, {}, threads);
        for (int c = 0; c < 3; ++c)
          for (std::int32_t y = 0; y < one.planes[c && format_info(to).yuv ? 1 : 0].height; ++y)
            for (std::int32_t x = 0; x < one.planes[c && format_info(to).yuv ? 1 : 0].width; ++x)
              ASSERT_EQ(sample_at(many, c, x, y), sample_at(one, c, x, y))
                  << to_string(from) << " to " << to_string(to) << " by " << threads;
      }
    }
}

TEST(Convert, PixelsEqualPlanes) {
  for (const PixelFormat from : {PixelFormat::nv12, PixelFormat::yuv420p, PixelFormat::yuv422p,
                                 PixelFormat::yuv444p, PixelFormat::yuv420p10, PixelFormat::p010})
    for (const std::int32_t width : {1, 31, 33, 64, 67, 131, 257}) {
      const Image source = random_image(from, width, 5, 3);
      Image planes = Image::allocate(PixelFormat::rgb_planar, width, 5);
      convert_image(source, planes);
      for (const PixelFormat to : {PixelFormat::rgb24, PixelFormat::bgr24}) {
        Image pixels = Image::allocate(to, width, 5);
        convert_image(source, pixels);
        for (int c = 0; c < 3; ++c)
          for (int at = 0; at < 5 * width; ++at)
            ASSERT_EQ(sample_at(pixels, c, at % width, at / width),
                      sample_at(planes, c, at % width, at / width))
                << to_string(from) << " to " << to_string(to) << " of " << width;
      }
    }
}

// The integer path against the float path, which the tests above compare with the reference.
TEST(Convert, IntegerAndFloatPathsAgreeOnChroma) {
  for (const PixelFormat from : {PixelFormat::rgb24, PixelFormat::bgra32, PixelFormat::rgb_planar})
    for (const PixelFormat to :
         {PixelFormat::nv12, PixelFormat::yuv420p, PixelFormat::nv16, PixelFormat::yuv444p})
      for (const ChromaSiting siting : {ChromaSiting::left, ChromaSiting::center, ChromaSiting::top_left,
                                        ChromaSiting::bottom, ChromaSiting::bottom_left}) {
        const Image source = random_image(from, 29, 21, 16);
        Image bytes = Image::allocate(to, 29, 21);
        const PixelFormat wide = format_info(to).chroma_y   ? PixelFormat::yuv420p16
                                 : format_info(to).chroma_x ? PixelFormat::yuv422p16
                                                            : PixelFormat::yuv444p16;
        Image words = Image::allocate(wide, 29, 21);
        bytes.color.siting = words.color.siting = siting;
        convert_image(source, bytes);
        convert_image(source, words);
        for (int c = 0; c < 3; ++c)
          for (std::int32_t y = 0; y < words.planes[c ? 1 : 0].height; ++y)
            for (std::int32_t x = 0; x < words.planes[c ? 1 : 0].width; ++x)
              ASSERT_NEAR(sample_at(bytes, c, x, y), sample_at(words, c, x, y) / 256, 0.5 + 0.003)
                  << to_string(from) << " to " << to_string(to) << " " << to_string(siting);
      }
}

// Every 8-bit Y'CbCr triple against float64: the rounded exact value, except within a ten-thousandth of a
// half.
void expect_every_triple(const RowKernels& kernels, ColorMatrix matrix, ColorRange range) {
  constexpr std::int64_t n = 1 << 16;
  const Image shape = Image::allocate(PixelFormat::yuv444p, 2, 2);
  const ColorInfo color{matrix, range};
  const Matrix3 normal = rgb_from_ycc(matrix);
  Matrix3 m{};
  std::array<double, 3> b{};
  RowMatrix rule{};
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 3; ++j) {
      const SampleScale in = sample_scale(shape.format, color, static_cast<int>(j));
      m[i][j] = 255 * normal[i][j] * in.scale;
      b[i] += 255 * normal[i][j] * in.offset;
      rule.m[i][j] = static_cast<float>(m[i][j]);
    }
    rule.b[i] = static_cast<float>(b[i] + 0.5);
  }
  std::vector<std::uint8_t> luma(n), rgb[3];
  std::vector<std::uint16_t> cb(n), cr(n);
  for (auto& row : rgb) row.resize(n);
  std::uint8_t* const out[3] = {rgb[0].data(), rgb[1].data(), rgb[2].data()};
  double worst = 0;
  for (std::uint16_t v = 0; v < 256; ++v) {
    for (std::size_t i = 0; i < n; ++i) {
      luma[i] = static_cast<std::uint8_t>(i);
      cb[i] = static_cast<std::uint16_t>(i >> 8);
      cr[i] = v;
    }
    kernels.ycc_to_rgb8_u8(luma.data(), cb.data(), cr.data(), rule, n, out);
    for (std::size_t c = 0; c < 3; ++c)
      for (std::size_t i = 0; i < n; ++i) {
        const double exact = m[c][0] * luma[i] + m[c][1] * cb[i] + m[c][2] * v + b[c];
        worst = std::max(worst, std::abs(rgb[c][i] - std::min(255.0, std::max(0.0, exact))));
      }
  }
  EXPECT_LT(worst, 0.5001) << kernels.name << " " << to_string(matrix) << " " << to_string(range);
}

TEST(Convert, EveryTripleIsTheRoundedExactValue) {
  for (const ColorMatrix matrix : {ColorMatrix::bt601, ColorMatrix::bt709, ColorMatrix::bt2020})
    for (const ColorRange range : {ColorRange::limited, ColorRange::full})
      expect_every_triple(row_kernels(), matrix, range);
  for (const RowKernels* kernels : {row_kernels_baseline(), row_kernels_avx2(), row_kernels_avx512()})
    if (kernels) expect_every_triple(*kernels, ColorMatrix::bt601, ColorRange::limited);
}

} // namespace
} // namespace lanner
