#include "video/ffmpeg/codec_ahead.h"

#include <utility>

#include "video/ffmpeg/library.h"
#include "video/read/decoder_threads.h"

namespace lanner::ffmpeg {

CodecAhead::CodecAhead(AVCodecContext& context, FrameMemory& memory)
    : context_(context), memory_(memory), pool_(decoder_pool()) {}

void CodecAhead::finish() {
  task_.finish();
  results_ = std::exchange(coming_, {});
}

// Results of the packet before are taken in: who was told to send more may do so.
int CodecAhead::send(PacketPtr packet, std::int64_t mark) {
  if (draining_) return AVERROR_EOF;
  if (!results_.empty()) return AVERROR(EAGAIN);
  finish();
  if (forks_ != forks_seen()) { // The pool's threads are the parent's.
    pool_ = decoder_pool();
    forks_ = forks_seen();
  }
  draining_ = !packet;
  packet_ = std::move(packet);
  task_.hand(*pool_, [this, mark] { decode(packet_.get(), mark); });
  return 0;
}

int CodecAhead::receive(AVFrame& frame) {
  if (results_.empty() && draining_) finish();
  if (results_.empty()) return draining_ ? AVERROR_EOF : AVERROR(EAGAIN); // The next packet takes in more.
  const Result result = std::move(results_.front());
  results_.pop_front();
  refused_ = result.refused;
  if (result.frame)
    av_frame_move_ref(&frame, result.frame.get());
  else
    quote_error(result.logged);
  return result.status;
}

/// False where the codec has nothing more to give for this packet.
bool CodecAhead::add(int status, FramePtr frame) {
  if (status == AVERROR(EAGAIN) || status == AVERROR_EOF) return false;
  const bool refused = memory_.take_refusal();
  if (status < 0) frame = nullptr;
  coming_.push_back({std::move(frame), status, logged_errors(), refused});
  return true;
}

void CodecAhead::decode(const AVPacket* packet, std::int64_t mark) {
  try {
    clear_logged_error();
    const int sent = packet ? send_marked(context_, *packet_, mark) : avcodec_send_packet(&context_, nullptr);
    if (sent < 0) add(sent);
    for (bool more = true; more;) {
      clear_logged_error();
      FramePtr frame = make_frame();
      const int status = avcodec_receive_frame(&context_, frame.get());
      more = add(status, std::move(frame));
    }
  } catch (...) { // Of memory alone.
    coming_.push_back({nullptr, AVERROR(ENOMEM), {}, false});
  }
}

} // namespace lanner::ffmpeg
