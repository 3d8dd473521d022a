#pragma once
// A container as FFmpeg reads it: opening, reading, seeking, and the errors of each.

#include <memory>
#include <string>
#include <string_view>

#include <lanner/demuxer.h>

#include "video/ffmpeg/av.h"
#include "video/ffmpeg/byte_io.h"

namespace lanner::ffmpeg {

struct FormatClose {
  void operator()(AVFormatContext* context) const { avformat_close_input(&context); }
};
using FormatPtr = std::unique_ptr<AVFormatContext, FormatClose>;

class Container {
public:
  /// Probes the format and reads the streams' descriptions. Throws Error{unsupported, bad_data, io,
  /// cancelled, limit_exceeded}.
  Container(SourcePtr source, const DemuxerOptions& options);
  Container(const Container&) = delete; // FFmpeg holds its address.
  Container& operator=(const Container&) = delete;

  AVFormatContext& context() noexcept { return *context_; }
  const AVFormatContext& context() const noexcept { return *context_; }
  ByteSource& source() noexcept { return *source_; }
  const std::string& name() const noexcept { return source_->name(); }
  /// Breaks of a transport stream in what was read so far.
  const TsBreaks& breaks() const noexcept { return reader_->breaks(); }

  /// Begins a call that Limits::seconds bounds.
  void restart_watch() noexcept { stop_.restart(); }
  /// The next packet; null at the end.
  PacketPtr read();
  /// av_seek_frame(); whether FFmpeg found a way. Throws only what stopped it from outside.
  bool seek(int stream, std::int64_t target, int flags);
  /// Throws the error of a failed seek().
  [[noreturn]] void fail_seeking();
  /// Continues at the first packet, with the same format and all streams selected.
  void reopen();
  /// What read() found missing at the end; empty while nothing is known to be.
  const std::string& damage() const noexcept { return damage_; }

private:
  const AVInputFormat* choose_format();
  void open(const AVInputFormat* format);
  void probe_streams();
  [[noreturn]] void fail_reading(std::string_view what, int status);
  static int interrupted(void* self);
  static int refuse_open(AVFormatContext* context, AVIOContext**, const char* url, int,
                         AVDictionary**) noexcept;

  DemuxerOptions options_;
  SourcePtr source_;
  StopWatch stop_;
  std::unique_ptr<SourceReader> reader_;
  std::string refused_, damage_;
  int seek_status_ = 0;
  FormatPtr context_; // After reader_: closing may still read.
};

} // namespace lanner::ffmpeg
