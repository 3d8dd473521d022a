#include "video/nvenc/encoder.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "base/check.h"
#include "base/threads/sole_use.h"
#include "video/nvenc/pipeline.h"
#include "video/write/default_times.h"
#include "video/write/encoder_options.h"
#include "video/write/stream_insert.h"

namespace lanner::nvenc {
namespace {

PictureType type_of(NV_ENC_PIC_TYPE type) {
  switch (type) {
  case NV_ENC_PIC_TYPE_I:
  case NV_ENC_PIC_TYPE_IDR:
    return PictureType::i;
  case NV_ENC_PIC_TYPE_P:
  case NV_ENC_PIC_TYPE_SKIPPED:
  case NV_ENC_PIC_TYPE_INTRA_REFRESH:
  case NV_ENC_PIC_TYPE_NONREF_P:
    return PictureType::p;
  case NV_ENC_PIC_TYPE_B:
  case NV_ENC_PIC_TYPE_BI:
    return PictureType::b;
  default:
    return PictureType::unknown;
  }
}

class NvencEncoder final : public Encoder {
public:
  explicit NvencEncoder(const EncoderOptions& options) : options_(options) {
    check_encoder_options(options_, true);
    codec_named(options_.codec);
    options_.color = complete_color(options_.color, options_.height);
    pipeline_ = std::make_unique<Pipeline>(options_);
    describe();
    times_.set_rate(options_.rate, stream_.time_base);
    const bool av1 = stream_.codec == "av1";
    if (options_.mastering_display)
      keyframe_messages_.push_back(mastering_display_message(*options_.mastering_display, av1));
    if (options_.content_light)
      keyframe_messages_.push_back(content_light_message(*options_.content_light, av1));
  }

  const StreamInfo& stream() const noexcept override { return stream_; }

  bool send(const Image* image, std::int64_t pts, const PictureRequest& request) override {
    const SoleUse::Call call(use_);
    check(!draining_, ErrorCode::invalid_argument, "encoder: picture after the end");
    if (!image) return send_end();
    if (pts == no_pts) pts = times_.next();
    check(last_pts_ == no_pts || pts > last_pts_, ErrorCode::invalid_argument,
          "encode: pts {} after pts {}; expected presentation order", pts, last_pts_);
    inserter_.check_messages(request.sei);
    check_empty_messages(request.sei);
    check_picture(*image);
    if (next_) switch_pipeline();
    if (!pipeline_->has_room()) return false;
    const bool restarts = !restart_reason_.empty();
    pipeline_->encode(*image, {pts, request.force_idr || force_next_ || restarts,
                               request.emit_headers || restarts, request.sei});
    force_next_ = false;
    if (restarts) restarts_.push_back({pts, std::exchange(restart_reason_, {})});
    if (first_pts_ == no_pts) first_pts_ = pts, first_step_ = times_.step();
    last_pts_ = pts;
    times_.take(pts);
    sent_times_.push_back(pts);
    return true;
  }

  std::optional<Packet> receive() override {
    const SoleUse::Call call(use_);
    if (!ready_.empty()) {
      Packet packet = std::move(ready_.front());
      ready_.pop_front();
      return packet;
    }
    std::optional<EncodedPicture> picture = pipeline_->take();
    if (!picture) return std::nullopt;
    return to_packet(std::move(*picture));
  }

  bool finished() const noexcept override { return draining_ && ready_.empty() && pipeline_->empty(); }

  EncoderReconfigure reconfigurable() const override { return reconfigurable_state(options_); }

  void reconfigure(const EncoderReconfigure& change) override {
    const SoleUse::Call call(use_);
    check(!draining_, ErrorCode::invalid_argument, "encoder: reconfigure() after the end");
    const EncoderOptions changed = changed_options(options_, change);
    const bool resized = changed.width != options_.width || changed.height != options_.height;
    const bool passes = changed.multipass != options_.multipass;
    std::string names = changes_between(options_, changed);
    check(!resized || !options_.global_header, ErrorCode::unsupported,
          "reconfigure: size {}x{}: the headers lie apart (global_header), where there is place for one size",
          changed.width, changed.height);
    if (!names.empty() || passes) change_to(changed, names, resized);
    force_next_ = force_next_ || change.force_idr;
  }

  const std::vector<EncoderRestart>& restarts() const noexcept override { return restarts_; }

private:
  void describe() {
    const StoredForm& stored = pipeline_->configuration().stored;
    stream_.kind = "video";
    stream_.codec = name_of(pipeline_->configuration().codec);
    stream_.width = options_.width;
    stream_.height = options_.height;
    stream_.format = stored.decoded;
    stream_.native_format = stored.native;
    stream_.bit_depth = static_cast<int>(stored.depth);
    stream_.time_base =
        options_.time_base.den > 0 ? options_.time_base : Rational{options_.rate.den, options_.rate.num};
    stream_.average_rate = options_.rate;
    stream_.sample_aspect = options_.sample_aspect;
    stream_.bit_rate = options_.bit_rate;
    stream_.color = options_.color;
    if (options_.global_header) stream_.extradata = pipeline_->headers();
    inserter_ = StreamInserter(stream_.codec);
  }

  void check_picture(const Image& image) const {
    check(image.defined() && image.width == options_.width && image.height == options_.height,
          ErrorCode::invalid_argument, "encode: picture of {}x{}, the encoder was created for {}x{}",
          image.width, image.height, options_.width, options_.height);
    check(image.device.is_host() || image.device == options_.device, ErrorCode::unsupported,
          "encode: picture lies on {}, the encoder is on {}; copy it there or to the host first",
          image.device.to_string(), options_.device.to_string());
    const StoredForm& stored = pipeline_->configuration().stored;
    const ColorInfo given = complete_color(image.color, image.height);
    check(
        options_.tuning != Tuning::lossless ||
            (keeps_samples(image.format, stored) && given.matrix == options_.color.matrix &&
             given.range == options_.color.range),
        ErrorCode::invalid_argument,
        "encode: tuning lossless with a picture of {} {} {}, which would be converted to {} {} {}; give the "
        "encoder that format and these colours",
        to_string(image.format), to_string(image.color.matrix), to_string(image.color.range), stored.native,
        to_string(options_.color.matrix), to_string(options_.color.range));
  }

  static void check_empty_messages(const std::vector<SeiMessage>& messages) {
    for (const SeiMessage& message : messages)
      check(!message.bytes.empty(), ErrorCode::unsupported,
            "encode: SEI of type {} without bytes, which NVENC does not write", message.type);
  }

  bool send_end() {
    next_.reset();
    pipeline_->flush();
    draining_ = true;
    return true;
  }

  /// As the session runs where the GPU can, else in a new one, which has to open before anything changes.
  void change_to(const EncoderOptions& changed, const std::string& names, bool resized) {
    if (next_ || !pipeline_->can_become(changed)) {
      next_ = std::make_unique<Pipeline>(changed);
      note_restart(names);
    } else {
      if (resized) drain();
      pipeline_->become(changed);
      if (resized) note_restart(names);
    }
    if (changed.rate != options_.rate) times_.set_rate(changed.rate, stream_.time_base);
    options_ = changed;
    if (next_ && first_pts_ == no_pts) switch_pipeline(); // It took no picture yet.
    if (!next_) describe();
  }

  /// Of the next picture, if it is not the first.
  void note_restart(const std::string& names) {
    if (first_pts_ == no_pts) return;
    restart_reason_ += (restart_reason_.empty() ? "" : ", ") + names;
  }

  /// All packets of what was sent so far come first.
  void drain() {
    if (pipeline_->empty()) return;
    pipeline_->flush();
    while (std::optional<EncodedPicture> picture = pipeline_->take())
      ready_.push_back(to_packet(std::move(*picture)));
    check(pipeline_->empty(), ErrorCode::device, "nvenc: {}: packets are missing at the end",
          options_.device.to_string());
  }

  void switch_pipeline() {
    drain();
    pipeline_ = std::move(next_);
    describe();
  }

  Packet to_packet(EncodedPicture picture) {
    const bool key = picture.type == NV_ENC_PIC_TYPE_IDR;
    auto bytes = std::make_shared<std::vector<std::byte>>(std::move(picture.bytes));
    if (key && !keyframe_messages_.empty()) *bytes = inserter_.inserted(*bytes, {}, keyframe_messages_);
    Packet packet;
    packet.pts = picture.pts;
    packet.dts = next_dts(picture.pts);
    packet.key = key;
    packet.picture_type = type_of(picture.type);
    packet.average_qp = static_cast<float>(static_cast<std::int32_t>(picture.average_qp));
    packet.bytes = *bytes;
    packet.owner = std::move(bytes);
    return packet;
  }

  /// Times in the order of presentation, as many pictures late as reordering needs: one, or two where
  /// B-frames refer to one in their middle. AV1 hands out pictures in the order of presentation.
  std::int64_t next_dts(std::int64_t pts) {
    const Configuration& with = pipeline_->configuration();
    const uint32_t b_frames = with.codec == Codec::av1 ? 0 : with.b_frames();
    const bool middle = with.b_references() == NV_ENC_BFRAME_REF_MODE_MIDDLE && b_frames > 1;
    const std::int64_t late = b_frames == 0 ? 0 : middle ? 2 : 1;
    std::int64_t dts = 0;
    if (packets_ < late) {
      dts = first_pts_ - (late - packets_) * first_step_;
    } else {
      dts = sent_times_.front();
      sent_times_.pop_front();
    }
    ++packets_;
    dts = std::min(dts, pts);
    if (last_dts_ != no_pts && dts <= last_dts_) dts = std::min(last_dts_ + 1, pts);
    return last_dts_ = dts;
  }

  SoleUse use_{"Encoder"};
  EncoderOptions options_;                    ///< With complete colours.
  std::unique_ptr<Pipeline> pipeline_, next_; ///< The next takes over with the next picture.
  std::string restart_reason_;                ///< Of the next picture.
  std::vector<EncoderRestart> restarts_;
  StreamInfo stream_;
  StreamInserter inserter_;
  std::vector<SeiMessage> keyframe_messages_;
  std::deque<Packet> ready_;
  std::deque<std::int64_t> sent_times_;
  DefaultTimes times_;
  std::int64_t first_step_ = 1; ///< Ticks of a frame when the first picture came.
  std::int64_t first_pts_ = no_pts, last_pts_ = no_pts, last_dts_ = no_pts, packets_ = 0;
  bool force_next_ = false, draining_ = false;
};

} // namespace

std::unique_ptr<Encoder> create_encoder(const EncoderOptions& options) {
  return std::make_unique<NvencEncoder>(options);
}

} // namespace lanner::nvenc
