// Which implementation encodes.

#include <lanner/encoder.h>

#include "base/check.h"
#include "video/ffmpeg_module.h"
#include "video/nvenc/encoder.h"

namespace lanner {

std::unique_ptr<Encoder> create_encoder(const EncoderOptions& options) {
  if (!options.device.is_host()) return nvenc::create_encoder(options);
  check(
      options.context == nullptr, ErrorCode::invalid_argument,
      "encoder: a CUDA context is for encoding on a GPU, but device is cpu; name device cuda:0, or leave the "
      "context out");
  check(
      options.stream.handle == nullptr, ErrorCode::invalid_argument,
      "encoder: a CUDA stream is for encoding on a GPU, but device is cpu; name device cuda:0, or leave the "
      "stream out");
  return ffmpeg_module().create_encoder(options);
}

} // namespace lanner
