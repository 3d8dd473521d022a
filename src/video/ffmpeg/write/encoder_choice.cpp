#include "video/ffmpeg/write/encoder_choice.h"

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
#include "video/ffmpeg/write/encoder_settings.h"
#include "video/ffmpeg/write/palette.h"

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
    {"h264", "libx264"},   {"h264", "libx264rgb"},   {"h264", "libopenh264"}, {"hevc", "libx265"},
    {"h265", "libx265"},   {"av1", "libsvtav1"},     {"av1", "libaom-av1"},   {"av1", "librav1e"},
    {"vp9", "libvpx-vp9"}, {"vp8", "libvpx"},        {"mpeg4", "mpeg4"},      {"mjpeg", "mjpeg"},
    {"ffv1", "ffv1"},      {"mpeg2", "mpeg2video"},  {"png", "png"},          {"gif", "gif"},
    {"apng", "apng"},      {"webp", "libwebp_anim"}, {"webp", "libwebp"},
};

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
  if (encoder != "libx265") require("profile", x264_profiles, false);
}

/// Whether the encoder stores the samples of that format: in any order, each of them as it is.
bool stores(const AVCodec& codec, PixelFormat format) {
  const AVPixelFormat* formats = pixel_formats(codec);
  for (; formats && *formats != AV_PIX_FMT_NONE; ++formats) {
    const auto stored = stored_format(*formats);
    if (stored && keeps_samples(format, stored->format)) return true;
  }
  return formats == nullptr;
}

/// Of the encoders of a codec the first does not store everything.
bool suits(const AVCodec& codec, const EncoderOptions& options) {
  const std::string_view name = codec.name;
  const bool lossless = options.tuning == Tuning::lossless;
  if (name == "libsvtav1") {
    const PixelFormatInfo& facts = format_info(options.format);
    return !lossless && (!facts.yuv || (facts.chroma_x == 1 && facts.chroma_y == 1));
  }
  if (name == "libx264") return !lossless || stores(codec, options.format) || format_info(options.format).yuv;
  return true;
}

constexpr std::int32_t least_size_of_svt = 64;

// SVT-AV1 does not take every size that AV1 has; other encoders of AV1 do.
bool takes_size(std::string_view encoder, std::int32_t width, std::int32_t height) {
  return encoder != "libsvtav1" ||
         (width % 2 == 0 && height % 2 == 0 && width >= least_size_of_svt && height >= least_size_of_svt);
}

/// SVT-AV1 prints to stderr whatever FFmpeg's log level is; this variable is its only switch, and 0 the
/// least.
void silence(const AVCodec& codec) {
  if (std::string_view(codec.name) != "libsvtav1") return;
  static std::once_flag once;
  std::call_once(once, [] { setenv("SVT_LOG", "0", 0); });
}

/// FFmpeg's names of what EncoderOptions has a member for. Given in both ways, one would be dropped.
void check_given_once(const AVCodec& codec, const EncoderOptions& options) {
  const auto require = [&](bool given, const char* member, std::initializer_list<const char*> keys) {
    for (const char* key : keys)
      check(!given || !options.codec_options.contains(key), ErrorCode::invalid_argument,
            "encoder {}: {} and codec_options[\"{}\"] exclude each other; give one", codec.name, member, key);
  };
  require(options.crf >= 0, "crf", {"crf", "b", "qp", "global_quality"});
  require(options.bit_rate > 0, "bit_rate", {"crf", "b", "qp", "global_quality"});
  require(options.const_qp.has_value(), "const_qp", {"crf", "b", "qp", "global_quality"});
  require(options.max_bit_rate > 0, "max_bit_rate", {"maxrate"});
  require(options.vbv_buffer_size > 0, "vbv_buffer_size", {"bufsize"});
  require(options.qp_min.has_value(), "qp_min", {"qmin"});
  require(options.qp_max.has_value(), "qp_max", {"qmax"});
  require(options.num_ref_l0.has_value(), "num_ref_l0", {"refs"});
  require(options.slice_data > 0, "slice_data", {"slices"});
  require(!options.level.empty(), "level", {"level"});
  require(!options.profile.empty(), "profile", {"profile"});
  require(options.tuning != Tuning::unspecified, "tuning", {"tune"});
  require(!options.preset.empty(), "preset", {"preset", "cpu-used", "speed"});
  require(options.gop > 0, "gop", {"g"});
  require(options.b_frames >= 0, "b_frames", {"bf"});
  require(options.threads > 0, "threads", {"threads"});
}

bool is_lossless(const AVCodec& codec) {
  const AVCodecDescriptor* descriptor = avcodec_descriptor_get(codec.id);
  return descriptor && descriptor->props & AV_CODEC_PROP_LOSSLESS &&
         !(descriptor->props & AV_CODEC_PROP_LOSSY);
}

/// VP8 and VP9 have opacity in a second stream beside the packets, which is not written here.
bool stores_alpha(const AVCodec& codec) {
  return codec.id != AV_CODEC_ID_VP8 && codec.id != AV_CODEC_ID_VP9;
}

/// Whether it is RGB of 8 bits, which a padding byte in bgr0 leaves as it is.
bool fits_padded(PixelFormat format) {
  const PixelFormatInfo& facts = format_info(format);
  return !facts.yuv && !facts.gray() && facts.bits == 8 && !facts.has_alpha();
}

/// The encoder's format for what it is fed, the nearest where it does not take that.
AVPixelFormat nearest_taken(const AVCodec& codec, const EncoderOptions& options) {
  const AVPixelFormat wanted = like_in_av(options.format);
  const bool alpha = format_info(options.format).has_alpha();
  const AVPixelFormat* formats = pixel_formats(codec);
  if (!formats) return wanted;
  if (std::string_view(codec.name) == "gif") return AV_PIX_FMT_PAL8; // See PaletteMapper.
  const bool argb_alone = codec.id == AV_CODEC_ID_WEBP && options.tuning == Tuning::lossless;
  const bool lossless = options.tuning == Tuning::lossless || is_lossless(codec);
  bool padded = false;
  AVPixelFormat candidates[256];
  std::size_t count = 0;
  for (; *formats != AV_PIX_FMT_NONE && count < 255; ++formats) {
    if (*formats == wanted && !(argb_alone && format_info(options.format).yuv) &&
        (!alpha || stores_alpha(codec)))
      return wanted;
    padded = padded || *formats == AV_PIX_FMT_BGR0;
    const auto stored = stored_format(*formats);
    if (!stored || (format_info(stored->format).has_alpha() && !(alpha && stores_alpha(codec)))) continue;
    if (argb_alone && format_info(stored->format).yuv) continue;
    // Full range by name is how older mjpeg encoders list the very format that was asked for.
    if (stored->full_range && stored->format == options.format) return *formats;
    const int bits = format_info(stored->format).bits, asked = format_info(options.format).bits;
    if (asked == 16 && bits == 12 && !is_lossless(codec)) continue; // Of 16 bits 10 are kept, as NVENC does.
    if (stored->format == options.format) return *formats;          // Big endian.
    if (lossless && keeps_samples(options.format, stored->format)) return *formats;
    candidates[count++] = *formats;
  }
  candidates[count] = AV_PIX_FMT_NONE;
  if (lossless && padded && fits_padded(options.format)) return AV_PIX_FMT_BGR0;
  check(count > 0, ErrorCode::unsupported, "encoder {} takes no pixel format that Lanner can make",
        codec.name);
  return avcodec_find_best_pix_fmt_of_list(candidates, wanted, alpha, nullptr);
}

std::string stored_formats(const AVCodec& codec) {
  std::vector<std::string> names;
  const AVPixelFormat* formats = pixel_formats(codec);
  for (; formats && *formats != AV_PIX_FMT_NONE; ++formats) {
    const auto stored = stored_format(*formats);
    if (!stored || stored->full_range || (format_info(stored->format).has_alpha() && !stores_alpha(codec)))
      continue;
    names.emplace_back(to_string(stored->format));
  }
  return joined(names, ", ");
}

} // namespace

const AVCodec* find_encoder(const EncoderOptions& options) {
  const std::string& name = options.codec;
  const std::int32_t width = options.width, height = options.height;
  for (const Choice& choice : choices) {
    if (choice.codec != name || !takes_size(choice.encoder, width, height)) continue;
    const AVCodec* codec = avcodec_find_encoder_by_name(choice.encoder);
    if (codec && suits(*codec, options)) return codec;
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

bool keeps_samples(PixelFormat from, PixelFormat to) {
  const PixelFormatInfo &a = format_info(from), &b = format_info(to);
  if (from == to) return true;
  return a.yuv == b.yuv && a.bits == b.bits && a.chroma_x == b.chroma_x && a.chroma_y == b.chroma_y &&
         a.gray() == b.gray() && a.has_alpha() == b.has_alpha();
}

AVPixelFormat encoder_format(const AVCodec& codec, const EncoderOptions& options) {
  const AVPixelFormat format = nearest_taken(codec, options);
  if (format == AV_PIX_FMT_PAL8) {
    check(options.tuning != Tuning::lossless, ErrorCode::invalid_argument,
          "encoder {}: tuning lossless: it has 256 colours; apng and webp keep all", codec.name);
    return format;
  }
  if (format == AV_PIX_FMT_BGR0) return format;
  check(options.tuning != Tuning::lossless || keeps_samples(options.format, stored_format(format)->format),
        ErrorCode::invalid_argument,
        "encoder {}: tuning lossless with format {}, of which it stores {}; expected one of {}", codec.name,
        to_string(options.format), to_string(stored_format(format)->format), stored_formats(codec));
  return format;
}

void fill_settings(const AVCodec& codec, const EncoderOptions& options, PixelFormat stored,
                   AVCodecContext& context, Dictionary& settings) {
  check_given_once(codec, options);
  check(options.bit_rate == 0 || !is_lossless(codec), ErrorCode::invalid_argument,
        "encoder {}: bit_rate {}, but it keeps every sample and takes the bits that this needs; leave "
        "bit_rate out, "
        "or name another codec",
        codec.name, options.bit_rate);
  const bool palette = std::string_view(codec.name) == "gif";
  for (const auto& [key, value] : options.codec_options)
    if (!palette || !is_palette_option(key)) settings.set(key, value);
  silence(codec);
  EncoderSettings spelled(codec, options, stored, context);
  const std::string_view name = codec.name;
  if (name == "libx265") spelled.set("log-level", "none", false); // It prints past every log.
  spelled.fill(settings);
  if (name.starts_with("libx264") || name == "libx265") check_names(name, settings);
}

} // namespace lanner::ffmpeg
