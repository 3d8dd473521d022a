#include "video/nvenc/stored_form.h"

namespace lanner::nvenc {

std::optional<StoredForm> stored_form(PixelFormat format) noexcept {
  static constexpr StoredForm forms[] = {
      {PixelFormat::nv12, NV_ENC_BUFFER_FORMAT_NV12, 1, 8, PixelFormat::yuv420p, "yuv420p"},
      {PixelFormat::p010, NV_ENC_BUFFER_FORMAT_YUV420_10BIT, 1, 10, PixelFormat::yuv420p10, "yuv420p10le"},
      {PixelFormat::yuv444p, NV_ENC_BUFFER_FORMAT_YUV444, 3, 8, PixelFormat::yuv444p, "yuv444p"},
      {PixelFormat::yuv444p10msb, NV_ENC_BUFFER_FORMAT_YUV444_10BIT, 3, 10, PixelFormat::yuv444p10,
       "yuv444p10le"},
  };
  const PixelFormatInfo& facts = format_info(format);
  if (facts.yuv && facts.chroma_x == 1 && facts.chroma_y == 0) return std::nullopt;
  const bool full = facts.yuv && facts.chroma_x == 0 && facts.chroma_y == 0;
  return forms[(full ? 2 : 0) + (facts.bits > 8 ? 1 : 0)];
}

bool keeps_samples(PixelFormat format, const StoredForm& stored) noexcept {
  const PixelFormatInfo& facts = format_info(format);
  return facts.yuv && facts.bits == stored.depth && facts.chroma_x == (stored.chroma == 1 ? 1 : 0) &&
         facts.chroma_y == (stored.chroma == 1 ? 1 : 0);
}

} // namespace lanner::nvenc
