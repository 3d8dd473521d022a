// Containers by their extensions, and the codecs that players show in them.

#include <algorithm>
#include <array>
#include <iterator>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <lanner/video_support.h>
#include <lanner/video_writer.h>

namespace lanner {
namespace {

using Words = std::array<std::string_view, 6>; ///< Empty ones are none.

struct Container {
  std::string_view format;
  Words extensions, codecs;
};

// H.264 in AVI has no times for its reordered frames; VP8, VP9 and AV1 are all that WebM may hold.
constexpr Container containers[] = {
    {"mp4", {".mp4", ".m4v"}, {"h264", "hevc", "av1", "mpeg4"}},
    {"matroska", {".mkv"}, {"h264", "hevc", "vp9", "av1", "mpeg4"}},
    {"webm", {".webm"}, {"vp9", "av1"}},
    {"mov", {".mov", ".qt"}, {"h264", "hevc", "mpeg4"}},
    {"avi", {".avi"}, {"mpeg4", "mjpeg"}},
    {"mpegts", {".ts", ".mts", ".m2ts"}, {"h264", "hevc"}},
    {"flv", {".flv"}, {"h264"}},
    {"mjpeg", {".mjpeg", ".mjpg"}, {"mjpeg"}},
    {"h264", {".h264", ".264"}, {"h264"}},
    {"hevc", {".hevc", ".h265", ".265"}, {"hevc"}},
    {"gif", {".gif"}, {"gif"}},
    {"apng", {".apng"}, {"apng"}},
    {"webp", {".webp"}, {"webp"}},
};

bool has(const Words& words, std::string_view word) {
  return !word.empty() && std::ranges::find(words, word) != words.end();
}

/// FFmpeg's software encoders of a codec.
Words encoders_of(std::string_view codec) {
  constexpr std::pair<std::string_view, Words> known[] = {
      {"h264", {"libx264", "libopenh264"}},
      {"hevc", {"libx265"}},
      {"vp9", {"libvpx-vp9"}},
      {"av1", {"libsvtav1", "libaom-av1", "librav1e"}},
      {"mpeg4", {"mpeg4"}},
      {"mjpeg", {"mjpeg"}},
      {"gif", {"gif"}},
      {"apng", {"apng"}},
      {"webp", {"libwebp_anim", "libwebp"}},
  };
  for (const auto& [name, encoders] : known)
    if (name == codec) return encoders;
  return {};
}

bool can_encode(std::string_view codec) {
  static const VideoSupport support = video_support();
  return std::ranges::any_of(support.encoders,
                             [&](const std::string& encoder) { return has(encoders_of(codec), encoder); });
}

bool of_nvenc(std::string_view codec) {
  return codec == "h264" || codec == "hevc" || codec == "av1";
}

/// The first that can be encoded there. Where none can, the encoder says so.
std::string_view usual_codec(std::string_view format, const Device& device) {
  const auto found = std::ranges::find(containers, format, &Container::format);
  if (found == std::end(containers)) return "h264";
  for (const std::string_view codec : found->codecs)
    if (device.is_host() ? can_encode(codec) : of_nvenc(codec)) return codec;
  return found->codecs[0];
}

bool says_quality(const EncoderOptions& options) {
  const bool own =
      std::ranges::any_of(std::array{"crf", "b", "qp", "q", "qscale", "global_quality", "flags", "lossless"},
                          [&](const char* key) { return options.codec_options.contains(key); });
  return own || options.bit_rate > 0 || options.crf >= 0 || options.const_qp ||
         options.rate_control != RateControl::unspecified || options.tuning == Tuning::lossless;
}

/// FFmpeg's defaults are 200 kbit a second for MPEG-4 and JPEG: quantisers 3 and 2 of 31 are good.
void add_quality(EncoderOptions& options) {
  const auto add = [&](const char* key, const char* value) { options.codec_options.emplace(key, value); };
  if (options.codec == "vp9") {
    options.crf = 31;
    add("row-mt", "1");
  }
  if (options.codec != "mpeg4" && options.codec != "mjpeg") return;
  add("flags", "+qscale");
  add("global_quality", options.codec == "mpeg4" ? "354" : "236");
}

constexpr std::string_view lossless_codecs[] = {"ffv1",    "png",   "apng",     "ffvhuff", "huffyuv",
                                                "utvideo", "qtrle", "rawvideo", "zlib",    "magicyuv"};

} // namespace

bool is_lossless(const EncoderOptions& options) noexcept {
  return options.tuning == Tuning::lossless ||
         std::ranges::find(lossless_codecs, options.codec) != std::end(lossless_codecs);
}

std::string_view format_of_extension(std::string_view extension) noexcept {
  for (const Container& container : containers)
    if (has(container.extensions, extension)) return container.format;
  return {};
}

std::string_view audio_codec_for_format(std::string_view format) noexcept {
  if (format == "webm" || format == "ogg") return "opus";
  return format == "avi" ? "mp3" : "aac";
}

EncoderOptions encoder_for_format(std::string_view format) {
  EncoderOptions open;
  open.codec.clear();
  return encoder_for_format(format, open);
}

EncoderOptions encoder_for_format(std::string_view format, EncoderOptions given) {
  if (given.codec.empty()) given.codec = usual_codec(format, given.device);
  if (given.device.is_host() && !says_quality(given)) add_quality(given);
  return given;
}

} // namespace lanner
