// Which decoder a stream gets.

#include <lanner/decoder.h>

#include <utility>

#include "base/check.h"
#include "device/cuda/driver.h"
#include "device/cuda/needed_driver.h"
#include "video/ffmpeg_module.h"
#include "video/nvdec/decoder.h"

namespace lanner {
namespace {

/// Frames of another decoder, copied to a GPU.
class UploadingDecoder final : public Decoder {
public:
  UploadingDecoder(std::unique_ptr<Decoder> decoder, Device output, const DecoderOptions& options)
      : decoder_(std::move(decoder)), output_(output), stream_(options.stream), limits_(options.limits) {}

  bool send(const Packet* packet) override { return decoder_->send(packet); }
  std::optional<Frame> receive() override {
    std::optional<Frame> frame = decoder_->receive();
    if (!frame) return frame;
    Image there =
        Image::allocate(frame->image.format, frame->image.width, frame->image.height, limits_, output_);
    copy_image(frame->image, there, stream_);
    frame->image = std::move(there);
    frame->stream = stream_;
    return frame;
  }
  bool finished() const noexcept override { return decoder_->finished(); }
  void flush() override { decoder_->flush(); }
  void reset(const StreamInfo& stream) override { decoder_->reset(stream); }
  Device device() const noexcept override { return decoder_->device(); }
  std::string description() const override {
    return fmt::format("{}, frames on {}", decoder_->description(), output_.to_string());
  }
  const std::string& reason() const noexcept override { return decoder_->reason(); }

private:
  std::unique_ptr<Decoder> decoder_;
  Device output_;
  Stream stream_;
  Limits limits_;
};

std::unique_ptr<Decoder> on_cpu(const StreamInfo& stream, const DecoderOptions& options,
                                const std::string& reason) {
  std::unique_ptr<Decoder> decoder = ffmpeg_module().create_decoder(stream, options, reason);
  if (!options.output || options.output->is_host()) return decoder;
  return std::make_unique<UploadingDecoder>(std::move(decoder), *options.output, options);
}

/// The first GPU that decodes the stream; else `reason` says why there is none.
std::optional<Device> first_gpu(const StreamInfo& stream, const DecoderOptions& options,
                                std::string& reason) {
  const cuda::DriverStatus& status = cuda::driver_status();
  if (status.devices <= 0) {
    reason = fmt::format("auto: no GPU: {}", status.reason);
    return std::nullopt;
  }
  for (int i = 0; i < status.devices; ++i) {
    const Device gpu{DeviceKind::cuda, static_cast<std::int16_t>(i)};
    if (options.gpu && gpu != *options.gpu) continue;
    // Its frames are converted by kernels.
    if (const std::string shortfall = cuda::driver_shortfall(gpu); !shortfall.empty()) {
      reason = "auto: " + shortfall;
      return std::nullopt;
    }
    try {
      std::string kind;
      const std::string refused = nvdec::refusal(stream, options, gpu, kind);
      if (refused.empty()) {
        reason = fmt::format("auto: {} decodes {}", gpu.to_string(), kind);
        return gpu;
      }
      if (reason.empty()) reason = "auto: " + refused;
    } catch (const Error& error) {
      if (reason.empty()) reason = "auto: no GPU: " + error.message();
    }
  }
  if (reason.empty()) reason = fmt::format("auto: there is no {}", options.gpu->to_string());
  return std::nullopt;
}

/// What says how a GPU decodes has no effect on a CPU that was named. A decoder that chooses by itself may
/// end up on the CPU, without what was given for a GPU.
void check_gpu_options(const DecoderOptions& options) {
  check(!options.gpu || !options.device, ErrorCode::invalid_argument,
        "decoder: gpu says which GPU is asked where the device is left to the decoder, but device is {}",
        options.device ? options.device->to_string() : "");
  check(!options.gpu || !options.gpu->is_host(), ErrorCode::invalid_argument,
        "decoder: gpu is {}, expected a GPU", options.gpu ? options.gpu->to_string() : "");
  if (!options.device || !options.device->is_host()) return;
  const bool frames_on_gpu = options.output && !options.output->is_host();
  check(
      options.context == nullptr, ErrorCode::invalid_argument,
      "decoder: a CUDA context is for decoding on a GPU, but device is cpu; name device cuda:0, or leave the "
      "context out");
  check(options.stream.handle == nullptr || frames_on_gpu, ErrorCode::invalid_argument,
        "decoder: a CUDA stream is for frames of a GPU, but device and output are cpu; name a GPU for one of "
        "the two, "
        "or leave the stream out");
}

} // namespace

std::unique_ptr<Decoder> create_decoder(const StreamInfo& stream, const DecoderOptions& options) {
  constexpr int max_threads = 256; // Each takes memory of its own, and milliseconds to begin.
  check(options.threads >= 0 && options.threads <= max_threads, ErrorCode::invalid_argument,
        "decoder: threads is {}, expected 0 (as many as keep the cores busy) to {}", options.threads,
        max_threads);
  check_gpu_options(options);
  if (options.device && options.device->is_host()) return on_cpu(stream, options, "asked for");
  if (options.device) return nvdec::create_decoder(stream, options, *options.device, "asked for");
  std::string reason;
  if (const std::optional<Device> gpu = first_gpu(stream, options, reason))
    return nvdec::create_decoder(stream, options, *gpu, reason);
  return on_cpu(stream, options, reason);
}

} // namespace lanner
