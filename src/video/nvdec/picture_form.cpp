#include "video/nvdec/picture_form.h"

#include <fmt/format.h>

#include "image/matrix_codes.h"

namespace lanner::nvdec {
namespace {

struct CodecName {
  std::string_view name;
  cudaVideoCodec codec;
};
constexpr CodecName codecs[] = {
    {"mpeg1video", cudaVideoCodec_MPEG1}, {"mpeg2video", cudaVideoCodec_MPEG2},
    {"mpeg4", cudaVideoCodec_MPEG4},      {"vc1", cudaVideoCodec_VC1},
    {"h264", cudaVideoCodec_H264},        {"mjpeg", cudaVideoCodec_JPEG},
    {"hevc", cudaVideoCodec_HEVC},        {"vp8", cudaVideoCodec_VP8},
    {"vp9", cudaVideoCodec_VP9},          {"av1", cudaVideoCodec_AV1},
};

cudaVideoChromaFormat chroma_of(PixelFormat format) noexcept {
  const PixelFormatInfo& facts = format_info(format);
  if (!facts.yuv && facts.planes == 1 && facts.samples[0] == 1) return cudaVideoChromaFormat_Monochrome;
  if (facts.chroma_y == 1) return cudaVideoChromaFormat_420;
  return facts.chroma_x == 1 ? cudaVideoChromaFormat_422 : cudaVideoChromaFormat_444;
}

} // namespace

std::optional<cudaVideoCodec> codec_of(std::string_view name) noexcept {
  for (const CodecName& known : codecs)
    if (known.name == name) return known.codec;
  return std::nullopt;
}

std::string_view name_of(cudaVideoCodec codec) noexcept {
  for (const CodecName& known : codecs)
    if (known.codec == codec) return known.name;
  return "unknown codec";
}

bool reorders(cudaVideoCodec codec) noexcept {
  return codec != cudaVideoCodec_VP8 && codec != cudaVideoCodec_VP9 && codec != cudaVideoCodec_AV1 &&
         codec != cudaVideoCodec_JPEG;
}

std::string_view name_of(cudaVideoChromaFormat chroma) noexcept {
  constexpr std::string_view names[] = {"4:0:0", "4:2:0", "4:2:2", "4:4:4"};
  const auto index = static_cast<unsigned>(chroma);
  return index < std::size(names) ? names[index] : "unknown chroma";
}

std::string PictureForm::to_string() const {
  return fmt::format("{} {} {} bit", name_of(codec), name_of(chroma), depth);
}

Surface PictureForm::surface() const noexcept {
  const bool wide = depth > 8;
  switch (chroma) {
  case cudaVideoChromaFormat_444:
    return wide ? Surface::yuv444_16 : Surface::yuv444;
  case cudaVideoChromaFormat_422:
    return wide ? Surface::p216 : Surface::nv16;
  default:
    return wide ? Surface::p016 : Surface::nv12;
  }
}

std::optional<PixelFormat> PictureForm::pixel_format() const noexcept {
  struct Row {
    cudaVideoChromaFormat chroma;
    int depth;
    PixelFormat format;
  };
  // Samples of more than 8 bits are in the high bits of 16, in every surface.
  static constexpr Row rows[] = {
      {cudaVideoChromaFormat_Monochrome, 8, PixelFormat::gray8},
      {cudaVideoChromaFormat_Monochrome, 10, PixelFormat::gray16},
      {cudaVideoChromaFormat_Monochrome, 12, PixelFormat::gray16},
      {cudaVideoChromaFormat_420, 8, PixelFormat::nv12},
      {cudaVideoChromaFormat_420, 10, PixelFormat::p010},
      {cudaVideoChromaFormat_420, 12, PixelFormat::p012},
      {cudaVideoChromaFormat_422, 8, PixelFormat::nv16},
      {cudaVideoChromaFormat_422, 10, PixelFormat::p210},
      {cudaVideoChromaFormat_422, 12, PixelFormat::p212},
      {cudaVideoChromaFormat_444, 8, PixelFormat::yuv444p},
      {cudaVideoChromaFormat_444, 10, PixelFormat::yuv444p10msb},
      {cudaVideoChromaFormat_444, 12, PixelFormat::yuv444p12msb},
  };
  for (const Row& row : rows)
    if (row.chroma == chroma && row.depth == depth) return row.format;
  return std::nullopt;
}

std::optional<PictureForm> form_of(const StreamInfo& stream) noexcept {
  const auto codec = codec_of(stream.codec);
  if (!codec) return std::nullopt;
  return PictureForm{*codec, chroma_of(stream.format), stream.bit_depth};
}

ColorInfo color_of(const CUVIDEOFORMAT& format, const ColorInfo& container) noexcept {
  const auto& signal = format.video_signal_description;
  ColorInfo color = container;
  // What the parser says of these is its own guess: JPEG files are full range by JFIF, and MPEG-4's visual
  // object is read by whoever described the stream.
  if (format.codec == cudaVideoCodec_JPEG || format.codec == cudaVideoCodec_MPEG4) return color;
  if (format.codec == cudaVideoCodec_VP8) { // RFC 6386 9.2.
    color.matrix = ColorMatrix::bt601;
    color.range = signal.video_full_range_flag ? ColorRange::full : ColorRange::limited;
    return color;
  }
  const auto said = [](int code) { return code != 0 && code != 2; };
  const bool described = said(signal.color_primaries) || said(signal.transfer_characteristics) ||
                         said(signal.matrix_coefficients);
  if (signal.video_full_range_flag)
    color.range = ColorRange::full;
  else if (described)
    color.range = ColorRange::limited;
  if (!described) return color;
  if (signal.color_primaries != 0) color.primaries = signal.color_primaries;
  if (signal.transfer_characteristics != 0) color.transfer = signal.transfer_characteristics;
  // Number 0 is R'G'B' and means it only where no chroma is subsampled.
  if (signal.matrix_coefficients != 0 || format.chroma_format == cudaVideoChromaFormat_444)
    color.matrix = matrix_of_code(signal.matrix_coefficients, color.primaries);
  return color;
}

} // namespace lanner::nvdec
