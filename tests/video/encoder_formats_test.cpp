// Pixel formats, colours and metadata of encoders, and raw pictures.

#include <algorithm>
#include <cstring>

#include <gtest/gtest.h>

#include <lanner/raw_image.h>

#include "expect_error.h"
#include "image/planes.h"
#include "video/bitstream/sei.h"
#include "video/encoded.h"
#include "video/write/encoder_options.h"

namespace lanner {
namespace {

using test::HeaderTrace;
using test::small_options;

/// All samples, plane by plane, without what lies between the rows.
std::vector<std::byte> samples_of(const Image& image) {
  std::vector<std::byte> samples;
  for (int p = 0; p < format_info(image.format).planes; ++p)
    for (std::int32_t y = 0; y < image.planes[p].height; ++y) {
      const std::byte* row = image.planes[p].data + y * image.planes[p].pitch;
      samples.insert(samples.end(), row, row + plane_row_bytes(image, p));
    }
  return samples;
}

Image as(PixelFormat format, const Image& image) {
  Image other = Image::allocate(format, image.width, image.height);
  other.color = image.color;
  convert_image(image, other);
  return other;
}

} // namespace

TEST(EncoderFormats, LosslessGivesEachFormatBackBitByBit) {
  LANNER_NEEDS_FFMPEG();
  constexpr PixelFormat formats[] = {
      PixelFormat::yuv420p, PixelFormat::yuv422p,   PixelFormat::yuv444p,     PixelFormat::nv12,
      PixelFormat::nv16,    PixelFormat::yuv420p10, PixelFormat::yuv422p10,   PixelFormat::yuv444p10,
      PixelFormat::p010,    PixelFormat::p210,      PixelFormat::yuv420p12,   PixelFormat::yuv444p12,
      PixelFormat::rgb24,   PixelFormat::bgr24,     PixelFormat::yuv444p10msb};
  int kept = 0;
  for (const std::string codec : {"h264", "hevc", "av1", "vp9", "ffv1"}) {
    for (const PixelFormat format : formats) {
      SCOPED_TRACE(codec + " " + std::string(to_string(format)));
      EncoderOptions options = small_options(codec);
      options.format = format;
      options.tuning = Tuning::lossless;
      test::EncodedStream made;
      try {
        made = test::encoded_noise(options, 2);
      } catch (const Error& error) {
        const bool known = error.message().find("of which it stores") != std::string::npos ||
                           error.code() == ErrorCode::unsupported;
        EXPECT_TRUE(known) << error.message();
        continue;
      }
      const auto images = test::decoded(made);
      ASSERT_EQ(images.size(), 2u);
      for (int i = 0; i < 2; ++i) {
        const Image original = test::noise(format, 96, 64, i);
        EXPECT_EQ(samples_of(as(format, images[static_cast<std::size_t>(i)])), samples_of(original)) << i;
      }
      ++kept;
    }
  }
  EXPECT_GT(kept, 30);
}

TEST(EncoderFormats, LosslessConvertsNothing) {
  LANNER_NEEDS_ENCODER("libx264");
  EncoderOptions options = small_options("h264");
  options.tuning = Tuning::lossless;
  const auto encoder = create_encoder(options);
  const Image rgb = test::pattern(PixelFormat::rgb24, 96, 64, 0);
  LANNER_EXPECT_ERROR(encoder->send(&rgb), ErrorCode::invalid_argument, "would be converted to yuv420p");
  Image full = test::pattern(PixelFormat::yuv420p, 96, 64, 0);
  full.color.range = ColorRange::full;
  LANNER_EXPECT_ERROR(encoder->send(&full), ErrorCode::invalid_argument, "would be converted to yuv420p");
  options.format = PixelFormat::yuv420p12;
  LANNER_EXPECT_ERROR(create_encoder(options), ErrorCode::invalid_argument,
                      "tuning lossless with format yuv420p12, of which it stores");
}

TEST(EncoderFormats, TenBitsAreKeptOfTenAndOfSixteen) {
  for (const std::string codec : {"h264", "hevc", "av1"}) {
    for (const PixelFormat format : {PixelFormat::p010, PixelFormat::p016, PixelFormat::yuv444p16}) {
      EncoderOptions options = small_options(codec);
      options.format = format;
      if (!test::has_encoder(codec == "h264" ? "libx264" : codec == "hevc" ? "libx265" : "libaom-av1"))
        continue;
      const auto encoder = create_encoder(options);
      EXPECT_EQ(encoder->stream().bit_depth, 10) << codec << " " << to_string(format);
      const bool whole = format == PixelFormat::yuv444p16;
      EXPECT_EQ(encoder->stream().format, whole ? PixelFormat::yuv444p10 : PixelFormat::yuv420p10) << codec;
    }
  }
}

TEST(EncoderFormats, ColoursAreWritten) {
  for (const std::string encoder : {"libx264", "libx265", "libsvtav1", "libaom-av1"}) {
    if (!test::has_encoder(encoder)) continue;
    EncoderOptions options = small_options(encoder);
    options.format = PixelFormat::yuv420p10;
    options.color.matrix = ColorMatrix::bt2020;
    options.color.range = ColorRange::full;
    options.color.primaries = 9;
    options.color.transfer = 16;
    const auto images = test::decoded(test::encoded(options, 2));
    ASSERT_FALSE(images.empty());
    EXPECT_EQ(images[0].color.matrix, ColorMatrix::bt2020) << encoder;
    EXPECT_EQ(images[0].color.range, ColorRange::full) << encoder;
    EXPECT_EQ(images[0].color.primaries, 9) << encoder;
    EXPECT_EQ(images[0].color.transfer, 16) << encoder;
  }
}

TEST(EncoderFormats, PlacesOfChromaAndShapeOfPixels) {
  LANNER_NEEDS_TRACE();
  for (const std::string encoder : {"libx264", "libx265", "libsvtav1", "libaom-av1"}) {
    if (!test::has_encoder(encoder)) continue;
    EncoderOptions options = small_options(encoder);
    options.color.siting = ChromaSiting::top_left;
    options.sample_aspect = {4, 3};
    const auto made = test::encoded(options, 2);
    EXPECT_EQ(made.stream.sample_aspect, (Rational{4, 3}));
    const HeaderTrace trace(made);
    const bool av1 = encoder == "libsvtav1" || encoder == "libaom-av1";
    EXPECT_EQ(trace.first(av1 ? "chroma_sample_position" : "chroma_sample_loc_type_top_field"), 2) << encoder;
    if (!av1) {
      EXPECT_EQ(trace.first("aspect_ratio_idc"), 14) << encoder;
    } // H.264 Table E-1.
  }
}

TEST(EncoderFormats, HdrMetadataStandsAtEachKeyframe) {
  LANNER_NEEDS_TRACE();
  for (const std::string encoder : {"libx264", "libx265", "libsvtav1", "libaom-av1"}) {
    if (!test::has_encoder(encoder)) continue;
    const bool av1 = encoder == "libsvtav1" || encoder == "libaom-av1";
    EncoderOptions options = small_options(encoder);
    options.gop = 4;
    options.mastering_display =
        parse_mastering_display("G(0.265,0.69)B(0.15,0.06)R(0.68,0.32)WP(0.3127,0.329)L(1000,0.0001)");
    options.content_light = ContentLight{1000, 400};
    const auto made = test::encoded(options, 6);
    const SeiScanner scanner(made.stream);
    for (const Packet& packet : made.packets) {
      const auto found = scanner.scan(packet.bytes);
      const auto has = [&](int type) { return std::ranges::count(found, type, &SeiMessage::type) == 1; };
      EXPECT_EQ(has(av1 ? 2 : 137), packet.key) << encoder << " " << packet.pts;
      EXPECT_EQ(has(av1 ? 1 : 144), packet.key) << encoder;
    }
    const HeaderTrace trace(made);
    EXPECT_EQ(trace.first(av1 ? "max_cll" : "max_content_light_level"), 1000) << encoder;
    EXPECT_EQ(trace.first(av1 ? "max_fall" : "max_pic_average_light_level"), 400);
    EXPECT_EQ(trace.first(av1 ? "white_point_chromaticity_x" : "white_point_x"), av1 ? 20493 : 15635);
    EXPECT_EQ(trace.first(av1 ? "luminance_max" : "max_display_mastering_luminance"),
              av1 ? 256'000 : 10'000'000);
    EXPECT_EQ(trace.first(av1 ? "luminance_min" : "min_display_mastering_luminance"), av1 ? 2 : 1);
  }
}

TEST(EncoderFormats, GifHasColours) {
  LANNER_NEEDS_ENCODER("gif");
  const auto made = test::encoded(small_options("gif"), 2);
  const auto images = test::decoded(made);
  ASSERT_EQ(images.size(), 2u);
  EXPECT_GT(test::psnr(as(PixelFormat::rgb24, images[0]), test::pattern(PixelFormat::rgb24, 96, 64, 0)), 20);
}

TEST(RawImages, NamesOfNvencInAnyCase) {
  EXPECT_EQ(parse_raw_format("NV12").format, PixelFormat::nv12);
  EXPECT_EQ(parse_raw_format("iyuv").format, PixelFormat::yuv420p);
  EXPECT_EQ(parse_raw_format("Yuv444_16Bit").format, PixelFormat::yuv444p16);
  EXPECT_EQ(parse_raw_format("ARGB").format, PixelFormat::bgra32);
  EXPECT_EQ(parse_raw_format("YV12").order, RawOrder::swapped_chroma);
  EXPECT_EQ(parse_raw_format("yuv422p10").format, PixelFormat::yuv422p10);
  LANNER_EXPECT_ERROR(parse_raw_format("NV99"), ErrorCode::invalid_argument,
                      "pixel format 'nv99' is not known");
}

TEST(RawImages, PlanesLieOneBehindTheOther) {
  std::vector<std::byte> bytes(6 * 4 * 3 / 2);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i);
  const auto pixel = [](const Image& image, int plane, int x, int y) {
    return std::to_integer<int>(image.planes[plane].data[y * image.planes[plane].pitch + x]);
  };
  const Image nv12 = image_from_bytes(bytes, nullptr, parse_raw_format("NV12"), 6, 4);
  EXPECT_EQ(pixel(nv12, 0, 5, 3), 23);
  EXPECT_EQ(pixel(nv12, 1, 0, 1), 30);
  const Image iyuv = image_from_bytes(bytes, nullptr, parse_raw_format("IYUV"), 6, 4);
  EXPECT_EQ(pixel(iyuv, 1, 0, 0), 24);
  EXPECT_EQ(pixel(iyuv, 2, 0, 0), 30);
  const Image yv12 = image_from_bytes(bytes, nullptr, parse_raw_format("YV12"), 6, 4);
  EXPECT_EQ(pixel(yv12, 1, 0, 0), 30);
  EXPECT_EQ(pixel(yv12, 2, 0, 0), 24);
  LANNER_EXPECT_ERROR(image_from_bytes(bytes, nullptr, parse_raw_format("NV12"), 6, 6),
                      ErrorCode::invalid_argument, "36 bytes, expected 54 of 6x6 nv12");
}

TEST(RawImages, WordsOfTenBits) {
  const std::uint32_t word = 3u << 30 | 1023u << 20 | 512u << 10 | 1u;
  std::byte bytes[4];
  std::memcpy(bytes, &word, sizeof word);
  const auto sample = [](const Image& image, int channel) {
    return reinterpret_cast<const std::uint16_t*>(image.planes[0].data)[channel];
  };
  const Image argb = image_from_bytes(bytes, nullptr, parse_raw_format("ARGB10"), 1, 1);
  EXPECT_EQ(sample(argb, 0), 65535);
  EXPECT_EQ(sample(argb, 1), 512 << 6 | 512 >> 4);
  EXPECT_EQ(sample(argb, 2), 1 << 6);
  const Image abgr = image_from_bytes(bytes, nullptr, parse_raw_format("ABGR10"), 1, 1);
  EXPECT_EQ(sample(abgr, 2), 65535);
  EXPECT_EQ(sample(abgr, 0), 1 << 6);
}

} // namespace lanner
