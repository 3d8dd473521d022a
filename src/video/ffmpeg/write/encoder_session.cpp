#include "video/ffmpeg/write/encoder_session.h"

#include <algorithm>
#include <climits>
#include <new>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "image/matrix_codes.h"
#include "video/ffmpeg/library.h"
#include "video/ffmpeg/packet.h"
#include "video/ffmpeg/stream_info.h"
#include "video/ffmpeg/write/encoder_choice.h"
#include "video/ffmpeg/write/kept_scheduling.h"

extern "C" {
#include <libavutil/opt.h>
}

namespace lanner::ffmpeg {

namespace {

// A colour description without gaps: what is not said is written as what convert_image() would assume.
ColorInfo complete(ColorInfo color, const StoredFormat& format, std::int32_t height) {
  if (format.full_range || !format_info(format.format).yuv) color.range = ColorRange::full;
  if (color.range == ColorRange::unspecified) color.range = ColorRange::limited;
  if (!format_info(format.format).yuv) color.matrix = ColorMatrix::rgb;
  if (color.matrix == ColorMatrix::unspecified ||
      (format_info(format.format).yuv && color.matrix == ColorMatrix::rgb))
    color.matrix = height >= 720 ? ColorMatrix::bt709 : ColorMatrix::bt601;
  return color;
}

/// libx264 and libx265 write code points up to ICtCp's, FFmpeg those that it has names for.
void require_matrix(const AVCodec& codec, ColorMatrix matrix) {
  constexpr int ictcp = 14;
  const int code = unnamed_code(matrix);
  const bool written = std::string_view(codec.name).starts_with("libx26") ? code <= ictcp : true;
  check(code == 0 || (written && to_av(matrix) != AVCOL_SPC_UNSPECIFIED), ErrorCode::unsupported,
        "encoder {}: matrix {} ({} of H.273) cannot be written by it in FFmpeg {}; pixel formats of RGB need "
        "none",
        codec.name, unnamed_matrix_name(code), code, av_version_info());
}

/// Ticks a second that the VUI is to tell; a denominator of 0: what the encoder itself writes. libx264 writes
/// the ticks of pts, by which players of a bare stream would go: here it is the rate, of which a tick of
/// H.264 is a field (E.2.1). Its HRD counts in the ticks that it writes.
AVRational ticks_of_stream(const EncoderOptions& options, const AVCodecContext& context) {
  if (options.time_scale > 0) return {options.time_scale, options.num_units_in_tick};
  const auto params = options.codec_options.find("x264-params");
  const bool steady = params != options.codec_options.end() &&
                      (":" + params->second + ":").find(":force-cfr=1:") != std::string::npos;
  const bool differs = av_cmp_q(context.time_base, av_inv_q(context.framerate)) != 0;
  const bool x264 = std::string_view(context.codec->name).starts_with("libx264");
  AVRational ticks{0, 0};
  if (x264 && differs && !steady && !options.hrd)
    av_reduce(&ticks.num, &ticks.den, std::int64_t{context.framerate.num} * 2, context.framerate.den,
              INT_MAX);
  return ticks;
}

/// What an encoder that is kept from printing would have said.
std::string_view hint_for(const AVCodec& codec) {
  const bool svt = std::string_view(codec.name) == "libsvtav1";
  return svt ? "; many versions of it take only even sizes of 64x64 or more" : "";
}

} // namespace

EncoderSession::EncoderSession(EncoderOptions& options) {
  const AVCodec* codec = find_encoder(options);
  const std::string_view name = codec->name;
  // The external libraries copy what they keep; FFmpeg's own encoders hold references and may run threads.
  copies_input_ = name.substr(0, 3) == "lib";
  forces_keyframes_ = name != "libsvtav1"; // Version 1.4 takes no picture types.
  context_.reset(avcodec_alloc_context3(codec));
  if (!context_) throw std::bad_alloc();
  context_->pix_fmt = encoder_format(*codec, options);
  // Without a twin it is a palette, which is made of bgra32, or bgr0, which is bgra32 without alpha.
  target_ = stored_format(context_->pix_fmt).value_or(StoredFormat{PixelFormat::bgra32});
  options.color = complete(options.color, target_, options.height);
  if (codec->id == AV_CODEC_ID_MJPEG) options.color.matrix = ColorMatrix::bt601; // JFIF 1.02 knows no other.
  const auto params = options.codec_options.find("x264-params");
  top_field_first_ = params != options.codec_options.end() &&
                     (":" + params->second + ":").find(":tff=1:") != std::string::npos;
  if (codec->id == AV_CODEC_ID_WEBP && format_info(target_.format).yuv) { // RFC 9649, 2.5.
    options.color.matrix = ColorMatrix::bt601;
    options.color.range = ColorRange::limited;
  }
  configure(options);
  open(options);
  add_timing(options);
  describe(options);
}

EncoderSession::~EncoderSession() {
  // libsvtav1 1.4 waits for ever where it is closed without a picture.
  if (!sent_ && context_ && avcodec_is_open(context_.get()) &&
      std::string_view(codec().name) == "libsvtav1" && !context_.get_deleter().lost_threads(*context_))
    send_one_for_svt();
}

void EncoderSession::send_one_for_svt() {
  AVFrame* frame = av_frame_alloc();
  AVPacket* packet = av_packet_alloc();
  if (frame && packet) {
    frame->format = context_->pix_fmt;
    frame->width = context_->width;
    frame->height = context_->height;
    frame->pts = 0;
    if (av_frame_get_buffer(frame, 0) >= 0 && avcodec_send_frame(context_.get(), frame) >= 0 &&
        avcodec_send_frame(context_.get(), nullptr) >= 0)
      while (avcodec_receive_packet(context_.get(), packet) >= 0) av_packet_unref(packet);
  }
  av_packet_free(&packet);
  av_frame_free(&frame);
}

void EncoderSession::configure(const EncoderOptions& options) {
  context_->width = options.width;
  context_->height = options.height;
  require_matrix(*context_->codec, options.color.matrix);
  context_->colorspace = to_av(options.color.matrix);
  context_->color_range = to_av(options.color.range);
  context_->chroma_sample_location = to_av(options.color.siting);
  context_->color_primaries = static_cast<AVColorPrimaries>(options.color.primaries);
  context_->color_trc = static_cast<AVColorTransferCharacteristic>(options.color.transfer);
  context_->sample_aspect_ratio = from_rational(options.sample_aspect);
  context_->framerate = from_rational(options.rate);
  context_->time_base =
      options.time_base.den > 0 ? from_rational(options.time_base) : av_inv_q(context_->framerate);
  context_->thread_count = std::max(0, options.threads);
  if (options.crf >= 0) context_->bit_rate = 0;
  // Where only the first keyframe is to have headers, they are put there by hand.
  if (options.global_header || !options.repeat_headers.value_or(true))
    context_->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
  context_->err_recognition |= AV_EF_EXPLODE; // Else SVT-AV1 goes on without options that it does not know.
}

void EncoderSession::open(const EncoderOptions& options) {
  const AVCodec& codec = *context_->codec;
  Dictionary settings;
  fill_settings(codec, options, target_.format, *context_, settings);
  clear_logged_error();
  const int status = [&] {
    const KeptScheduling kept;
    return avcodec_open2(context_.get(), &codec, settings.out());
  }();
  check(status >= 0, status == AVERROR(ENOMEM) ? ErrorCode::out_of_memory : ErrorCode::invalid_argument,
        "encoder {}: refused {}x{} {}: {}{}", codec.name, options.width, options.height,
        to_string(target_.format), error_text(status), hint_for(codec));
  const std::string unknown = settings.leftover();
  check(unknown.empty(), ErrorCode::invalid_argument, "encoder {} has no option '{}'", codec.name, unknown);
  const std::string refused = refused_option();
  check(refused.empty(), ErrorCode::invalid_argument, "encoder {}: {}", codec.name, refused);
}

void EncoderSession::add_timing(const EncoderOptions& options) {
  const AVRational ticks = ticks_of_stream(options, *context_);
  if (ticks.den == 0) return;
  filters_keys_alone_ = options.time_scale == 0;
  const bool avc = context_->codec_id == AV_CODEC_ID_H264;
  const AVBitStreamFilter* type = av_bsf_get_by_name(avc ? "h264_metadata" : "hevc_metadata");
  if (!type && options.time_scale == 0) return;
  check(type != nullptr, ErrorCode::unsupported,
        "encoder {}: num_units_in_tick and time_scale need FFmpeg's h264_metadata and hevc_metadata, which "
        "this build of it lacks",
        codec().name);
  AVBSFContext* made = nullptr;
  if (av_bsf_alloc(type, &made) < 0) throw std::bad_alloc();
  filter_.reset(made);
  check(avcodec_parameters_from_context(filter_->par_in, context_.get()) >= 0, ErrorCode::out_of_memory,
        "encoder: memory was refused by the system");
  filter_->time_base_in = context_->time_base;
  const std::string rate = fmt::format("{}/{}", ticks.num, ticks.den);
  const AVOption* option = av_opt_find(filter_->priv_data, "tick_rate", nullptr, 0, 0);
  check(option && av_opt_set(filter_->priv_data, "tick_rate", rate.c_str(), 0) >= 0 &&
            av_bsf_init(filter_.get()) >= 0,
        ErrorCode::invalid_argument, "encoder {}: num_units_in_tick {} and time_scale {} were refused",
        codec().name, ticks.den, ticks.num);
}

void EncoderSession::describe(const EncoderOptions& options) {
  const ParametersPtr parameters = make_parameters();
  const int status = filter_ ? avcodec_parameters_copy(parameters.get(), filter_->par_out)
                             : avcodec_parameters_from_context(parameters.get(), context_.get());
  check(status >= 0, ErrorCode::out_of_memory, "encoder: memory was refused by the system");
  const auto* extradata = reinterpret_cast<const std::byte*>(parameters->extradata);
  headers_.assign(extradata, extradata + std::max(0, parameters->extradata_size));
  if (!options.global_header && !options.repeat_headers.value_or(true)) {
    av_freep(&parameters->extradata); // Else a muxer puts them in front of each keyframe.
    parameters->extradata_size = 0;
  }
  stream_.kind = "video";
  describe_codec(*parameters, stream_);
  stream_.time_base = to_rational(context_->time_base);
  stream_.average_rate = options.rate;
  stream_.sample_aspect = options.sample_aspect;
}

int EncoderSession::send(AVFrame* frame) {
  if (frame) {
    frame->colorspace = context_->colorspace;
    frame->color_range = context_->color_range;
    frame->chroma_location = context_->chroma_sample_location;
    frame->color_primaries = context_->color_primaries;
    frame->color_trc = context_->color_trc;
    frame->sample_aspect_ratio = context_->sample_aspect_ratio;
    if (top_field_first_) mark_fields(*frame, true, true); // FFmpeg's x264 takes the order from each frame.
    // Encoders of MPEG take a fixed quantiser of the frame, not of the context.
    if (context_->flags & AV_CODEC_FLAG_QSCALE) frame->quality = context_->global_quality;
  }
  clear_logged_error();
  const int status = avcodec_send_frame(context_.get(), frame);
  if (status >= 0) sent_ = true;
  return status;
}

PacketPtr EncoderSession::receive(int& status) {
  PacketPtr packet = make_packet();
  clear_logged_error();
  status = avcodec_receive_packet(context_.get(), packet.get());
  if (status < 0) return nullptr;
  const bool has_headers =
      packet->flags & AV_PKT_FLAG_KEY && !(context_->flags & AV_CODEC_FLAG_GLOBAL_HEADER);
  if (!filter_ || (filters_keys_alone_ && !has_headers)) return packet;
  status = av_bsf_send_packet(filter_.get(), packet.get());
  if (status >= 0) status = av_bsf_receive_packet(filter_.get(), packet.get());
  return status >= 0 ? std::move(packet) : nullptr;
}

} // namespace lanner::ffmpeg
