#pragma once
// The encoder of NVIDIA's GPUs.

#include <memory>

#include <lanner/encoder.h>

namespace lanner::nvenc {

/// Encodes on `options.device`, a GPU. Throws Error{unsupported} where there is no NVENC, with what would do,
/// and else what lanner::create_encoder() does.
std::unique_ptr<Encoder> create_encoder(const EncoderOptions& options);

} // namespace lanner::nvenc
