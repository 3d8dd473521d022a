#pragma once
// Where each option of EncoderOptions lands in NVENC's configuration, or why it is refused.

#include <string>
#include <string_view>
#include <utility>

#include <lanner/encoder.h>

#include "video/nvenc/session.h"
#include "video/nvenc/stored_form.h"

namespace lanner::nvenc {

/// What a session is initialised with.
struct Configuration {
  NV_ENC_INITIALIZE_PARAMS init; ///< `encodeConfig` is null.
  NV_ENC_CONFIG config;
  Codec codec = Codec::h264;
  StoredForm stored{};
  bool low_latency = false; ///< Pictures are given out as soon as they are encoded.

  uint32_t b_frames() const { return config.frameIntervalP > 1 ? uint32_t(config.frameIntervalP) - 1 : 0; }
  uint32_t lookahead() const { return config.rcParams.enableLookahead ? config.rcParams.lookaheadDepth : 0; }
  NV_ENC_BFRAME_REF_MODE b_references() const;
};

/// The colours that are written: what is not told is what convert_image() assumes.
ColorInfo complete_color(ColorInfo color, std::int32_t height);

/// The codec of that name (h264, hevc or h265, av1). Throws Error{unsupported}.
Codec codec_named(std::string_view name);

/// Fills it in from a preset's configuration; options, with complete colours, win. The session's context must
/// be the thread's. Throws Error{invalid_argument, unsupported} for what this GPU or NVENC cannot do.
Configuration configure(const Session& session, const EncoderOptions& options);

/// One configuration in the making.
class Configurator {
public:
  Configurator(const Session& session, const EncoderOptions& options);
  Configuration made();

private:
  bool has(NV_ENC_CAPS which) const { return session_.capability(codec_, which) != 0; }
  template<typename... Arguments>
  void require(bool condition, fmt::format_string<Arguments...> line, Arguments&&... arguments) const {
    if (!condition)
      refuse(ErrorCode::invalid_argument, fmt::format(line, std::forward<Arguments>(arguments)...));
  }
  /// The same of what this GPU, or NVENC, does not have.
  template<typename... Arguments>
  void require_here(bool condition, fmt::format_string<Arguments...> line, Arguments&&... arguments) const {
    if (!condition) refuse(ErrorCode::unsupported, fmt::format(line, std::forward<Arguments>(arguments)...));
  }
  [[noreturn]] void refuse(ErrorCode code, std::string_view line) const;
  /// Calls `set(part)` with the part of H.264 or HEVC, whose members are called alike.
  template<typename Set>
  void with_units(Set set) {
    if (codec_ == Codec::h264) set(config().encodeCodecConfig.h264Config);
    if (codec_ == Codec::hevc) set(config().encodeCodecConfig.hevcConfig);
  }
  template<typename Set>
  void with_any(Set set) {
    with_units(set);
    if (codec_ == Codec::av1) set(config().encodeCodecConfig.av1Config);
  }
  NV_ENC_CONFIG& config() { return made_.config; }
  NV_ENC_RC_PARAMS& rates() { return made_.config.rcParams; }
  NV_ENC_CONFIG_H264_VUI_PARAMETERS& vui();
  bool lossless() const { return options_.tuning == Tuning::lossless; }
  bool constant_qp() const;
  NV_ENC_QP quantisers(std::string_view name, const QpByType& qp) const;

  void check_without_effect() const;
  void start_from_preset();
  void set_size();
  void set_stored();
  void set_rate_control();
  void set_target_quality();
  void set_quantisers();
  void set_analysis();
  void set_period();
  void set_b_frames();
  void set_references();
  void set_slices();
  void set_headers();
  void set_color();
  void set_timing();
  void set_profile();
  void set_level();

  const Session& session_;
  const EncoderOptions& options_;
  Codec codec_;
  Configuration made_{};
};

} // namespace lanner::nvenc
