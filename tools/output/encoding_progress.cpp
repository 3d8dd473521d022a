#include "output/encoding_progress.h"

#include <cerrno>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include <lanner/error.h>

#include "check.h"

namespace lanner::tool {

std::string progress_lines(const TranscodeProgress& progress) {
  const auto micros = static_cast<std::int64_t>(std::llround(progress.seconds * 1e6));
  const std::int64_t seconds = micros / 1000000;
  const double elapsed = std::max(progress.elapsed, 1e-9);
  const double kilobits =
      progress.seconds > 0 ? static_cast<double>(progress.bytes) * 8 / progress.seconds / 1000 : 0;
  std::string text;
  text +=
      fmt::format("frame={}\nfps={:.2f}\n", progress.frames, static_cast<double>(progress.frames) / elapsed);
  text += fmt::format("bitrate={:.1f}kbits/s\ntotal_size={}\n", kilobits, progress.bytes);
  // ffmpeg gives microseconds under both names.
  text += fmt::format("out_time_us={0}\nout_time_ms={0}\n", micros);
  text += fmt::format("out_time={:02}:{:02}:{:02}.{:06}\n", seconds / 3600, seconds / 60 % 60, seconds % 60,
                      micros % 1000000);
  text += fmt::format("dup_frames=0\ndrop_frames=0\nspeed={:.3g}x\n", progress.seconds / elapsed);
  text += progress.ended ? "progress=end\n" : "progress=continue\n";
  return text;
}

ProgressOutput::ProgressOutput(const std::string& path) : path_(path) {
  if (is_direct(path)) {
    direct_ = std::make_unique<ByteOutput>("--progress", path);
    return;
  }
  file_.open(path);
  check(file_.good(), ErrorCode::io, "--progress {}: {}", path, std::strerror(errno));
}

void ProgressOutput::write(const TranscodeProgress& progress) {
  const std::string text = progress_lines(progress);
  if (direct_) {
    direct_->write(text);
    direct_->commit();
    return;
  }
  file_ << text << std::flush;
  check(file_.good(), ErrorCode::io, "--progress {}: write: {}", path_, std::strerror(errno));
}

} // namespace lanner::tool
