#pragma once
// The decoder of NVIDIA's GPUs.

#include <memory>
#include <string>

#include <lanner/decoder.h>

namespace lanner::nvdec {

/// Decodes on `device`, a GPU. `reason` is what Decoder::reason() says. Throws Error{unsupported} for a
/// stream that the GPU does not decode, with its limits.
std::unique_ptr<Decoder> create_decoder(const StreamInfo& stream, const DecoderOptions& options,
                                        Device device, std::string reason);

/// Why GPU `device` does not decode the stream; empty when it does, as far as can be told before decoding.
/// `kind` gets what it decodes: `h264 High 4:2:0 8 bit`. Throws where GPU or library cannot be used.
std::string refusal(const StreamInfo& stream, const DecoderOptions& options, Device device,
                    std::string& kind);

/// What a GPU has for a stream.
struct Resources {
  int engines = 1;              ///< That decode it.
  int sessions = 0;             ///< That wait to be used again.
  std::uint64_t free_bytes = 0; ///< Of its memory.
};
Resources resources(const StreamInfo& stream, const DecoderOptions& options, Device device);

} // namespace lanner::nvdec
