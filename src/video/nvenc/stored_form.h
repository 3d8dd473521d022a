#pragma once
// What NVENC stores of a pixel format, and the memory order of its input.

#include <optional>
#include <string_view>

#include <lanner/image.h>

#include "video/nvenc/nvenc_enums.h"

namespace lanner::nvenc {

/// One chroma format and depth.
struct StoredForm {
  PixelFormat input; ///< How pictures lie in the session's buffers.
  NV_ENC_BUFFER_FORMAT buffer_format;
  uint32_t chroma;         ///< chroma_format_idc: 1 for 4:2:0, 3 for 4:4:4.
  uint32_t depth;          ///< 8 or 10.
  PixelFormat decoded;     ///< What decoders give back.
  std::string_view native; ///< FFmpeg's name of that.
};

/// What stands for `format`: RGB and gray become 4:2:0, of more than 8 bits 10 are kept. Nothing for 4:2:2,
/// which version 12.1 of the API does not have.
std::optional<StoredForm> stored_form(PixelFormat format) noexcept;

/// Whether each sample of `format` is kept as it is.
bool keeps_samples(PixelFormat format, const StoredForm& stored) noexcept;

} // namespace lanner::nvenc
