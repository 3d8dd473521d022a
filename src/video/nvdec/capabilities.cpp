#include "video/nvdec/capabilities.h"

#include <algorithm>
#include <mutex>
#include <vector>

#include <fmt/format.h>

#include "base/check.h"
#include "video/bitstream/h264_headers.h"

namespace lanner::nvdec {
namespace {

constexpr PictureForm every_form[] = {
    {cudaVideoCodec_H264, cudaVideoChromaFormat_420, 8},
    {cudaVideoCodec_H264, cudaVideoChromaFormat_420, 10},
    {cudaVideoCodec_H264, cudaVideoChromaFormat_422, 8},
    {cudaVideoCodec_H264, cudaVideoChromaFormat_422, 10},
    {cudaVideoCodec_H264, cudaVideoChromaFormat_444, 8},
    {cudaVideoCodec_HEVC, cudaVideoChromaFormat_Monochrome, 8},
    {cudaVideoCodec_HEVC, cudaVideoChromaFormat_420, 8},
    {cudaVideoCodec_HEVC, cudaVideoChromaFormat_420, 10},
    {cudaVideoCodec_HEVC, cudaVideoChromaFormat_420, 12},
    {cudaVideoCodec_HEVC, cudaVideoChromaFormat_422, 8},
    {cudaVideoCodec_HEVC, cudaVideoChromaFormat_422, 10},
    {cudaVideoCodec_HEVC, cudaVideoChromaFormat_422, 12},
    {cudaVideoCodec_HEVC, cudaVideoChromaFormat_444, 8},
    {cudaVideoCodec_HEVC, cudaVideoChromaFormat_444, 10},
    {cudaVideoCodec_HEVC, cudaVideoChromaFormat_444, 12},
    {cudaVideoCodec_AV1, cudaVideoChromaFormat_Monochrome, 8},
    {cudaVideoCodec_AV1, cudaVideoChromaFormat_420, 8},
    {cudaVideoCodec_AV1, cudaVideoChromaFormat_420, 10},
    {cudaVideoCodec_VP9, cudaVideoChromaFormat_420, 8},
    {cudaVideoCodec_VP9, cudaVideoChromaFormat_420, 10},
    {cudaVideoCodec_VP9, cudaVideoChromaFormat_420, 12},
    {cudaVideoCodec_VP8, cudaVideoChromaFormat_420, 8},
    {cudaVideoCodec_MPEG1, cudaVideoChromaFormat_420, 8},
    {cudaVideoCodec_MPEG2, cudaVideoChromaFormat_420, 8},
    {cudaVideoCodec_MPEG4, cudaVideoChromaFormat_420, 8},
    {cudaVideoCodec_VC1, cudaVideoChromaFormat_420, 8},
    {cudaVideoCodec_JPEG, cudaVideoChromaFormat_Monochrome, 8},
    {cudaVideoCodec_JPEG, cudaVideoChromaFormat_420, 8},
    {cudaVideoCodec_JPEG, cudaVideoChromaFormat_422, 8},
    {cudaVideoCodec_JPEG, cudaVideoChromaFormat_444, 8},
};

// Coded sizes are whole macroblocks or smallest coding units; the container tells the size after cropping.
std::int64_t coded(std::int32_t size, cudaVideoCodec codec) {
  const std::int64_t unit = codec == cudaVideoCodec_HEVC ? 8
                            : codec == cudaVideoCodec_VP9 || codec == cudaVideoCodec_AV1 ||
                                    codec == cudaVideoCodec_JPEG || codec == cudaVideoCodec_VP8
                                ? 1
                                : 16;
  return (std::int64_t{size} + unit - 1) / unit * unit;
}

DecoderCapability ask(const PictureForm& form) {
  CUVIDDECODECAPS caps{};
  caps.eCodecType = form.codec;
  caps.eChromaFormat = form.chroma;
  caps.nBitDepthMinus8 = static_cast<unsigned>(form.depth - 8);
  check(api().get_caps(&caps), "cuvidGetDecoderCaps");
  DecoderCapability found;
  found.codec = name_of(form.codec);
  found.chroma = name_of(form.chroma);
  found.bit_depth = form.depth;
  const bool copied_out = caps.nOutputFormatMask >> static_cast<int>(form.surface()) & 1;
  found.supported = caps.bIsSupported && copied_out && form.pixel_format().has_value();
  if (!found.supported) return found;
  found.engines = caps.nNumNVDECs;
  found.min_width = caps.nMinWidth;
  found.min_height = caps.nMinHeight;
  found.max_width = static_cast<std::int32_t>(std::min<unsigned>(caps.nMaxWidth, INT32_MAX));
  found.max_height = static_cast<std::int32_t>(std::min<unsigned>(caps.nMaxHeight, INT32_MAX));
  found.max_macroblocks = caps.nMaxMBCount;
  return found;
}

} // namespace

DecoderCapability capability(const GpuContext& context, const PictureForm& form) {
  struct Answer {
    const cuda::Gpu* gpu;
    PictureForm form;
    DecoderCapability can;
  };
  static std::mutex mutex;
  static auto* answers = new std::vector<Answer>; // asked while static objects are destroyed, too
  const std::lock_guard lock(mutex);
  for (const Answer& known : *answers)
    if (known.gpu == context.gpu && known.form == form) return known.can;
  const DecoderCapability can = ask(form);
  answers->push_back({context.gpu, form, can});
  return can;
}

/// The same whatever the size.
static std::string refusal(const GpuContext& context, const PictureForm& form) {
  const bool known = form.depth >= 8 && form.depth <= 16 && form.pixel_format();
  if (known && capability(context, form).supported) return {};
  return fmt::format("{} does not decode {}", context.gpu->name(), form.to_string());
}

std::string refusal(const GpuContext& context, const PictureForm& form, std::int64_t width,
                    std::int64_t height) {
  if (std::string refused = refusal(context, form); !refused.empty()) return refused;
  const DecoderCapability can = capability(context, form);
  const bool fits = width >= can.min_width && height >= can.min_height && width <= can.max_width &&
                    height <= can.max_height && width * height / 256 <= can.max_macroblocks;
  if (fits) return {};
  return fmt::format("{} decodes {} from {}x{} to {}x{} with at most {} macroblocks, not {}x{}",
                     context.gpu->name(), form.to_string(), can.min_width, can.min_height, can.max_width,
                     can.max_height, can.max_macroblocks, width, height);
}

std::string refusal(const GpuContext& context, const StreamInfo& stream) {
  const auto form = form_of(stream);
  if (!form) return fmt::format("{} does not decode {}", context.gpu->name(), stream.codec);
  if (format_info(stream.format).has_alpha())
    return fmt::format("{} does not decode the alpha of {}", context.gpu->name(), stream.codec);
  if (form->codec == cudaVideoCodec_H264) {
    const std::string feature = uncommon_h264_feature(stream);
    if (!feature.empty()) return fmt::format("{} does not decode h264 with {}", context.gpu->name(), feature);
  }
  // No query asks for screen content coding, which has tools of its own.
  if (form->codec == cudaVideoCodec_HEVC && stream.profile.find("Scc") != std::string::npos)
    return fmt::format("{} does not decode hevc {}", context.gpu->name(), stream.profile);
  // Two fields a packet are two pictures to the hardware.
  if (form->codec == cudaVideoCodec_JPEG && stream.interlaced)
    return fmt::format("{} does not decode interlaced mjpeg", context.gpu->name());
  // libnvcuvid rounds the sides of VP8 pictures down to even ones.
  if (form->codec == cudaVideoCodec_VP8 && (stream.width % 2 != 0 || stream.height % 2 != 0))
    return fmt::format("{} does not decode vp8 of odd sides ({}x{})", context.gpu->name(), stream.width,
                       stream.height);
  // A stream that was described without a size says it in its first sequence, which is checked then.
  if (stream.width == 0 && stream.height == 0) return refusal(context, *form);
  return refusal(context, *form, coded(stream.width, form->codec), coded(stream.height, form->codec));
}

} // namespace lanner::nvdec

namespace lanner {

std::vector<DecoderCapability> decoder_capabilities(Device device) {
  static_cast<void>(nvdec::api());
  const nvdec::GpuContext context = nvdec::GpuContext::of(device);
  const cuda::Current current(context.handle);
  std::vector<DecoderCapability> found;
  for (const nvdec::PictureForm& form : nvdec::every_form) found.push_back(nvdec::capability(context, form));
  return found;
}

} // namespace lanner
