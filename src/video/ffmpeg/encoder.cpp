#include <algorithm>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/threads/sole_use.h"
#include "video/ffmpeg/av.h"
#include "video/ffmpeg/encoder_choice.h"
#include "video/ffmpeg/entry_points.h"
#include "video/ffmpeg/frame.h"
#include "video/ffmpeg/packet.h"
#include "video/ffmpeg/pixel_format.h"
#include "video/ffmpeg/stream_info.h"
#include "video/write/encoder_options.h"

namespace lanner::ffmpeg {

namespace {

// A colour description without gaps: what is not said is written as what convert_image() would assume.
ColorInfo complete(ColorInfo color, const DirectFormat& format, std::int32_t height) {
  if (format.full_range || !format_info(format.format).yuv) color.range = ColorRange::full;
  if (color.range == ColorRange::unspecified) color.range = ColorRange::limited;
  if (!format_info(format.format).yuv) color.matrix = ColorMatrix::rgb;
  if (color.matrix == ColorMatrix::unspecified ||
      (format_info(format.format).yuv && color.matrix == ColorMatrix::rgb))
    color.matrix = height >= 720 ? ColorMatrix::bt709 : ColorMatrix::bt601;
  return color;
}

/// What an encoder that is kept from printing would have said.
std::string_view hint_for(const AVCodec& codec) {
  const bool svt = std::string_view(codec.name) == "libsvtav1";
  return svt ? "; many versions of it take even sizes from 64x64 on alone" : "";
}

class FfmpegEncoder final : public Encoder {
public:
  explicit FfmpegEncoder(const EncoderOptions& options) : options_(options) {
    check_encoder_options(options_, true);
    const AVCodec* codec = find_encoder(options_.codec, options_.width, options_.height);
    // The external libraries copy what they keep; FFmpeg's own encoders hold references and may run threads.
    copies_input_ = std::string_view(codec->name).substr(0, 3) == "lib";
    configure(*codec);
    Dictionary settings;
    fill_settings(*codec, options_, settings);
    clear_logged_error();
    const int status = avcodec_open2(context_.get(), codec, settings.out());
    check(status >= 0, status == AVERROR(ENOMEM) ? ErrorCode::out_of_memory : ErrorCode::invalid_argument,
          "encoder {}: refused {}x{} {}: {}{}", codec->name, options_.width, options_.height,
          to_string(target_.format), error_text(status), hint_for(*codec));
    const std::string unknown = settings.leftover();
    check(unknown.empty(), ErrorCode::invalid_argument, "encoder {} has no option '{}'", codec->name,
          unknown);
    describe_stream();
  }

  const StreamInfo& stream() const noexcept override { return stream_; }

  bool send(const Image* image, std::int64_t pts) override {
    const SoleUse::Call call(use_);
    check(!draining_, ErrorCode::invalid_argument, "encoder: picture after the end");
    check_threads(context_);
    FramePtr frame;
    if (image) {
      frame = prepare(*image);
      frame->pts = from_pts(pts);
    }
    clear_logged_error();
    const int status = avcodec_send_frame(context_.get(), frame.get());
    if (status == AVERROR(EAGAIN)) return false;
    check(status >= 0, status == AVERROR(ENOMEM) ? ErrorCode::out_of_memory : ErrorCode::invalid_argument,
          "encode: {}: {}", context_->codec->name, error_text(status));
    draining_ = image == nullptr;
    return true;
  }

  std::optional<Packet> receive() override {
    const SoleUse::Call call(use_);
    check_threads(context_);
    PacketPtr packet = make_packet();
    clear_logged_error();
    const int status = avcodec_receive_packet(context_.get(), packet.get());
    if (status == AVERROR(EAGAIN)) return std::nullopt;
    if (status == AVERROR_EOF) {
      finished_ = true;
      return std::nullopt;
    }
    check(status >= 0, ErrorCode::internal, "encode: {}: {}", context_->codec->name, error_text(status));
    return to_packet(std::move(packet));
  }

  bool finished() const noexcept override { return finished_; }

private:
  void configure(const AVCodec& codec) {
    context_.reset(avcodec_alloc_context3(&codec));
    if (!context_) throw std::bad_alloc();
    context_->width = options_.width;
    context_->height = options_.height;
    context_->pix_fmt = encoder_format(codec, options_);
    target_ = *direct_format(context_->pix_fmt);
    options_.color = complete(options_.color, target_, options_.height);
    if (codec.id == AV_CODEC_ID_MJPEG)
      options_.color.matrix = ColorMatrix::bt601; // JFIF 1.02 knows no other.
    context_->colorspace = to_av(options_.color.matrix);
    context_->color_range = to_av(options_.color.range);
    context_->chroma_sample_location = to_av(options_.color.siting);
    context_->color_primaries = static_cast<AVColorPrimaries>(options_.color.primaries);
    context_->color_trc = static_cast<AVColorTransferCharacteristic>(options_.color.transfer);
    context_->sample_aspect_ratio = from_rational(options_.sample_aspect);
    context_->framerate = from_rational(options_.rate);
    context_->time_base =
        options_.time_base.den > 0 ? from_rational(options_.time_base) : av_inv_q(context_->framerate);
    context_->thread_count = std::max(0, options_.threads);
    if (options_.bit_rate > 0)
      context_->bit_rate = options_.bit_rate;
    else if (options_.crf >= 0)
      context_->bit_rate = 0;
    if (options_.gop > 0) context_->gop_size = options_.gop;
    if (options_.b_frames >= 0) context_->max_b_frames = options_.b_frames;
    if (options_.global_header) context_->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
  }

  void describe_stream() {
    const ParametersPtr parameters = make_parameters();
    check(avcodec_parameters_from_context(parameters.get(), context_.get()) >= 0, ErrorCode::out_of_memory,
          "encoder: memory was refused by the system");
    stream_.kind = "video";
    describe_codec(*parameters, stream_);
    stream_.time_base = to_rational(context_->time_base);
    stream_.average_rate = options_.rate;
    stream_.sample_aspect = options_.sample_aspect;
  }

  // Matrix and range count as the same when the encoder would convert nothing.
  bool fits(const Image& image) const {
    if (image.format != target_.format) return false;
    if (!format_info(image.format).yuv) return true;
    const ColorInfo given = complete(image.color, {image.format}, image.height);
    return given.matrix == options_.color.matrix && given.range == options_.color.range;
  }

  FramePtr prepare(const Image& image) {
    check(image.defined() && image.width == options_.width && image.height == options_.height,
          ErrorCode::invalid_argument, "encode: picture of {}x{}, the encoder was created for {}x{}",
          image.width, image.height, options_.width, options_.height);
    check(image.device.is_host(), ErrorCode::unsupported,
          "encode: picture lies on {}; copy it to the host first", image.device.to_string());
    Image input = image;
    if (!fits(image) || !image.owner || !copies_input_) {
      input = Image::allocate(target_.format, image.width, image.height);
      input.color = options_.color;
      convert_image(image, input);
    }
    FramePtr frame = to_av(input, context_->pix_fmt);
    frame->colorspace = context_->colorspace;
    frame->color_range = context_->color_range;
    frame->chroma_location = context_->chroma_sample_location;
    frame->color_primaries = context_->color_primaries;
    frame->color_trc = context_->color_trc;
    frame->sample_aspect_ratio = context_->sample_aspect_ratio;
    return frame;
  }

  SoleUse use_{"Encoder"};
  EncoderOptions options_;
  CodecContextPtr context_;
  DirectFormat target_{};
  bool copies_input_ = false; ///< The encoder is done with a picture's memory when send() returns.
  StreamInfo stream_;
  bool draining_ = false, finished_ = false;
};

} // namespace

std::unique_ptr<Encoder> create_encoder(const EncoderOptions& options) {
  return std::make_unique<FfmpegEncoder>(options);
}

} // namespace lanner::ffmpeg
