#include "video/ffmpeg/write/encoder_settings.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <initializer_list>

#include "base/check.h"
#include "video/write/encoder_options.h"
#include "video/write/encoder_tables.h"

extern "C" {
#include <libavutil/opt.h>
}

namespace lanner::ffmpeg {

namespace {

/// How each encoder spells quality, and what it takes where no preset is asked for.
struct Dialect {
  std::string_view encoder;
  const char* quality;
  const char* speed;
  const char* default_speed;
  double best, worst; ///< Ends of the quality's scale.
  bool whole;         ///< Quality is a whole number.
};

constexpr Dialect dialects[] = {
    {"libx264", "crf", "preset", "veryfast", 0, 51, false},
    {"libx264rgb", "crf", "preset", "veryfast", 0, 51, false},
    {"libx265", "crf", "preset", "veryfast", 0, 51, false},
    {"libsvtav1", "crf", "preset", "10", 1, 63, true},
    {"libaom-av1", "crf", "cpu-used", "8", 0, 63, true},
    {"libvpx-vp9", "crf", "cpu-used", "5", 0, 63, true},
    {"libvpx", "crf", "cpu-used", "5", 4, 63, true},
    {"librav1e", "qp", "speed", "10", 0, 255, true},
};

const Dialect* dialect_of(std::string_view encoder) {
  const auto* found = std::ranges::find(dialects, encoder, &Dialect::encoder);
  return found == std::end(dialects) ? nullptr : found;
}

bool matches(std::string_view pattern, std::string_view encoder) {
  if (!pattern.ends_with('*')) return pattern == encoder;
  return encoder.starts_with(pattern.substr(0, pattern.size() - 1));
}

bool has_word(std::string_view words, std::string_view word) {
  for (std::size_t at = 0; (at = words.find(word, at)) != words.npos; at += word.size()) {
    const bool begins = at == 0 || words[at - 1] == ' ';
    if (begins && (at + word.size() == words.size() || words[at + word.size()] == ' ')) return true;
  }
  return false;
}

/// Those whose options all have a place: the others are in the tables.
bool is_described(std::string_view encoder) {
  for (const char* name : {"libx264", "libx264rgb", "libx265", "libsvtav1", "libaom-av1"})
    if (encoder == name) return true;
  return false;
}

bool has_option(std::string_view encoder, std::string_view option) {
  if (option == "mastering_display" || option == "content_light") return is_described(encoder);
  if (is_described(encoder)) return true;
  for (const OtherEncoder& other : other_encoders)
    if (other.encoder == encoder) return has_word(other.options, option);
  return false;
}

int preset_number(std::string_view preset) {
  const bool named = preset.size() == 2 && (preset[0] == 'P' || preset[0] == 'p');
  return named && preset[1] >= '1' && preset[1] <= '7' ? preset[1] - '0' : 0;
}

} // namespace

const char* parameters_option(std::string_view encoder) {
  if (encoder.starts_with("libx264")) return "x264-params";
  if (encoder == "libx265") return "x265-params";
  if (encoder == "libsvtav1") return "svtav1-params";
  return encoder == "libaom-av1" ? "aom-params" : nullptr;
}

EncoderSettings::EncoderSettings(const AVCodec& codec, const EncoderOptions& options, PixelFormat stored,
                                 AVCodecContext& context)
    : codec_(codec), options_(options), stored_(stored), context_(context) {}

void EncoderSettings::refuse(bool condition, std::string_view line) const {
  check(!condition, ErrorCode::invalid_argument, "encoder {}: {}", codec_.name, line);
}

void EncoderSettings::set(const std::string& key, const std::string& value, bool asked) {
  values_[key] = {value, asked};
}

int EncoderSettings::single_qp(std::string_view name, const QpByType& qp, int least, int most) const {
  require(qp[0] == qp[1] && qp[1] == qp[2], "{} {} differs by type of picture, expected one number for all",
          name, to_text(qp));
  require(qp[0] >= least && qp[0] <= most, "{} {}, expected {} to {}", name, qp[0], least, most);
  return qp[0];
}

void EncoderSettings::check_refusals() const {
  for (const GivenEncoderOption& given : given_encoder_options(options_)) {
    for (const EncoderRefusal& refusal : encoder_refusals)
      check(!matches(refusal.encoder, codec_.name) || refusal.option != given.name, ErrorCode::unsupported,
            "encoder {}: {} {}: {}", codec_.name, given.name, given.value, refusal.why);
    check(has_option(codec_.name, given.name), ErrorCode::unsupported,
          "encoder {}: {} {}: this encoder has no such option here; libx264, libx265 and others do, and "
          "codec_options take its own by name",
          codec_.name, given.name, given.value);
  }
}

void EncoderSettings::set_preset() {
  const Dialect* dialect = dialect_of(codec_.name);
  if (const int number = preset_number(options_.preset)) {
    const auto* row = std::ranges::find(preset_rows, encoder(), &PresetRow::encoder);
    require(row != std::end(preset_rows), "preset {} has no counterpart here; leave it out", options_.preset);
    set(std::string(row->option), std::string(row->values[static_cast<std::size_t>(number - 1)]));
    return;
  }
  require(dialect || options_.preset.empty(), "it has no presets; got '{}'", options_.preset);
  if (dialect && options_.preset.empty()) set(dialect->speed, dialect->default_speed, false);
  if (dialect && !options_.preset.empty()) set(dialect->speed, options_.preset);
}

void EncoderSettings::set_tuning() {
  if (options_.tuning == Tuning::unspecified) return;
  const auto* row = std::ranges::find_if(tuning_rows, [&](const TuningRow& one) {
    return one.encoder == encoder() && one.tuning == options_.tuning;
  });
  if (row == std::end(tuning_rows)) {
    if (encoder() == "ffv1" || encoder() == "png" || encoder() == "apng") {
      require(options_.tuning == Tuning::lossless, "tuning {}: the only tuning it has is lossless",
              to_string(options_.tuning));
      return;
    }
    const std::string_view why =
        options_.tuning == Tuning::ultra_high_quality ? "only NVENC has it; use high_quality with preset P7"
        : encoder() == "libsvtav1"
            ? "SVT-AV1 1.4 loses samples; libaom-av1, libx265, libvpx-vp9 and ffv1 do not"
            : "it has no such mode";
    refuse(true, fmt::format("tuning {}: {}", to_string(options_.tuning), why));
  }
  for (std::string_view rest = row->settings; !rest.empty();) {
    const std::size_t end = std::min(rest.find(':'), rest.size()), equals = rest.find('=');
    set(std::string(rest.substr(0, equals)), std::string(rest.substr(equals + 1, end - equals - 1)), false);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

void EncoderSettings::set_quality() {
  if (options_.crf < 0) return;
  const Dialect* dialect = dialect_of(codec_.name);
  require(!encoder().starts_with("libwebp"),
          "crf {:g}: WebP counts quality from 0 (worst) to 100; give it by codec_options, like quality=90",
          options_.crf);
  require(encoder() != "gif" && encoder() != "apng", "crf {:g}: it has no scale of quality; leave crf out",
          options_.crf);
  require(dialect != nullptr, "it has no constant quality scale; give a bit rate, or its own options");
  require(options_.crf >= dialect->best && options_.crf <= dialect->worst,
          "quality {:g}, expected {:g} (best) to {:g}", options_.crf, dialect->best, dialect->worst);
  require(!dialect->whole || options_.crf == std::floor(options_.crf),
          "quality {:g}, expected a whole number", options_.crf);
  set(dialect->quality, fmt::format("{:g}", options_.crf));
}

void EncoderSettings::set_rates() {
  constexpr std::int64_t most = INT32_MAX;
  for (const auto& [name, bits] : {std::pair{"bit_rate", options_.bit_rate},
                                   {"max_bit_rate", options_.max_bit_rate},
                                   {"vbv_buffer_size", options_.vbv_buffer_size}})
    require(bits == 0 || (bits >= 1000 && bits <= most), "{} {}, expected 1000 to {}", name, bits, most);
  if (options_.bit_rate > 0) context_.bit_rate = options_.bit_rate;
  context_.rc_max_rate = bound_of_rate(options_);
  context_.rc_buffer_size = static_cast<int>(vbv_bits(options_));
}

void EncoderSettings::set_period() {
  if (options_.gop > 0) context_.gop_size = options_.gop;
  if (options_.idr_period == 0) return;
  require(options_.gop == 0 || options_.gop == options_.idr_period,
          "idr_period {} with gop {}: each keyframe is an IDR here; give one of both", options_.idr_period,
          options_.gop);
  context_.gop_size = options_.idr_period;
}

bool EncoderSettings::is_own_option(const std::string& key) const {
  const AVClass* type = codec_.priv_class;
  return type && av_opt_find(&type, key.c_str(), nullptr, 0, AV_OPT_SEARCH_FAKE_OBJ) != nullptr;
}

void EncoderSettings::put_parameters(Dictionary& settings) const {
  const char* option = parameters_option(codec_.name);
  const std::string given = option ? settings.get(option) : std::string();
  std::string texts;
  const auto is_given = [&](const std::string& key) {
    const std::string text = ":" + given;
    return text.find(":" + key + "=") != text.npos || text.ends_with(":" + key);
  };
  const auto add = [&](const std::string& text) { texts += (texts.empty() ? "" : ":") + text; };
  for (const auto& [key, value] : values_) {
    const bool own = is_own_option(key);
    const bool twice = own ? settings.has(key) : is_given(key);
    require(!twice || !value.asked, "an option and codec_options both say '{}'; give one", key);
    if (twice) continue;
    if (own)
      settings.set(key, value.text);
    else
      add(key + "=" + value.text);
  }
  if (!given.empty()) add(given);
  if (option && !texts.empty()) settings.set(option, texts);
}

void EncoderSettings::fill(Dictionary& settings) {
  check_refusals();
  set_preset();
  set_tuning();
  set_quality();
  const std::string_view name = encoder();
  if (name.starts_with("libx264"))
    set_x264(*this);
  else if (name == "libx265")
    set_x265(*this);
  else if (name == "libsvtav1")
    set_svt_av1(*this);
  else if (name == "libaom-av1")
    set_aom(*this);
  else
    set_other(*this);
  put_parameters(settings);
}

} // namespace lanner::ffmpeg
