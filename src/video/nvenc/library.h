#pragma once
// libnvidia-encode, opened at first use.

#include <span>
#include <string_view>

#include "base/check.h"
#include "device/cuda/shared_library.h"
#include "video/nvenc/nvenc_api.h"

namespace lanner::nvenc {

using Api = NV_ENCODE_API_FUNCTION_LIST;
using LibraryStatus = cuda::LibraryStatus<Api>;

/// What encodes in its place, for the end of a refusal.
inline constexpr std::string_view software_remedy =
    "take device cpu, which encodes by FFmpeg's libx264, libx265 or SVT-AV1";

/// Opens libnvidia-encode.so.1 at the first call. Never throws; safe from any thread.
const LibraryStatus& library_status();
/// The same for the SONAMEs or paths given; every call opens anew.
LibraryStatus open_library(std::span<const char* const> names);

/// The table. Throws Error{unsupported} with the reason and the remedy where there is none.
const Api& api();

/// `NV_ENC_ERR_INVALID_PARAM`.
std::string_view name_of(NVENCSTATUS status) noexcept;

} // namespace lanner::nvenc
