#pragma once
// Ownership of FFmpeg's objects, its errors and its log.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <lanner/error.h>
#include <lanner/packet.h>

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/dict.h>
#include <libavutil/frame.h>
}

#include "device/team.h"

namespace lanner::ffmpeg {

/// Knows how often the process had been forked when the codec was made: a codec's threads stay in the parent,
/// and to wait for them in a child, to end them too, would take for ever.
struct CodecContextFree {
  unsigned forks = forks_seen();

  bool lost_threads(const AVCodecContext& context) const {
    return context.thread_count != 1 && forks != forks_seen();
  }
  void operator()(AVCodecContext* context) const {
    if (!lost_threads(*context)) avcodec_free_context(&context);
  }
};
using CodecContextPtr = std::unique_ptr<AVCodecContext, CodecContextFree>;
/// Throws Error{unsupported} in a forked child that lacks the codec's threads.
void check_threads(const CodecContextPtr& context);

struct FrameFree {
  void operator()(AVFrame* frame) const { av_frame_free(&frame); }
};
using FramePtr = std::unique_ptr<AVFrame, FrameFree>;
FramePtr make_frame();

/// Also the deleter of Packet::owner, by which the module knows its own packets.
struct PacketFree {
  void operator()(AVPacket* packet) const { av_packet_free(&packet); }
  void operator()(const AVPacket* packet) const { (*this)(const_cast<AVPacket*>(packet)); }
};
using PacketPtr = std::unique_ptr<AVPacket, PacketFree>;
PacketPtr make_packet();

/// Also the deleter of StreamInfo::parameters.
struct ParametersFree {
  void operator()(AVCodecParameters* parameters) const { avcodec_parameters_free(&parameters); }
  void operator()(const AVCodecParameters* parameters) const {
    (*this)(const_cast<AVCodecParameters*>(parameters));
  }
};
using ParametersPtr = std::unique_ptr<AVCodecParameters, ParametersFree>;
ParametersPtr make_parameters();

/// An AVDictionary that is freed; `leftover` names the first key that FFmpeg did not take.
class Dictionary {
public:
  Dictionary() = default;
  ~Dictionary() { av_dict_free(&dictionary_); }
  Dictionary(const Dictionary&) = delete;
  Dictionary& operator=(const Dictionary&) = delete;

  void set(const std::string& key, const std::string& value);
  bool has(const std::string& key) const;
  std::string get(const std::string& key) const; ///< Empty where there is none.
  std::string leftover() const;
  AVDictionary** out() noexcept { return &dictionary_; }

private:
  AVDictionary* dictionary_ = nullptr;
};

/// Sends FFmpeg's log to lanner::log, once a process.
void route_log();
/// Forgets the errors that FFmpeg logged on this thread, so that the next failure quotes only its own.
void clear_logged_error();
bool has_logged_error();
/// What it logged on this thread since then, and what it shall count as having logged here, though it was
/// another thread that it decoded on.
std::string logged_errors();
void quote_error(const std::string& text);
/// What libx264, libx265 or libsvtav1 logged since then of an option that they do not know, and go on
/// without; empty for nothing.
std::string refused_option();
/// FFmpeg's text for `error`, with what it logged on this thread since clear_logged_error().
std::string error_text(int error);
/// Whether such a text says that a picture has more pixels than the codec was told to take. FFmpeg tells this
/// from damage by its words alone.
inline bool says_too_many_pixels(std::string_view text) {
  return text.find("max pixel count") != text.npos;
}
/// The ErrorCode that suits an AVERROR met while reading or decoding.
ErrorCode error_code(int error);

/// Text from a file as UTF-8: bytes that are not, and control characters but tab and new line, become `?`.
std::string clean_text(const char* text);

inline std::int64_t to_pts(std::int64_t value) {
  return value == AV_NOPTS_VALUE ? no_pts : value;
}
inline std::int64_t from_pts(std::int64_t value) {
  return value == no_pts ? AV_NOPTS_VALUE : value;
}
inline Rational to_rational(AVRational value) {
  return {value.num, value.den};
}
AVRational from_rational(Rational value);

} // namespace lanner::ffmpeg
