#include "video/ffmpeg/av.h"

#include <algorithm>
#include <cstdarg>
#include <limits>
#include <mutex>
#include <new>

#include <lanner/log.h>

#include "base/check.h"
#include "base/text/utf8.h"
#include "video/ffmpeg/frame_memory.h"

extern "C" {
#include <libavutil/error.h>
#include <libavutil/log.h>
}

namespace lanner::ffmpeg {

namespace {

thread_local std::string logged_error, option_line;

/// How FFmpeg's wrappers begin to say that a library did not take an option.
bool says_wrong_option(std::string_view text) {
  return text.starts_with("Error parsing option") || text.starts_with("Unknown option") ||
         text.starts_with("Invalid value for");
}

// File names and metadata reach the log unchanged: one line, no control characters.
std::string one_line(const char* text) {
  std::string result;
  for (const char* c = text; *c && result.size() < 300; ++c) {
    const auto byte = static_cast<unsigned char>(*c);
    if (byte == '\n' || byte == '\r') continue;
    result += byte < 0x20 || byte >= 0x7f ? '?' : *c;
  }
  return result;
}

void forward_log(void* context, int level, const char* format, va_list arguments) noexcept {
  if (level > AV_LOG_INFO || level < 0) return;
  try {
    char line[512];
    int print_prefix = 0;
    av_log_format_line2(nullptr, level, format, arguments, line, sizeof line, &print_prefix);
    std::string text = one_line(line);
    if (text.empty()) return;
    if (level <= AV_LOG_ERROR && logged_error.empty()) logged_error = text;
    if (level <= AV_LOG_WARNING && option_line.empty() && says_wrong_option(text)) option_line = text;
    const AVClass* type = context ? *static_cast<const AVClass* const*>(context) : nullptr;
    if (level <= AV_LOG_ERROR && type && type == avcodec_get_class())
      FrameMemory::note_error(*static_cast<const AVCodecContext*>(context));
    if (type && type->item_name) text = one_line(type->item_name(context)) + ": " + text;
    log_message(level <= AV_LOG_WARNING ? LogLevel::warning : LogLevel::debug, "ffmpeg: " + text);
  } catch (...) { // A lost message is the lesser harm inside a C callback.
  }
}

template<typename Pointer>
Pointer not_null(Pointer pointer) {
  if (!pointer) throw std::bad_alloc();
  return pointer;
}

} // namespace

void check_threads(const CodecContextPtr& context) {
  check(
      !context.get_deleter().lost_threads(*context), ErrorCode::unsupported,
      "{}: this process was forked after the codec was opened, and the codec's threads stayed in the parent; "
      "open the video in the child, or start it by spawn",
      context->codec->name);
}

FramePtr make_frame() {
  return not_null(FramePtr(av_frame_alloc()));
}
PacketPtr make_packet() {
  return not_null(PacketPtr(av_packet_alloc()));
}
ParametersPtr make_parameters() {
  return not_null(ParametersPtr(avcodec_parameters_alloc()));
}

void Dictionary::set(const std::string& key, const std::string& value) {
  if (av_dict_set(&dictionary_, key.c_str(), value.c_str(), 0) < 0) throw std::bad_alloc();
}

bool Dictionary::has(const std::string& key) const {
  return av_dict_get(dictionary_, key.c_str(), nullptr, 0) != nullptr;
}

std::string Dictionary::get(const std::string& key) const {
  const AVDictionaryEntry* entry = av_dict_get(dictionary_, key.c_str(), nullptr, 0);
  return entry ? entry->value : "";
}

std::string Dictionary::leftover() const {
  const AVDictionaryEntry* entry = av_dict_get(dictionary_, "", nullptr, AV_DICT_IGNORE_SUFFIX);
  return entry ? entry->key : "";
}

void route_log() {
  static std::once_flag once;
  std::call_once(once, [] { av_log_set_callback(forward_log); });
}

void clear_logged_error() {
  logged_error.clear();
  option_line.clear();
}

std::string refused_option() {
  return option_line;
}

bool has_logged_error() {
  return !logged_error.empty();
}

std::string logged_errors() {
  return logged_error;
}

void quote_error(const std::string& text) {
  logged_error = text;
}

std::string error_text(int error) {
  char text[AV_ERROR_MAX_STRING_SIZE] = {};
  av_strerror(error, text, sizeof text);
  return logged_error.empty() ? std::string(text) : fmt::format("{} ({})", text, logged_error);
}

ErrorCode error_code(int error) {
  switch (error) {
  case AVERROR(ENOMEM):
    return ErrorCode::out_of_memory;
  case AVERROR_EXIT:
    return ErrorCode::cancelled;
  case AVERROR(EIO):
    return ErrorCode::io;
  case AVERROR_PATCHWELCOME:
  case AVERROR_DECODER_NOT_FOUND:
  case AVERROR_DEMUXER_NOT_FOUND:
  case AVERROR(ENOSYS):
    return ErrorCode::unsupported;
  default:
    return ErrorCode::bad_data;
  }
}

std::string clean_text(const char* text) {
  std::string result;
  for (std::string_view rest = text; !rest.empty();) {
    const Utf8Character next = first_character(rest);
    const bool control = (next.code < 0x20 && next.code != '\t' && next.code != '\n') || next.code == 0x7f;
    if (!next.valid || control)
      result += '?';
    else
      result += rest.substr(0, next.bytes);
    rest.remove_prefix(next.bytes);
  }
  return result;
}

AVRational from_rational(Rational value) {
  AVRational result{0, 1};
  if (value.den > 0)
    av_reduce(&result.num, &result.den, value.num, value.den, std::numeric_limits<int>::max());
  return result;
}

} // namespace lanner::ffmpeg
