#pragma once
// Kinds of pictures that NVDEC decodes, by Lanner's names and by libnvcuvid's.

#include <optional>
#include <string>
#include <string_view>

#include <lanner/image.h>
#include <lanner/packet.h>

#include "video/nvdec/nvcuvid_api.h"

namespace lanner::nvdec {

/// libnvcuvid's number of a codec by FFmpeg's name; nothing for one that it does not know.
std::optional<cudaVideoCodec> codec_of(std::string_view name) noexcept;
std::string_view name_of(cudaVideoCodec codec) noexcept;
/// `4:2:0`.
std::string_view name_of(cudaVideoChromaFormat chroma) noexcept;

/// Whether pictures of the codec may be shown in another order than they are decoded in.
bool reorders(cudaVideoCodec codec) noexcept;

/// What a decoding session is made for, size apart.
struct PictureForm {
  cudaVideoCodec codec = cudaVideoCodec_H264;
  cudaVideoChromaFormat chroma = cudaVideoChromaFormat_420;
  int depth = 8;
  friend bool operator==(const PictureForm&, const PictureForm&) = default;

  /// `h264 4:2:0 8 bit`.
  std::string to_string() const;
  Surface surface() const noexcept;
  /// Memory order of what is copied out of a surface; nothing for depths that no GPU decodes.
  std::optional<PixelFormat> pixel_format() const noexcept;
};

/// By the container's word; nothing for a codec that libnvcuvid does not know.
std::optional<PictureForm> form_of(const StreamInfo& stream) noexcept;

/// Colour of a sequence: by its own video signal description, where that is silent by the container's.
ColorInfo color_of(const CUVIDEOFORMAT& format, const ColorInfo& container) noexcept;

} // namespace lanner::nvdec
