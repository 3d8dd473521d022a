// GOP, references, slices, headers, colours, profile and level.

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/check.h"
#include "image/matrix_codes.h"
#include "video/nvenc/configuration.h"
#include "video/write/encoder_levels.h"
#include "video/write/encoder_options.h"

namespace lanner::nvenc {
namespace {

/// H.273, MatrixCoefficients.
NV_ENC_VUI_MATRIX_COEFFS code_of(ColorMatrix matrix) {
  switch (matrix) {
  case ColorMatrix::bt601:
    return NV_ENC_VUI_MATRIX_COEFFS_SMPTE170M;
  case ColorMatrix::bt709:
    return NV_ENC_VUI_MATRIX_COEFFS_BT709;
  case ColorMatrix::bt2020:
    return NV_ENC_VUI_MATRIX_COEFFS_BT2020_NCL;
  case ColorMatrix::fcc:
    return NV_ENC_VUI_MATRIX_COEFFS_FCC;
  case ColorMatrix::smpte240m:
    return NV_ENC_VUI_MATRIX_COEFFS_SMPTE240M;
  default:
    return NV_ENC_VUI_MATRIX_COEFFS_UNSPECIFIED;
  }
}

struct NamedProfile {
  Codec codec;
  std::string_view name;
  GUID guid;
};
constexpr NamedProfile profiles[] = {
    {Codec::h264, "baseline", NV_ENC_H264_PROFILE_BASELINE_GUID},
    {Codec::h264, "main", NV_ENC_H264_PROFILE_MAIN_GUID},
    {Codec::h264, "high", NV_ENC_H264_PROFILE_HIGH_GUID},
    {Codec::h264, "high444", NV_ENC_H264_PROFILE_HIGH_444_GUID},
    {Codec::hevc, "main", NV_ENC_HEVC_PROFILE_MAIN_GUID},
    {Codec::hevc, "main10", NV_ENC_HEVC_PROFILE_MAIN10_GUID},
    {Codec::hevc, "main444-8", NV_ENC_HEVC_PROFILE_FREXT_GUID},
    {Codec::hevc, "main444-10", NV_ENC_HEVC_PROFILE_FREXT_GUID},
    {Codec::av1, "main", NV_ENC_AV1_PROFILE_MAIN_GUID},
};

} // namespace

NV_ENC_CONFIG_H264_VUI_PARAMETERS& Configurator::vui() {
  auto& parts = config().encodeCodecConfig;
  return codec_ == Codec::h264 ? parts.h264Config.h264VUIParameters : parts.hevcConfig.hevcVUIParameters;
}

void Configurator::set_stored() {
  const auto stored = stored_form(options_.format);
  require_here(stored.has_value(),
               "format {}: 4:2:2 is of version 13.0 of the API, this is {}.{}; take nv12 or yuv444p, or {}",
               to_string(options_.format), api_major, api_minor, software_remedy);
  made_.stored = *stored;
  require_here(stored->chroma == 1 || has(NV_ENC_CAPS_SUPPORT_YUV444_ENCODE),
               "format {}: {} encodes no 4:4:4 of it; take nv12, or {}", to_string(options_.format),
               session_.gpu().name(), software_remedy);
  require_here(stored->depth == 8 || codec_ != Codec::h264,
               "format {}: more than 8 bits of h264 are of version 13.0 of the API, this is {}.{}; take hevc "
               "or av1, or {}",
               to_string(options_.format), api_major, api_minor, software_remedy);
  require_here(stored->depth == 8 || has(NV_ENC_CAPS_SUPPORT_10BIT_ENCODE),
               "format {}: {} encodes 8 bits alone of it; take nv12, or {}", to_string(options_.format),
               session_.gpu().name(), software_remedy);
  require(stored->chroma == 3 || (options_.width % 2 == 0 && options_.height % 2 == 0),
          "size {}x{}, expected even sides for 4:2:0", options_.width, options_.height);
  require(!lossless() || keeps_samples(options_.format, *stored),
          "tuning lossless with format {}, of which {} is stored; take one of nv12, yuv420p, p010, "
          "yuv420p10, yuv444p, yuv444p10",
          to_string(options_.format), stored->native);
  const bool deep = stored->depth > 8;
  with_any([&](auto& part) { part.chromaFormatIDC = stored->chroma == 3 ? 3 : 1; });
  if (codec_ == Codec::hevc) config().encodeCodecConfig.hevcConfig.pixelBitDepthMinus8 = deep ? 2 : 0;
  if (codec_ != Codec::av1) return;
  config().encodeCodecConfig.av1Config.inputPixelBitDepthMinus8 = deep ? 2 : 0;
  config().encodeCodecConfig.av1Config.pixelBitDepthMinus8 = deep ? 2 : 0;
}

/// Of `gop` and `idr_period` one says both; together they are the distances of I pictures and of IDRs.
void Configurator::set_period() {
  const int gop = options_.gop, idr = options_.idr_period;
  if (gop == 0 && idr == 0) return;
  config().gopLength = static_cast<uint32_t>(gop > 0 ? gop : idr);
  with_any([&](auto& part) { part.idrPeriod = static_cast<uint32_t>(idr > 0 ? idr : gop); });
}

void Configurator::set_b_frames() {
  NV_ENC_CONFIG& all = config();
  const uint32_t longest = std::min<uint32_t>(all.gopLength, INT32_MAX);
  if (options_.b_frames >= 0) {
    const int most = session_.capability(codec_, NV_ENC_CAPS_NUM_MAX_BFRAMES);
    require_here(options_.b_frames <= most, "b_frames {}, {} has at most {} of them", options_.b_frames,
                 session_.gpu().name(), most);
    require(options_.b_frames == 0 || static_cast<uint32_t>(options_.b_frames) < longest,
            "b_frames {} with keyframes {} pictures apart, expected fewer", options_.b_frames, longest);
    require(options_.b_frames == 0 || all.gopLength != infinite_gop_length,
            "b_frames {} with tuning {}, whose GOP has no end; give gop too", options_.b_frames,
            to_string(options_.tuning));
    all.frameIntervalP = options_.b_frames + 1;
    if (options_.b_frames > 0) rates().zeroReorderDelay = 0;
  } else if (all.frameIntervalP > 1 && static_cast<uint32_t>(all.frameIntervalP) > longest) {
    all.frameIntervalP = static_cast<int32_t>(longest);
  }
  const uint32_t most_ahead = 31 - made_.b_frames(); // By NV_ENC_RC_PARAMS::lookaheadDepth.
  require(!options_.lookahead || made_.lookahead() <= most_ahead,
          "lookahead {}, expected at most {} with {} B-frames", made_.lookahead(), most_ahead,
          made_.b_frames());
  rates().lookaheadDepth = static_cast<uint16_t>(std::min<uint32_t>(rates().lookaheadDepth, most_ahead));
}

void Configurator::set_references() {
  const auto &l0 = options_.num_ref_l0, &l1 = options_.num_ref_l1;
  if (!l0 && !l1) return;
  require_here(has(NV_ENC_CAPS_SUPPORT_MULTIPLE_REF_FRAMES), "num_ref_l0, num_ref_l1: {} chooses them itself",
               session_.gpu().name());
  const bool av1 = codec_ == Codec::av1;
  const int most_l0 = av1 ? 4 : 7, most_l1 = av1 ? 3 : 7;
  require(l0.value_or(1) <= most_l0, "num_ref_l0 {}, expected 1 to {}", l0.value_or(0), most_l0);
  require(l1.value_or(1) <= most_l1, "num_ref_l1 {}, expected 1 to {}", l1.value_or(0), most_l1);
  require(!l1 || made_.b_frames() > 0,
          "num_ref_l1 {}: list 1 is of B-frames, and there are none; give b_frames", l1.value_or(0));
  const auto set = [&](NV_ENC_NUM_REF_FRAMES& first, NV_ENC_NUM_REF_FRAMES& second, uint32_t& stored) {
    if (l0) first = static_cast<NV_ENC_NUM_REF_FRAMES>(*l0);
    if (l1) second = static_cast<NV_ENC_NUM_REF_FRAMES>(*l1);
    if (stored > 0) stored = std::max(stored, static_cast<uint32_t>(l0.value_or(0) + l1.value_or(0)));
  };
  auto& parts = config().encodeCodecConfig;
  if (codec_ == Codec::h264)
    set(parts.h264Config.numRefL0, parts.h264Config.numRefL1, parts.h264Config.maxNumRefFrames);
  if (codec_ == Codec::hevc)
    set(parts.hevcConfig.numRefL0, parts.hevcConfig.numRefL1, parts.hevcConfig.maxNumRefFramesInDPB);
  if (av1) set(parts.av1Config.numFwdRefs, parts.av1Config.numBwdRefs, parts.av1Config.maxNumRefFramesInDPB);
}

void Configurator::set_slices() {
  if (options_.slice_mode == SliceMode::unspecified) return;
  require_here(codec_ != Codec::av1, "slice_mode {}: AV1 has no slices; leave it out",
               to_string(options_.slice_mode));
  require_here(options_.slice_mode != SliceMode::bytes || has(NV_ENC_CAPS_SUPPORT_DYNAMIC_SLICE_MODE),
               "slice_mode bytes: {} does not have it", session_.gpu().name());
  const int block = codec_ == Codec::h264 ? 16 : 32;
  const int columns = (options_.width + block - 1) / block, rows = (options_.height + block - 1) / block;
  const char* what = codec_ == Codec::h264 ? "macroblocks" : "coding tree units";
  const int data = options_.slice_data;
  if (options_.slice_mode == SliceMode::macroblocks)
    require(data <= columns * rows, "slice_data {}, expected 1 to {}, the {} of {}x{}", data, columns * rows,
            what, options_.width, options_.height);
  if (options_.slice_mode == SliceMode::rows || options_.slice_mode == SliceMode::count)
    require(data <= rows, "slice_data {}, expected 1 to {}, the rows of {} of {}x{}", data, rows, what,
            options_.width, options_.height);
  with_units([&](auto& part) {
    part.sliceMode =
        static_cast<uint32_t>(options_.slice_mode) - static_cast<uint32_t>(SliceMode::macroblocks);
    part.sliceModeData = static_cast<uint32_t>(data);
  });
}

void Configurator::set_headers() {
  const bool repeat = options_.repeat_headers.value_or(!options_.global_header);
  const bool apart = options_.global_header && !repeat;
  with_units([&](auto& part) {
    part.disableSPSPPS = apart;
    part.repeatSPSPPS = repeat;
    // With both messages the parameters of the decoder are in the VUI (Annex E), which they refer to.
    part.outputBufferingPeriodSEI = options_.hrd;
    part.outputPictureTimingSEI = options_.hrd;
  });
  if (codec_ != Codec::av1) return;
  auto& av1 = config().encodeCodecConfig.av1Config;
  av1.disableSeqHdr = apart;
  av1.repeatSeqHdr = repeat;
  av1.enableTimingInfo = av1.enableDecoderModelInfo = options_.hrd; // AV1 5.5.3, 5.5.4.
}

void Configurator::set_color() {
  const ColorInfo& color = options_.color;
  require_here(unnamed_code(color.matrix) == 0, "matrix {}: it is not written here; {}",
               to_string(color.matrix), software_remedy);
  const auto primaries = static_cast<NV_ENC_VUI_COLOR_PRIMARIES>(color.primaries);
  const auto transfer = static_cast<NV_ENC_VUI_TRANSFER_CHARACTERISTIC>(color.transfer);
  const bool full = color.range == ColorRange::full;
  if (codec_ == Codec::av1) {
    auto& av1 = config().encodeCodecConfig.av1Config;
    av1.colorPrimaries = primaries;
    av1.transferCharacteristics = transfer;
    av1.matrixCoefficients = code_of(color.matrix);
    av1.colorRange = full;
    // chroma_sample_position (AV1 6.4.2): 1 is between rows, 2 on the first sample.
    av1.chromaSamplePosition = color.siting == ChromaSiting::left       ? 1
                               : color.siting == ChromaSiting::top_left ? 2
                                                                        : 0;
    return;
  }
  NV_ENC_CONFIG_H264_VUI_PARAMETERS& info = vui();
  info.videoSignalTypePresentFlag = 1;
  info.videoFormat = NV_ENC_VUI_VIDEO_FORMAT_UNSPECIFIED;
  info.videoFullRangeFlag = full;
  info.colourDescriptionPresentFlag = 1;
  info.colourPrimaries = primaries;
  info.transferCharacteristics = transfer;
  info.colourMatrix = code_of(color.matrix);
  info.chromaSampleLocationFlag = color.siting != ChromaSiting::unspecified && made_.stored.chroma == 1;
  if (!info.chromaSampleLocationFlag) return;
  // ChromaLocType of H.273 begins with left.
  info.chromaSampleLocationTop = info.chromaSampleLocationBot =
      static_cast<uint32_t>(color.siting) - static_cast<uint32_t>(ChromaSiting::left);
}

void Configurator::set_timing() {
  if (codec_ == Codec::av1) {
    require_here(
        options_.time_scale == 0,
        "num_units_in_tick and time_scale: timing is of the VUI of H.264 and HEVC; rate says it of AV1");
    return;
  }
  std::int64_t ticks = options_.num_units_in_tick, scale = options_.time_scale;
  if (scale == 0) { // A tick of H.264 is a field (E.2.1), one of HEVC a picture (E.3.1).
    ticks = made_.init.frameRateDen;
    scale = std::int64_t{made_.init.frameRateNum} * (codec_ == Codec::h264 ? 2 : 1);
  }
  const std::int64_t divisor = std::gcd(ticks, scale);
  if (scale / divisor > UINT32_MAX) return;
  NV_ENC_CONFIG_H264_VUI_PARAMETERS& info = vui();
  info.timingInfoPresentFlag = 1;
  info.numUnitInTicks = static_cast<uint32_t>(ticks / divisor);
  info.timeScale = static_cast<uint32_t>(scale / divisor);
}

void Configurator::set_profile() {
  const StoredForm& stored = made_.stored;
  if (options_.profile.empty()) {
    if (codec_ == Codec::h264 && (stored.chroma == 3 || lossless()))
      config().profileGUID = NV_ENC_H264_PROFILE_HIGH_444_GUID;
    if (codec_ == Codec::hevc && stored.depth > 8) config().profileGUID = NV_ENC_HEVC_PROFILE_MAIN10_GUID;
    if (codec_ == Codec::hevc && stored.chroma == 3) config().profileGUID = NV_ENC_HEVC_PROFILE_FREXT_GUID;
    return;
  }
  if (codec_ != Codec::av1) check_profile(name_of(codec_), {"nvenc", stored.decoded, lossless()}, options_);
  const auto* found = std::ranges::find_if(
      profiles, [&](const NamedProfile& one) { return one.codec == codec_ && one.name == options_.profile; });
  require_here(found != std::end(profiles) && session_.has_profile(codec_, found->guid),
               "profile {}: {} does not write it; leave it out for the one that fits", options_.profile,
               session_.gpu().name());
  require(options_.profile != "baseline" || made_.b_frames() == 0,
          "profile baseline has no B-frames, preset {} has {}; give b_frames 0",
          options_.preset.empty() ? "P4" : options_.preset, made_.b_frames());
  config().profileGUID = found->guid;
  if (codec_ != Codec::h264) return;
  auto& h264 = config().encodeCodecConfig.h264Config;
  const bool old = options_.profile == "baseline" || options_.profile == "main";
  if (old) h264.adaptiveTransformMode = NV_ENC_H264_ADAPTIVE_TRANSFORM_AUTOSELECT;
  if (options_.profile == "baseline") h264.entropyCodingMode = NV_ENC_H264_ENTROPY_CODING_MODE_CAVLC;
}

void Configurator::set_level() {
  require_here(options_.tier.empty() || codec_ != Codec::h264, "tier {}: H.264 has no tiers; leave it out",
               options_.tier);
  if (options_.level.empty()) return;
  int level = checked_level(name_of(codec_), {"nvenc", made_.stored.decoded, lossless()}, options_);
  if (codec_ == Codec::av1) level = (level / 10 - 2) * 4 + level % 10; // seq_level_idx (AV1 A.3).
  const int least = session_.capability(codec_, NV_ENC_CAPS_LEVEL_MIN),
            most = session_.capability(codec_, NV_ENC_CAPS_LEVEL_MAX);
  // 1b of H.264 is 9, and lies between 1 and 1.1.
  const bool is_1b = codec_ == Codec::h264 && level == NV_ENC_LEVEL_H264_1b;
  require_here(is_1b || (level >= least && level <= most), "level {}: {} does not write it", options_.level,
               session_.gpu().name());
  with_any([&](auto& part) { part.level = static_cast<uint32_t>(level); });
  if (options_.tier.empty()) return;
  const bool high = options_.tier == "high";
  // H.265 A.4.1: from level 4 on; AV1 A.3 the same.
  const int first =
      codec_ == Codec::hevc ? static_cast<int>(NV_ENC_LEVEL_HEVC_4) : static_cast<int>(NV_ENC_LEVEL_AV1_4);
  require(!high || level >= first, "tier high begins at level 4, level is {}", options_.level);
  if (codec_ == Codec::hevc) config().encodeCodecConfig.hevcConfig.tier = high;
  if (codec_ == Codec::av1) config().encodeCodecConfig.av1Config.tier = high;
}

} // namespace lanner::nvenc
