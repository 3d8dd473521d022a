#include "video/ffmpeg/encoder_choice.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <initializer_list>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <lanner/nearest.h>

#include "base/check.h"
#include "base/text/joined.h"
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
  double worst = 0;          ///< End of the quality's scale where the encoder would not complain; 0: it does.
};

constexpr Dialect dialects[] = {
    {"libx264", "crf", "preset", "veryfast", 51},
    {"libx265", "crf", "preset", "veryfast", 51},
    {"libsvtav1", "crf", "preset", "10"},
    {"libaom-av1", "crf", "cpu-used", "8"},
    {"libvpx-vp9", "crf", "cpu-used", "5"},
    {"libvpx", "crf", "cpu-used", "5"},
    {"librav1e", "qp", "speed", "10"},
};

const Dialect* dialect_of(std::string_view encoder) {
  for (const Dialect& dialect : dialects)
    if (dialect.encoder == encoder) return &dialect;
  return nullptr;
}

constexpr std::string_view x264_presets[] = {"ultrafast", "superfast", "veryfast", "faster",   "fast",
                                             "medium",    "slow",      "slower",   "veryslow", "placebo"};
constexpr std::string_view x264_tunes[] = {"film", "animation",  "grain",       "stillimage", "psnr",
                                           "ssim", "fastdecode", "zerolatency", "touhou"};
constexpr std::string_view x264_profiles[] = {"baseline", "main", "high", "high10", "high422", "high444"};

bool same_name(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

// x264 and x265 print to stderr, past every log, where they do not know one of these names.
void check_names(std::string_view encoder, const Dictionary& settings) {
  const auto require = [&](const char* key, std::span<const std::string_view> known, bool numbers) {
    const std::string value = settings.get(key);
    std::string_view rest = value;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find_first_of(",./-+"), rest.size());
      const std::string_view name = rest.substr(0, end);
      const bool number = numbers && name.size() == 1 && name[0] >= '0' && name[0] <= '9';
      check(number || std::ranges::any_of(known, [&](std::string_view one) { return same_name(one, name); }),
            ErrorCode::invalid_argument, "encoder {}: no {} '{}'; expected one of {}{}", encoder, key, name,
            joined(known, ", "), did_you_mean(name, std::vector<std::string>(known.begin(), known.end())));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  };
  require("preset", x264_presets, true);
  require("tune", x264_tunes, false);
  if (encoder == "libx264") require("profile", x264_profiles, false);
}

constexpr std::int32_t least_size_of_svt = 64;

// SVT-AV1 does not take every size that AV1 has; other encoders of AV1 do.
bool takes_size(std::string_view encoder, std::int32_t width, std::int32_t height) {
  return encoder != "libsvtav1" ||
         (width % 2 == 0 && height % 2 == 0 && width >= least_size_of_svt && height >= least_size_of_svt);
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

/// FFmpeg's names of what EncoderOptions has a member for. Given in both ways, one would be dropped.
void check_given_once(const AVCodec& codec, const EncoderOptions& options, const Dialect* dialect) {
  const auto require = [&](bool given, const char* member, std::initializer_list<const char*> keys) {
    for (const char* key : keys)
      check(!given || !key || !options.codec_options.contains(key), ErrorCode::invalid_argument,
            "encoder {}: {} and codec_options[\"{}\"] exclude each other; give one", codec.name, member,
            key ? key : "");
  };
  const char* quality = dialect ? dialect->quality : nullptr;
  require(options.crf >= 0, "crf", {quality, "b", "qp", "global_quality"});
  require(options.bit_rate > 0, "bit_rate", {quality, "b", "qp", "global_quality"});
  require(!options.preset.empty(), "preset", {dialect ? dialect->speed : nullptr});
  require(options.gop > 0, "gop", {"g"});
  require(options.b_frames >= 0, "b_frames", {"bf"});
  require(options.threads > 0, "threads", {"threads"});
}

bool is_lossless(const AVCodec& codec) {
  const AVCodecDescriptor* descriptor = avcodec_descriptor_get(codec.id);
  return descriptor && descriptor->props & AV_CODEC_PROP_LOSSLESS &&
         !(descriptor->props & AV_CODEC_PROP_LOSSY);
}

} // namespace

const AVCodec* find_encoder(const std::string& name, std::int32_t width, std::int32_t height) {
  for (const Choice& choice : choices) {
    if (choice.codec != name || !takes_size(choice.encoder, width, height)) continue;
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
  check(takes_size(codec->name, width, height), ErrorCode::invalid_argument,
        "encoder {}: size {}x{}, expected even sizes of at least {}", codec->name, width, height,
        least_size_of_svt);
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
    if (!direct || direct->alpha) continue; // Pictures to encode have no plane of opacity.
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
  const Dialect* dialect = dialect_of(codec.name);
  check_given_once(codec, options, dialect);
  check(options.bit_rate == 0 || !is_lossless(codec), ErrorCode::invalid_argument,
        "encoder {}: bit_rate {}, but it keeps every sample and takes the bits that this needs; leave "
        "bit_rate out, "
        "or name another codec",
        codec.name, options.bit_rate);
  // FFmpeg hands SVT-AV1 a distance from 2 on alone, and drops 1.
  check(options.gop != 1 || std::string_view(codec.name) != "libsvtav1", ErrorCode::invalid_argument,
        "encoder libsvtav1: gop 1, expected 2 or more; libaom-av1 makes every frame a keyframe");
  for (const auto& [key, value] : options.codec_options) settings.set(key, value);
  silence(codec, settings);
  const auto put = [&](const char* key, const std::string& value) {
    if (key && !value.empty() && !settings.has(key)) settings.set(key, value);
  };
  if (dialect) put(dialect->speed, !options.preset.empty() ? options.preset : dialect->default_speed);
  check(dialect || options.preset.empty(), ErrorCode::invalid_argument, "encoder {} has no presets; got '{}'",
        codec.name, options.preset);
  const std::string_view name = codec.name;
  if (name == "libx264" || name == "libx265") check_names(name, settings);
  if (options.crf < 0) return;
  check(dialect != nullptr, ErrorCode::invalid_argument,
        "encoder {} has no constant quality scale; give a bit rate, or its own options", codec.name);
  check(dialect->worst <= 0 || options.crf <= dialect->worst, ErrorCode::invalid_argument,
        "encoder {}: quality {:g}, expected 0 (best) to {:g}", codec.name, options.crf, dialect->worst);
  put(dialect->quality, fmt::format("{:g}", options.crf));
}

} // namespace lanner::ffmpeg
