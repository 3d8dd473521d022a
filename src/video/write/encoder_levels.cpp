#include "video/write/encoder_levels.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include <lanner/nearest.h>

#include "base/check.h"
#include "base/text/joined.h"
#include "video/write/encoder_options.h"

namespace lanner {
namespace {

/// Samples of a picture and a second: of H.264 in macroblocks.
struct LevelRow {
  std::string_view name;
  int number;
  double picture, second;
  std::int64_t bit_rate; ///< 1000 bits a second; 0 where it is not compared.
  double stored;         ///< Macroblocks of all reference pictures, of H.264.
};

constexpr LevelRow h264_levels[] = {
    {"1", 10, 99, 1485, 64, 396},
    {"1b", 9, 99, 1485, 128, 396},
    {"1.1", 11, 396, 3000, 192, 900},
    {"1.2", 12, 396, 6000, 384, 2376},
    {"1.3", 13, 396, 11880, 768, 2376},
    {"2", 20, 396, 11880, 2000, 2376},
    {"2.1", 21, 792, 19800, 4000, 4752},
    {"2.2", 22, 1620, 20250, 4000, 8100},
    {"3", 30, 1620, 40500, 10000, 8100},
    {"3.1", 31, 3600, 108000, 14000, 18000},
    {"3.2", 32, 5120, 216000, 20000, 20480},
    {"4", 40, 8192, 245760, 20000, 32768},
    {"4.1", 41, 8192, 245760, 50000, 32768},
    {"4.2", 42, 8704, 522240, 50000, 34816},
    {"5", 50, 22080, 589824, 135000, 110400},
    {"5.1", 51, 36864, 983040, 240000, 184320},
    {"5.2", 52, 36864, 2073600, 240000, 184320},
    {"6", 60, 139264, 4177920, 240000, 696320},
    {"6.1", 61, 139264, 8355840, 480000, 696320},
    {"6.2", 62, 139264, 16711680, 800000, 696320},
};

constexpr LevelRow hevc_levels[] = {
    {"1", 30, 36864, 552960, 0, 0},
    {"2", 60, 122880, 3686400, 0, 0},
    {"2.1", 63, 245760, 7372800, 0, 0},
    {"3", 90, 552960, 16588800, 0, 0},
    {"3.1", 93, 983040, 33177600, 0, 0},
    {"4", 120, 2228224, 66846720, 0, 0},
    {"4.1", 123, 2228224, 133693440, 0, 0},
    {"5", 150, 8912896, 267386880, 0, 0},
    {"5.1", 153, 8912896, 534773760, 0, 0},
    {"5.2", 156, 8912896, 1069547520, 0, 0},
    {"6", 180, 35651584, 1069547520, 0, 0},
    {"6.1", 183, 35651584, 2139095040, 0, 0},
    {"6.2", 186, 35651584, 4278190080., 0, 0},
};

constexpr LevelRow av1_levels[] = {
    {"2", 20, 147456, 4423680, 0, 0},         {"2.1", 21, 278784, 8363520, 0, 0},
    {"3", 30, 665856, 19975680, 0, 0},        {"3.1", 31, 1065024, 31950720, 0, 0},
    {"4", 40, 2359296, 70778880, 0, 0},       {"4.1", 41, 2359296, 141557760, 0, 0},
    {"5", 50, 8912896, 267386880, 0, 0},      {"5.1", 51, 8912896, 534773760, 0, 0},
    {"5.2", 52, 8912896, 1069547520, 0, 0},   {"5.3", 53, 8912896, 1069547520, 0, 0},
    {"6", 60, 35651584, 1069547520, 0, 0},    {"6.1", 61, 35651584, 2139095040, 0, 0},
    {"6.2", 62, 35651584, 4278190080., 0, 0}, {"6.3", 63, 35651584, 4278190080., 0, 0},
};

std::span<const LevelRow> levels_of(std::string_view codec) {
  if (codec == "h264") return h264_levels;
  return codec == "hevc" ? std::span<const LevelRow>(hevc_levels) : std::span<const LevelRow>(av1_levels);
}

std::vector<std::string> names_of(std::span<const LevelRow> levels) {
  std::vector<std::string> names;
  for (const LevelRow& level : levels) names.emplace_back(level.name);
  return names;
}

const LevelRow& level_named(std::string_view codec, std::string_view encoder, std::string_view name) {
  const auto levels = levels_of(codec);
  if (name.ends_with(".0")) name.remove_suffix(2);
  const auto found = std::ranges::find(levels, name, &LevelRow::name);
  check(found != levels.end(), ErrorCode::invalid_argument, "encoder {}: no level '{}'; expected one of {}",
        encoder, name, joined(names_of(levels), ", "));
  return *found;
}

struct ProfileRow {
  std::string_view name;
  int bits;
  int chroma; ///< 0: 4:2:0, 1: 4:2:2, 2: 4:4:4.
  bool lossless;
};

constexpr ProfileRow h264_profiles[] = {{"baseline", 8, 0, false}, {"main", 8, 0, false},
                                        {"high", 8, 0, false},     {"high10", 10, 0, false},
                                        {"high422", 10, 1, false}, {"high444", 14, 2, true}};
constexpr ProfileRow hevc_profiles[] = {{"main", 8, 0, true},        {"main10", 10, 0, true},
                                        {"main12", 12, 0, true},     {"main422-10", 10, 1, true},
                                        {"main422-12", 12, 1, true}, {"main444-8", 8, 2, true},
                                        {"main444-10", 10, 2, true}, {"main444-12", 12, 2, true}};

int chroma_of(PixelFormat format) {
  const PixelFormatInfo& facts = format_info(format);
  if (!facts.yuv) return facts.gray() ? 0 : 2; // Gray is within 4:2:0.
  return facts.chroma_x == 0 ? 2 : facts.chroma_y == 0 ? 1 : 0;
}

} // namespace

int checked_level(std::string_view codec, const CodedPictures& pictures, const EncoderOptions& options) {
  const LevelRow& level = level_named(codec, pictures.encoder, options.level);
  const bool blocks = codec == "h264";
  const std::int64_t side = blocks ? 16 : 1;
  const std::int64_t columns = (options.width + side - 1) / side, rows = (options.height + side - 1) / side;
  const auto width = static_cast<double>(columns), height = static_cast<double>(rows);
  const double picture = width * height, second = picture * options.rate.to_double();
  check(picture <= level.picture, ErrorCode::invalid_argument,
        "encoder {}: level {} holds pictures of {:.0f} {}, {}x{} has {:.0f}; take a higher level",
        pictures.encoder, level.name, level.picture, blocks ? "macroblocks" : "samples", options.width,
        options.height, picture);
  check(codec == "av1" || std::max(width, height) <= std::sqrt(8 * level.picture),
        ErrorCode::invalid_argument,
        "encoder {}: level {} holds sides of {:.0f} {}, got {}x{}; take a higher level", pictures.encoder,
        level.name, std::floor(std::sqrt(8 * level.picture)), blocks ? "macroblocks" : "samples",
        options.width, options.height);
  check(second <= level.second * (1 + 1e-9), ErrorCode::invalid_argument,
        "encoder {}: level {} holds {:.0f} {} a second, {}x{} at {:g} frames a second has {:.0f}; take a "
        "higher "
        "level",
        pictures.encoder, level.name, level.second, blocks ? "macroblocks" : "samples", options.width,
        options.height, options.rate.to_double(), second);
  if (!blocks) return level.number;
  const std::int64_t rate = std::max(bound_of_rate(options), options.bit_rate);
  check(rate <= level.bit_rate * 1250, ErrorCode::invalid_argument,
        "encoder {}: level {} holds {} bits a second, got {}; take a higher level", pictures.encoder,
        level.name, level.bit_rate * 1250, rate);
  const double references = std::min(16.0, std::floor(level.stored / picture));
  check(options.num_ref_l0.value_or(0) <= references, ErrorCode::invalid_argument,
        "encoder {}: level {} holds {:.0f} reference pictures of {}x{}, num_ref_l0 is {}", pictures.encoder,
        level.name, references, options.width, options.height, options.num_ref_l0.value_or(0));
  return level.number;
}

void check_profile(std::string_view codec, const CodedPictures& pictures, const EncoderOptions& options) {
  const auto profiles = codec == "h264" ? std::span<const ProfileRow>(h264_profiles)
                                        : std::span<const ProfileRow>(hevc_profiles);
  std::vector<std::string> names, fitting;
  const int chroma = chroma_of(pictures.format), bits = format_info(pictures.format).bits;
  const ProfileRow* found = nullptr;
  for (const ProfileRow& profile : profiles) {
    names.emplace_back(profile.name);
    const bool fits =
        bits <= profile.bits && chroma <= profile.chroma && (profile.lossless || !pictures.lossless);
    if (fits) fitting.emplace_back(profile.name);
    if (profile.name == options.profile) found = &profile;
  }
  check(found != nullptr, ErrorCode::invalid_argument, "encoder {}: no profile '{}'; expected one of {}{}",
        pictures.encoder, options.profile, joined(names, ", "), did_you_mean(options.profile, names));
  check(std::ranges::find(fitting, options.profile) != fitting.end(), ErrorCode::invalid_argument,
        "encoder {}: profile {} does not hold {}{}; expected one of {}", pictures.encoder, options.profile,
        pictures.lossless ? "lossless " : "", to_string(pictures.format), joined(fitting, ", "));
  check(options.profile != "baseline" || options.b_frames <= 0, ErrorCode::invalid_argument,
        "encoder {}: profile baseline has no B-frames, b_frames is {}", pictures.encoder, options.b_frames);
}

} // namespace lanner
