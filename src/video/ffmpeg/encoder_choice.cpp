#include "video/ffmpeg/encoder_choice.h"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <string_view>

#include <fmt/ranges.h>

#include "base/check.h"
#include "video/ffmpeg/library.h"
#include "video/ffmpeg/pixel_format.h"

extern "C" {
#include <libavutil/pixdesc.h>
}

namespace lanner::ffmpeg {

namespace {

struct Choice {
  std::string_view codec;
  const char* encoder;
};

// In order of preference: quality at a given speed on a CPU first.
constexpr Choice choices[] = {
    {"h264", "libx264"},     {"h264", "libopenh264"}, {"hevc", "libx265"}, {"h265", "libx265"},
    {"av1", "libsvtav1"},    {"av1", "libaom-av1"},   {"av1", "librav1e"}, {"vp9", "libvpx-vp9"},
    {"vp8", "libvpx"},       {"mpeg4", "mpeg4"},      {"mjpeg", "mjpeg"},  {"ffv1", "ffv1"},
    {"mpeg2", "mpeg2video"}, {"png", "png"},
};

// How each encoder spells what EncoderOptions names.
struct Dialect {
  std::string_view encoder;
  const char* quality;       ///< Option for constant quality; null when it has none of its own.
  const char* speed;         ///< Option for the preset.
  const char* default_speed; ///< Taken when no preset is asked for; null leaves the encoder's.
};

constexpr Dialect dialects[] = {
    {"libx264", "crf", "preset", "veryfast"}, {"libx265", "crf", "preset", "veryfast"},
    {"libsvtav1", "crf", "preset", "10"},     {"libaom-av1", "crf", "cpu-used", "8"},
    {"libvpx-vp9", "crf", "cpu-used", "5"},   {"libvpx", "crf", "cpu-used", "5"},
    {"librav1e", "qp", "speed", "10"},
};

const Dialect* dialect_of(std::string_view encoder) {
  for (const Dialect& dialect : dialects)
    if (dialect.encoder == encoder) return &dialect;
  return nullptr;
}

void silence(const AVCodec& codec, Dictionary& settings) {
  const std::string_view name = codec.name;
  if (name == "libx265" && !settings.has("x265-params")) settings.set("x265-params", "log-level=none");
  if (name != "libsvtav1") return;
  // SVT-AV1 prints to stderr whatever FFmpeg's log level is; this variable is its only switch, and 0 the
  // least.
  static std::once_flag once;
  std::call_once(once, [] { setenv("SVT_LOG", "0", 0); });
}

// x264 and x265 print to stderr what they do not know, before they have been told where to log.
void check_known(std::string_view encoder, const EncoderOptions& options, const std::string& preset) {
  constexpr std::string_view presets[] = {"ultrafast", "superfast", "veryfast", "faster",   "fast",
                                          "medium",    "slow",      "slower",   "veryslow", "placebo"};
  constexpr std::string_view tunes[] = {"film",   "animation",    "grain",      "stillimage",
                                        "psnr",   "ssim",         "fastdecode", "zerolatency",
                                        "touhou", "zero-latency", "fast-decode"};
  if (encoder != "libx264" && encoder != "libx265") return;
  const bool number = preset.size() == 1 && preset[0] >= '0' && preset[0] <= '9';
  check(number || std::ranges::find(presets, preset) != std::end(presets), ErrorCode::invalid_argument,
        "encoder {} has no preset '{}': expected {}", encoder, preset, fmt::join(presets, ", "));
  const auto tune = options.codec_options.find("tune");
  check(tune == options.codec_options.end() || std::ranges::find(tunes, tune->second) != std::end(tunes),
        ErrorCode::invalid_argument, "encoder {} has no tune '{}': expected {}", encoder,
        tune == options.codec_options.end() ? "" : tune->second, fmt::join(tunes, ", "));
}

} // namespace

const AVCodec* find_encoder(const std::string& name) {
  for (const Choice& choice : choices) {
    if (choice.codec != name) continue;
    if (const AVCodec* codec = avcodec_find_encoder_by_name(choice.encoder)) return codec;
  }
  const AVCodec* codec = avcodec_find_encoder_by_name(name.c_str());
  if (!codec) {
    const AVCodecDescriptor* descriptor = avcodec_descriptor_get_by_name(name.c_str());
    if (descriptor) codec = avcodec_find_encoder(descriptor->id);
  }
  check(codec != nullptr, ErrorCode::unsupported,
        "no encoder '{}' in FFmpeg {}: expected h264, hevc, av1, vp9, mpeg4, mjpeg, ffv1 or a name that "
        "`lanner doctor` lists",
        name, av_version_info());
  check(codec->type == AVMEDIA_TYPE_VIDEO, ErrorCode::invalid_argument, "encoder '{}' is not for video",
        name);
  return codec;
}

AVPixelFormat encoder_format(const AVCodec& codec, const EncoderOptions& options) {
  AVPixelFormat wanted = to_av(options.format);
  if (wanted == AV_PIX_FMT_NONE) wanted = AV_PIX_FMT_RGB24;
  const AVPixelFormat* formats = pixel_formats(codec);
  if (!formats) return wanted;
  AVPixelFormat candidates[256];
  std::size_t count = 0;
  for (; *formats != AV_PIX_FMT_NONE && count < 255; ++formats) {
    if (*formats == wanted) return wanted;
    const auto direct = direct_format(*formats);
    if (!direct) continue;
    // Full range by name is how older mjpeg encoders list the very format that was asked for.
    if (direct->full_range && direct->format == options.format) return *formats;
    candidates[count++] = *formats;
  }
  candidates[count] = AV_PIX_FMT_NONE;
  check(count > 0, ErrorCode::unsupported, "encoder {} takes no pixel format that Lanner can make",
        codec.name);
  return avcodec_find_best_pix_fmt_of_list(candidates, wanted, 0, nullptr);
}

void fill_settings(const AVCodec& codec, const EncoderOptions& options, Dictionary& settings) {
  for (const auto& [key, value] : options.codec_options) settings.set(key, value);
  silence(codec, settings);
  const Dialect* dialect = dialect_of(codec.name);
  const auto own = options.codec_options.find("preset");
  check_known(codec.name, options,
              own != options.codec_options.end() ? own->second
              : options.preset.empty()           ? "medium"
                                                 : options.preset);
  const auto put = [&](const char* key, const std::string& value) {
    if (key && !value.empty() && !settings.has(key)) settings.set(key, value);
  };
  if (dialect) put(dialect->speed, !options.preset.empty() ? options.preset : dialect->default_speed);
  check(dialect || options.preset.empty(), ErrorCode::invalid_argument, "encoder {} has no presets; got '{}'",
        codec.name, options.preset);
  if (options.crf < 0) return;
  check(dialect != nullptr, ErrorCode::invalid_argument,
        "encoder {} has no constant quality scale; give a bit rate, or its own options", codec.name);
  put(dialect->quality, fmt::format("{:g}", options.crf));
}

} // namespace lanner::ffmpeg
