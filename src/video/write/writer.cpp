#include <lanner/encoder.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/threads/sole_use.h"
#include "video/write/encoder_options.h"

namespace lanner {

struct VideoWriter::State {
  State(std::unique_ptr<Muxer> made, const EncoderOptions& encoder_options)
      : options(encoder_options), muxer(std::move(made)) {
    check(muxer != nullptr, ErrorCode::invalid_argument, "VideoWriter: no muxer was given");
    check_encoder_options(options, false);
    options.global_header = muxer->wants_global_header();
    if (options.time_base.den <= 0) options.time_base = {options.rate.den, options.rate.num};
    if (options.width > 0 && options.height > 0 && options.color.matrix != ColorMatrix::unspecified) open();
  }

  // Without a size or colours of its own the file takes those of its first picture.
  void open_for(const Image& first) {
    if (encoder) return;
    if (options.width <= 0) options.width = first.width;
    if (options.height <= 0) options.height = first.height;
    if (options.color.matrix == ColorMatrix::unspecified && format_info(first.format).yuv)
      options.color = first.color;
    open();
  }

  void open() {
    encoder = create_encoder(options);
    stream = muxer->add_stream(encoder->stream());
  }

  void send(const Image* image, std::int64_t pts) {
    while (!encoder->send(image, pts)) drain();
    drain();
  }

  void drain() {
    while (std::optional<Packet> packet = encoder->receive()) {
      packet->stream = stream;
      if (packet->pts == last_pts && last_duration > 0)
        packet->duration = last_duration;
      else if (packet->duration <= 0)
        packet->duration = step();
      muxer->write(*packet);
    }
  }

  // Ticks of one frame at the nominal rate.
  std::int64_t step() const {
    const double seconds = static_cast<double>(options.rate.den) / static_cast<double>(options.rate.num);
    return std::max<std::int64_t>(1,
                                  static_cast<std::int64_t>(seconds / options.time_base.to_double() + 0.5));
  }

  SoleUse use{"VideoWriter"};
  EncoderOptions options;
  std::unique_ptr<Muxer> muxer;
  std::unique_ptr<Encoder> encoder;
  int stream = 0;
  std::int64_t last_pts = no_pts, last_duration = 0, next_pts = 0;
  bool finished = false;
};

VideoWriter::VideoWriter(const std::string& path, const EncoderOptions& options)
    : VideoWriter(create_muxer(path), options) {}
VideoWriter::VideoWriter(std::unique_ptr<Muxer> muxer, const EncoderOptions& options)
    : state_(std::make_unique<State>(std::move(muxer), options)) {}
VideoWriter::~VideoWriter() = default;
VideoWriter::VideoWriter(VideoWriter&&) noexcept = default;
VideoWriter& VideoWriter::operator=(VideoWriter&&) noexcept = default;

void VideoWriter::write(const Image& image, std::int64_t pts, std::int64_t duration) {
  State& state = *state_;
  const SoleUse::Call call(state.use);
  check(!state.finished, ErrorCode::invalid_argument, "VideoWriter: write() after finish()");
  state.open_for(image);
  if (pts == no_pts) pts = state.next_pts;
  check(state.last_pts == no_pts || pts > state.last_pts, ErrorCode::invalid_argument,
        "VideoWriter: pts {} after pts {}; expected presentation order", pts, state.last_pts);
  state.last_pts = pts;
  state.last_duration = duration;
  state.send(&image, pts);
  state.next_pts = pts + state.step();
}

void VideoWriter::finish() {
  State& state = *state_;
  const SoleUse::Call call(state.use);
  check(!state.finished, ErrorCode::invalid_argument, "VideoWriter: finish() was called before");
  check(state.encoder != nullptr, ErrorCode::invalid_argument, "VideoWriter: no picture was written");
  state.send(nullptr, no_pts);
  state.muxer->finish();
  state.finished = true;
}

} // namespace lanner
