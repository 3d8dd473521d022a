#pragma once
// What a GPU can decode, by its driver's own answer.

#include <cstdint>
#include <string>

#include <lanner/decoder.h>

#include "base/check.h"
#include "video/nvdec/library.h"
#include "video/nvdec/picture_form.h"

namespace lanner::nvdec {

/// The driver's answer for one kind of picture, asked once a process. `context` must be the
/// thread's. Throws as check().
DecoderCapability capability(const GpuContext& context, const PictureForm& form);

/// Why the GPU does not decode pictures of this kind and coded size, with its limits; empty when it does.
/// `context` must be the thread's.
std::string refusal(const GpuContext& context, const PictureForm& form, std::int64_t width,
                    std::int64_t height);

/// The same for a stream by its container's word and its parameter sets, before anything is decoded.
std::string refusal(const GpuContext& context, const StreamInfo& stream);

} // namespace lanner::nvdec
