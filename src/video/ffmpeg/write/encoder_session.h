#pragma once
// One opened encoder of FFmpeg: from its first picture to its last packet.

#include <memory>
#include <optional>
#include <vector>

#include <lanner/encoder.h>

#include "video/ffmpeg/av.h"
#include "video/ffmpeg/pixel_format.h"

extern "C" {
#include <libavcodec/bsf.h>
}

namespace lanner::ffmpeg {

struct FilterFree {
  void operator()(AVBSFContext* filter) const { av_bsf_free(&filter); }
};
using FilterPtr = std::unique_ptr<AVBSFContext, FilterFree>;

class EncoderSession {
public:
  /// Completes `options.color`. Throws what create_encoder() does.
  explicit EncoderSession(EncoderOptions& options);
  ~EncoderSession();
  EncoderSession(const EncoderSession&) = delete;
  EncoderSession& operator=(const EncoderSession&) = delete;

  const CodecContextPtr& context() const noexcept { return context_; }
  const AVCodec& codec() const noexcept { return *context_->codec; }
  /// The format that frames have.
  AVPixelFormat frame_format() const noexcept { return context_->pix_fmt; }
  /// The same as an image; of a palette's indexes the colours.
  const StoredFormat& target() const noexcept { return target_; }
  bool copies_input() const noexcept { return copies_input_; }
  /// Whether a frame's type of I makes an IDR of it.
  bool forces_keyframes() const noexcept { return forces_keyframes_; }
  /// What the stream is, and the headers that lie apart.
  const StreamInfo& stream() const noexcept { return stream_; }
  const std::vector<std::byte>& headers() const noexcept { return headers_; }

  /// avcodec_send_frame(), with the frame's colours filled in; null is the end.
  int send(AVFrame* frame);
  /// avcodec_receive_packet(): null with AVERROR(EAGAIN) or AVERROR_EOF in `status`.
  PacketPtr receive(int& status);

private:
  void configure(const EncoderOptions& options);
  void open(const EncoderOptions& options);
  void add_timing(const EncoderOptions& options);
  void describe(const EncoderOptions& options);
  void send_one_for_svt();

  CodecContextPtr context_;
  FilterPtr filter_; ///< Writes VUI timing; null where the encoder's own is right.
  bool filters_keys_alone_ = false;
  StoredFormat target_{};
  bool copies_input_ = false; ///< The encoder is done with a picture's memory when send() returns.
  bool forces_keyframes_ = true, sent_ = false;
  bool top_field_first_ = false; ///< Of interlaced pictures.
  StreamInfo stream_;
  std::vector<std::byte> headers_;
};

} // namespace lanner::ffmpeg
