// nvEncInitializeEncoder's and nvEncReconfigureEncoder's parameters.

#include <algorithm>
#include <cstring>

#include "fake_libraries/nvenc/checks.h"
#include "fake_libraries/nvenc/reserved.h"

namespace lanner::fake_nvenc {

using namespace nvenc;

namespace {

void check_size(Checker& check, Codec codec, const NV_ENC_INITIALIZE_PARAMS& init) {
  const auto width = static_cast<int>(init.encodeWidth), height = static_cast<int>(init.encodeHeight);
  const int widest = capability(codec, NV_ENC_CAPS_WIDTH_MAX),
            highest = capability(codec, NV_ENC_CAPS_HEIGHT_MAX),
            narrowest = capability(codec, NV_ENC_CAPS_WIDTH_MIN),
            lowest = capability(codec, NV_ENC_CAPS_HEIGHT_MIN);
  check.require(width > 0 && height > 0, NV_ENC_ERR_INVALID_PARAM, "encodeWidth and encodeHeight are {}x{}",
                width, height);
  check.require(width >= narrowest && height >= lowest && width <= widest && height <= highest,
                NV_ENC_ERR_INVALID_PARAM,
                "encodeWidth and encodeHeight are {}x{}, the device takes {}x{} to {}x{}", width, height,
                narrowest, lowest, widest, highest);
  const int blocks = (width + 15) / 16 * ((height + 15) / 16);
  check.require(blocks <= capability(codec, NV_ENC_CAPS_MB_NUM_MAX), NV_ENC_ERR_INVALID_PARAM,
                "{} macroblocks are more than NV_ENC_CAPS_MB_NUM_MAX", blocks);
  check.require((init.maxEncodeWidth == 0) == (init.maxEncodeHeight == 0), NV_ENC_ERR_INVALID_PARAM,
                "of maxEncodeWidth and maxEncodeHeight one is 0");
  check.require(init.maxEncodeWidth == 0 ||
                    (init.maxEncodeWidth >= init.encodeWidth && init.maxEncodeHeight >= init.encodeHeight &&
                     static_cast<int>(init.maxEncodeWidth) <= widest &&
                     static_cast<int>(init.maxEncodeHeight) <= highest),
                NV_ENC_ERR_INVALID_PARAM,
                "maxEncodeWidth and maxEncodeHeight are {}x{}, for pictures of {}x{}", init.maxEncodeWidth,
                init.maxEncodeHeight, width, height);
  check.require((init.darWidth == 0) == (init.darHeight == 0), NV_ENC_ERR_INVALID_PARAM,
                "of darWidth and darHeight one is 0");
  check.require((init.frameRateNum == 0) == (init.frameRateDen == 0), NV_ENC_ERR_INVALID_PARAM,
                "frameRateNum is {}, frameRateDen {}", init.frameRateNum, init.frameRateDen);
}

void check_modes(Checker& check, Codec codec, const NV_ENC_INITIALIZE_PARAMS& init) {
  check.require(!init.enableEncodeAsync, NV_ENC_ERR_UNSUPPORTED_PARAM,
                "enableEncodeAsync: the asynchronous mode is not supported on Linux");
  check.require(init.enablePTD <= 1, NV_ENC_ERR_INVALID_PARAM, "enablePTD is {}", init.enablePTD);
  check.require(init.tuningInfo > NV_ENC_TUNING_INFO_UNDEFINED && init.tuningInfo < NV_ENC_TUNING_INFO_COUNT,
                NV_ENC_ERR_INVALID_PARAM, "tuningInfo is {}", unsigned{init.tuningInfo});
  check.require(
      !init.enableMEOnlyMode && !init.enableExternalMEHints && !init.enableOutputInVidmem &&
          !init.enableReconFrameOutput && !init.enableOutputStats && !init.numStateBuffers,
      NV_ENC_ERR_UNSUPPORTED_PARAM,
      "motion estimation alone, external hints, output to video memory, reconstructed frames, statistics "
      "and state buffers are not supported by this device");
  check.require(!init.enableSubFrameWrite || capability(codec, NV_ENC_CAPS_SUPPORT_SUBFRAME_READBACK),
                NV_ENC_ERR_UNSUPPORTED_PARAM,
                "enableSubFrameWrite without NV_ENC_CAPS_SUPPORT_SUBFRAME_READBACK");
  check.require(codec != Codec::h264 || init.splitEncodeMode == NV_ENC_SPLIT_AUTO_MODE ||
                    init.splitEncodeMode == NV_ENC_SPLIT_DISABLE_MODE,
                NV_ENC_ERR_UNSUPPORTED_PARAM, "splitEncodeMode does not apply to H.264");
  check.require(init.bufferFormat == NV_ENC_BUFFER_FORMAT_UNDEFINED, NV_ENC_ERR_INVALID_PARAM,
                "bufferFormat is for DirectX 12 alone");
}

void check_gop(Checker& check, const Settings& s) {
  const NV_ENC_CONFIG& config = s.config;
  const int most = capability(s.codec(), NV_ENC_CAPS_NUM_MAX_BFRAMES);
  check.require(config.gopLength > 0, NV_ENC_ERR_INVALID_PARAM, "gopLength is 0");
  check.require(config.frameIntervalP >= 0, NV_ENC_ERR_INVALID_PARAM, "frameIntervalP is {}",
                config.frameIntervalP);
  check.require(config.frameIntervalP <= 1 || config.gopLength != infinite_gop_length,
                NV_ENC_ERR_INVALID_PARAM, "gopLength is infinite and frameIntervalP {}: it has to be 1",
                config.frameIntervalP);
  check.require(config.frameIntervalP - 1 <= most, NV_ENC_ERR_UNSUPPORTED_PARAM,
                "frameIntervalP is {}, the device has at most {} B pictures", config.frameIntervalP, most);
  check.require(!s.init.enableWeightedPrediction || s.b_frames() == 0, NV_ENC_ERR_INVALID_PARAM,
                "enableWeightedPrediction with B pictures");
  check.require(!s.init.enableWeightedPrediction ||
                    capability(s.codec(), NV_ENC_CAPS_SUPPORT_WEIGHTED_PREDICTION),
                NV_ENC_ERR_UNSUPPORTED_PARAM, "enableWeightedPrediction without its capability");
  const int references = capability(s.codec(), NV_ENC_CAPS_SUPPORT_BFRAME_REF_MODE);
  const NV_ENC_BFRAME_REF_MODE mode = s.b_references();
  check.require(mode <= NV_ENC_BFRAME_REF_MODE_MIDDLE, NV_ENC_ERR_INVALID_PARAM, "useBFramesAsRef is {}",
                unsigned{mode});
  check.require(mode == NV_ENC_BFRAME_REF_MODE_DISABLED || references == static_cast<int>(mode),
                NV_ENC_ERR_UNSUPPORTED_PARAM, "useBFramesAsRef is {}, NV_ENC_CAPS_SUPPORT_BFRAME_REF_MODE {}",
                unsigned{mode}, references);
}

void check_config(Checker& check, const Settings& s) {
  const NV_ENC_CONFIG& config = s.config;
  check.require(config.version == version_of<NV_ENC_CONFIG>, NV_ENC_ERR_INVALID_VERSION,
                "encodeConfig's version is {:#x}, not {:#x}", config.version, version_of<NV_ENC_CONFIG>);
  check.require(config.rcParams.version == version_of<NV_ENC_RC_PARAMS>, NV_ENC_ERR_INVALID_VERSION,
                "rcParams's version is {:#x}, not {:#x}", config.rcParams.version,
                version_of<NV_ENC_RC_PARAMS>);
  check.require(reserved_clear(config), NV_ENC_ERR_INVALID_PARAM,
                "a reserved member of encodeConfig or rcParams is not 0");
  const std::vector<GUID> profiles = profiles_of(s.codec());
  check.require(std::find(profiles.begin(), profiles.end(), config.profileGUID) != profiles.end(),
                NV_ENC_ERR_UNSUPPORTED_PARAM, "profileGUID is none of the codec's");
  check.require(config.frameFieldMode == NV_ENC_PARAMS_FRAME_FIELD_MODE_FRAME ||
                    capability(s.codec(), NV_ENC_CAPS_SUPPORT_FIELD_ENCODING) > 0,
                NV_ENC_ERR_UNSUPPORTED_PARAM,
                "frameFieldMode is {} without NV_ENC_CAPS_SUPPORT_FIELD_ENCODING",
                unsigned{config.frameFieldMode});
  check.require(config.mvPrecision <= NV_ENC_MV_PRECISION_QUARTER_PEL, NV_ENC_ERR_INVALID_PARAM,
                "mvPrecision is {}", unsigned{config.mvPrecision});
  check.require(!config.monoChromeEncoding || capability(s.codec(), NV_ENC_CAPS_SUPPORT_MONOCHROME),
                NV_ENC_ERR_UNSUPPORTED_PARAM, "monoChromeEncoding without NV_ENC_CAPS_SUPPORT_MONOCHROME");
  check_gop(check, s);
  check_rate(check, s);
  check_codec(check, s);
}

} // namespace

NVENCSTATUS check_configuration(Call& call, const NV_ENC_INITIALIZE_PARAMS& init, Settings& settings) {
  Checker check(call);
  check.require(reserved_clear(init), NV_ENC_ERR_INVALID_PARAM,
                "a reserved member of NV_ENC_INITIALIZE_PARAMS is not 0");
  const auto codec = codec_of(init.encodeGUID);
  check.require(codec.has_value(), NV_ENC_ERR_INVALID_PARAM, "encodeGUID is none of the device's codecs");
  const auto preset = preset_number(init.presetGUID);
  check.require(preset.has_value(), NV_ENC_ERR_INVALID_PARAM, "presetGUID is none of P1 to P7");
  if (!check.right()) return check.status();
  check_size(check, *codec, init);
  check_modes(check, *codec, init);
  if (!check.right()) return check.status();
  settings.init = init;
  settings.config = init.encodeConfig ? *init.encodeConfig : preset_config(*codec, *preset, init.tuningInfo);
  settings.init.encodeConfig = nullptr;
  check_config(check, settings);
  return check.status();
}

} // namespace lanner::fake_nvenc
