// Where each option of EncoderOptions lands in NVENC's configuration.

#include "fake_libraries/nvenc_encoder/nvenc_pictures.h"

namespace lanner::test {
namespace {

using namespace nvenc;

/// What the fake recorded of an encoder with these options.
void configure(const EncoderOptions& options) {
  static_cast<void>(create_encoder(options));
}

/// Options that set one thing.
EncoderOptions with(const std::string& codec, const std::function<void(EncoderOptions&)>& set) {
  EncoderOptions options = nvenc_options(codec);
  set(options);
  return options;
}
void configure(const std::string& codec, const std::function<void(EncoderOptions&)>& set) {
  configure(with(codec, set));
}

// --- Codec, preset, tuning, size, rate ---

TEST_F(FakeNvencEncoder, codec_preset_and_tuning_are_guids) {
  const GUID presets[] = {NV_ENC_PRESET_P1_GUID, NV_ENC_PRESET_P2_GUID, NV_ENC_PRESET_P3_GUID,
                          NV_ENC_PRESET_P4_GUID, NV_ENC_PRESET_P5_GUID, NV_ENC_PRESET_P6_GUID,
                          NV_ENC_PRESET_P7_GUID};
  for (std::size_t i = 0; i < 7; ++i) {
    configure("h264", [&](EncoderOptions& o) { o.preset = "p" + std::to_string(i + 1); });
    EXPECT_EQ(recorded().presetGUID, presets[i]);
    EXPECT_EQ(recorded_config().frameIntervalP > 1, i >= 2); // Of its preset.
  }
  configure("h264", [](EncoderOptions& o) { o.preset.clear(); });
  EXPECT_EQ(recorded().presetGUID, NV_ENC_PRESET_P4_GUID);
  EXPECT_EQ(recorded().tuningInfo, NV_ENC_TUNING_INFO_HIGH_QUALITY);
  const std::pair<Tuning, NV_ENC_TUNING_INFO> tunings[] = {
      {Tuning::high_quality, NV_ENC_TUNING_INFO_HIGH_QUALITY},
      {Tuning::low_latency, NV_ENC_TUNING_INFO_LOW_LATENCY},
      {Tuning::ultra_low_latency, NV_ENC_TUNING_INFO_ULTRA_LOW_LATENCY},
      {Tuning::lossless, NV_ENC_TUNING_INFO_LOSSLESS}};
  for (const auto& [tuning, info] : tunings) {
    configure("hevc", [&, set = tuning](EncoderOptions& o) { o.tuning = set; });
    EXPECT_EQ(recorded().tuningInfo, info);
    EXPECT_EQ(recorded().enablePTD, 1u);
  }
  for (const char* name : {"h264", "hevc", "h265", "av1"}) {
    configure(name, [&](EncoderOptions&) {});
    EXPECT_EQ(recorded().encodeGUID, std::string(name) == "h264"  ? NV_ENC_CODEC_H264_GUID
                                     : std::string(name) == "av1" ? NV_ENC_CODEC_AV1_GUID
                                                                  : NV_ENC_CODEC_HEVC_GUID);
  }
}

TEST_F(FakeNvencEncoder, size_rate_and_aspect) {
  configure("h264", [](EncoderOptions& o) {
    o.rate = {60000, 2002};
    o.sample_aspect = {4, 3};
    o.max_width = 320, o.max_height = 200;
  });
  EXPECT_EQ(recorded().encodeWidth, 160u);
  EXPECT_EQ(recorded().encodeHeight, 64u);
  EXPECT_EQ(recorded().maxEncodeWidth, 320u);
  EXPECT_EQ(recorded().maxEncodeHeight, 200u);
  EXPECT_EQ(recorded().frameRateNum, 30000u);
  EXPECT_EQ(recorded().frameRateDen, 1001u);
  EXPECT_EQ(recorded().darWidth, 10u); // 4 * 160 : 3 * 64
  EXPECT_EQ(recorded().darHeight, 3u);
  configure("av1", [](EncoderOptions& o) { o.sample_aspect = {4, 3}; });
  EXPECT_EQ(recorded().darWidth, 256u); // The render size.
  EXPECT_EQ(recorded().darHeight, 128u);
  configure("h264", [](EncoderOptions&) {});
  EXPECT_EQ(recorded().darWidth, 0u);
  EXPECT_EQ(recorded().maxEncodeWidth, 0u);
}

TEST_F(FakeNvencEncoder, formats_are_chroma_and_depth) {
  struct Case {
    const char* codec;
    PixelFormat format;
    std::uint32_t chroma, depth;
    GUID profile;
  };
  const Case cases[] = {
      {"h264", PixelFormat::yuv420p, 1, 8, NV_ENC_CODEC_PROFILE_AUTOSELECT_GUID},
      {"h264", PixelFormat::bgra32, 1, 8, NV_ENC_CODEC_PROFILE_AUTOSELECT_GUID},
      {"h264", PixelFormat::yuv444p, 3, 8, NV_ENC_H264_PROFILE_HIGH_444_GUID},
      {"hevc", PixelFormat::p016, 1, 10, NV_ENC_HEVC_PROFILE_MAIN10_GUID},
      {"hevc", PixelFormat::yuv444p16, 3, 10, NV_ENC_HEVC_PROFILE_FREXT_GUID},
      {"hevc", PixelFormat::yuv444p, 3, 8, NV_ENC_HEVC_PROFILE_FREXT_GUID},
      {"av1", PixelFormat::yuv420p10, 1, 10, NV_ENC_CODEC_PROFILE_AUTOSELECT_GUID},
  };
  for (const Case& one : cases) {
    configure(one.codec, [&](EncoderOptions& o) { o.format = one.format; });
    EXPECT_EQ(recorded_config().profileGUID, one.profile) << one.codec << to_string(one.format);
    const std::string codec = one.codec;
    if (codec == "h264") {
      EXPECT_EQ(recorded_h264().chromaFormatIDC, one.chroma);
    } else if (codec == "hevc") {
      EXPECT_EQ(recorded_hevc().chromaFormatIDC, one.chroma);
      EXPECT_EQ(recorded_hevc().pixelBitDepthMinus8, one.depth - 8);
    } else {
      EXPECT_EQ(recorded_av1().chromaFormatIDC, one.chroma);
      EXPECT_EQ(recorded_av1().pixelBitDepthMinus8, one.depth - 8);
      EXPECT_EQ(recorded_av1().inputPixelBitDepthMinus8, one.depth - 8);
    }
  }
}

// --- Rate control ---

TEST_F(FakeNvencEncoder, rate_control) {
  configure("h264", [](EncoderOptions& o) {
    o.rate_control = RateControl::cbr;
    o.bit_rate = 3'000'000;
    o.vbv_buffer_size = 600'000;
    o.vbv_initial = 400'000;
    o.low_delay_keyframe_scale = 3;
  });
  EXPECT_EQ(recorded_rates().rateControlMode, NV_ENC_PARAMS_RC_CBR);
  EXPECT_EQ(recorded_rates().averageBitRate, 3'000'000u);
  EXPECT_EQ(recorded_rates().maxBitRate, 3'000'000u);
  EXPECT_EQ(recorded_rates().vbvBufferSize, 600'000u);
  EXPECT_EQ(recorded_rates().vbvInitialDelay, 400'000u);
  EXPECT_EQ(recorded_rates().lowDelayKeyFrameScale, 3u);
  configure("hevc", [](EncoderOptions& o) { o.bit_rate = 5'000'000; });
  EXPECT_EQ(recorded_rates().rateControlMode, NV_ENC_PARAMS_RC_VBR);
  EXPECT_EQ(recorded_rates().averageBitRate, 5'000'000u);
  EXPECT_EQ(recorded_rates().maxBitRate, 0u); // Not the preset's, which may be less.
  EXPECT_EQ(recorded_rates().targetQuality, 0u);
  configure("hevc", [](EncoderOptions& o) { o.bit_rate = 5'000'000, o.max_bit_rate = 6'000'000; });
  EXPECT_EQ(recorded_rates().maxBitRate, 6'000'000u);
  EXPECT_EQ(recorded_rates().vbvBufferSize, 6'000'000u); // One second.
}

TEST_F(FakeNvencEncoder, constant_quality) {
  configure("h264", [](EncoderOptions& o) { o.crf = 19.5, o.max_bit_rate = 9'000'000; });
  EXPECT_EQ(recorded_rates().rateControlMode, NV_ENC_PARAMS_RC_VBR);
  EXPECT_EQ(recorded_rates().averageBitRate, 0u);
  EXPECT_EQ(recorded_rates().maxBitRate, 9'000'000u);
  EXPECT_EQ(recorded_rates().targetQuality, 19u);
  EXPECT_EQ(recorded_rates().targetQualityLSB, 128u);
  const std::pair<const char*, unsigned> defaults[] = {{"h264", 23}, {"hevc", 28}, {"av1", 35}};
  for (const auto& [codec, quality] : defaults) {
    configure(codec, [](EncoderOptions&) {});
    EXPECT_EQ(recorded_rates().targetQuality, quality) << codec;
  }
}

TEST_F(FakeNvencEncoder, quantisers_are_of_p_b_and_i_pictures) {
  const auto expect_qp = [](const NV_ENC_QP& qp) {
    EXPECT_EQ(qp.qpIntra, 20u);
    EXPECT_EQ(qp.qpInterP, 22u);
    EXPECT_EQ(qp.qpInterB, 24u);
  };
  for (const char* codec : {"h264", "hevc", "av1"}) {
    configure(codec, [](EncoderOptions& o) { o.const_qp = {20, 22, 24}, o.preset = "P5"; });
    EXPECT_EQ(recorded_rates().rateControlMode, NV_ENC_PARAMS_RC_CONSTQP);
    expect_qp(recorded_rates().constQP);
    EXPECT_EQ(recorded_rates().enableAQ, 0u); // Which would change them.
    EXPECT_EQ(recorded_rates().multiPass, NV_ENC_MULTI_PASS_DISABLED);
    configure(codec, [](EncoderOptions& o) {
      o.bit_rate = 1'000'000;
      o.qp_min = {20, 22, 24};
    });
    EXPECT_EQ(recorded_rates().enableMinQP, 1u);
    EXPECT_EQ(recorded_rates().enableMaxQP, 0u);
    expect_qp(recorded_rates().minQP);
    configure(codec, [](EncoderOptions& o) {
      o.bit_rate = 1'000'000;
      o.qp_max = {20, 22, 24};
    });
    EXPECT_EQ(recorded_rates().enableMaxQP, 1u);
    EXPECT_EQ(recorded_rates().enableMinQP, 0u);
    expect_qp(recorded_rates().maxQP);
    configure(codec, [](EncoderOptions& o) {
      o.bit_rate = 1'000'000;
      o.initial_qp = {20, 22, 24};
    });
    EXPECT_EQ(recorded_rates().enableInitialRCQP, 1u);
    expect_qp(recorded_rates().initialRCQP);
  }
}

TEST_F(FakeNvencEncoder, passes_adaptation_and_lookahead) {
  const auto bit_rate = [](EncoderOptions& o) { o.bit_rate = 1'000'000; };
  const std::pair<Multipass, NV_ENC_MULTI_PASS> passes[] = {
      {Multipass::disabled, NV_ENC_MULTI_PASS_DISABLED},
      {Multipass::quarter_resolution, NV_ENC_TWO_PASS_QUARTER_RESOLUTION},
      {Multipass::full_resolution, NV_ENC_TWO_PASS_FULL_RESOLUTION},
      {Multipass::unspecified, NV_ENC_TWO_PASS_QUARTER_RESOLUTION}}; // Of the preset.
  for (const auto& [set, recorded] : passes) {
    configure("hevc", [&, set = set](EncoderOptions& o) { bit_rate(o), o.multipass = set, o.preset = "P5"; });
    EXPECT_EQ(recorded_rates().multiPass, recorded);
  }
  for (const bool on : {false, true}) {
    configure("h264", [&](EncoderOptions& o) { o.spatial_aq = on, o.preset = "P4"; });
    EXPECT_EQ(recorded_rates().enableAQ, on);
    configure("h264", [&](EncoderOptions& o) { o.temporal_aq = on; });
    EXPECT_EQ(recorded_rates().enableTemporalAQ, on);
  }
  configure("h264", [](EncoderOptions& o) { o.lookahead = 17; });
  EXPECT_EQ(recorded_rates().enableLookahead, 1u);
  EXPECT_EQ(recorded_rates().lookaheadDepth, 17u);
  configure("h264", [](EncoderOptions& o) { o.lookahead = 0; });
  EXPECT_EQ(recorded_rates().enableLookahead, 0u);
}

// --- Structure ---

TEST_F(FakeNvencEncoder, gop_and_idr_period) {
  const auto idr_period = [](const std::string& codec) {
    if (codec == "h264") return recorded_h264().idrPeriod;
    return codec == "hevc" ? recorded_hevc().idrPeriod : recorded_av1().idrPeriod;
  };
  for (const std::string codec : {"h264", "hevc", "av1"}) {
    configure(codec, [](EncoderOptions& o) { o.gop = 30; });
    EXPECT_EQ(recorded_config().gopLength, 30u);
    EXPECT_EQ(idr_period(codec), 30u);
    configure(codec, [](EncoderOptions& o) { o.idr_period = 40; });
    EXPECT_EQ(recorded_config().gopLength, 40u);
    EXPECT_EQ(idr_period(codec), 40u);
    configure(codec, [](EncoderOptions& o) { o.gop = 10, o.idr_period = 40; });
    EXPECT_EQ(recorded_config().gopLength, 10u);
    EXPECT_EQ(idr_period(codec), 40u);
    configure(codec, [](EncoderOptions& o) { o.tuning = Tuning::low_latency; });
    EXPECT_EQ(recorded_config().gopLength, infinite_gop_length); // The preset's.
  }
  EXPECT_EQ(
      types_of(encode_patterns(with("h264", [](EncoderOptions& o) { o.gop = 2, o.idr_period = 4; }), 6)),
      "DPIPDP");
}

TEST_F(FakeNvencEncoder, b_frames) {
  configure("hevc", [](EncoderOptions& o) { o.b_frames = 3; });
  EXPECT_EQ(recorded_config().frameIntervalP, 4);
  configure("hevc", [](EncoderOptions& o) { o.b_frames = 0, o.preset = "P7"; });
  EXPECT_EQ(recorded_config().frameIntervalP, 1);
  configure("hevc", [](EncoderOptions& o) { o.gop = 1, o.preset = "P7"; });
  EXPECT_EQ(recorded_config().frameIntervalP, 1); // Fewer than the preset has.
  configure("h264", [](EncoderOptions& o) { o.tuning = Tuning::low_latency, o.gop = 30, o.b_frames = 1; });
  EXPECT_EQ(recorded_config().frameIntervalP, 2);
  EXPECT_EQ(recorded_rates().zeroReorderDelay, 0u);
}

TEST_F(FakeNvencEncoder, references) {
  configure("h264", [](EncoderOptions& o) { o.num_ref_l0 = 3, o.num_ref_l1 = 2, o.b_frames = 2; });
  EXPECT_EQ(recorded_h264().numRefL0, NV_ENC_NUM_REF_FRAMES_3);
  EXPECT_EQ(recorded_h264().numRefL1, NV_ENC_NUM_REF_FRAMES_2);
  EXPECT_EQ(recorded_h264().maxNumRefFrames, 5u);
  configure("hevc", [](EncoderOptions& o) { o.num_ref_l0 = 7; });
  EXPECT_EQ(recorded_hevc().numRefL0, NV_ENC_NUM_REF_FRAMES_7);
  EXPECT_EQ(recorded_hevc().maxNumRefFramesInDPB, 7u);
  configure("av1", [](EncoderOptions& o) { o.num_ref_l0 = 4, o.num_ref_l1 = 3, o.b_frames = 2; });
  EXPECT_EQ(recorded_av1().numFwdRefs, NV_ENC_NUM_REF_FRAMES_4);
  EXPECT_EQ(recorded_av1().numBwdRefs, NV_ENC_NUM_REF_FRAMES_3);
}

TEST_F(FakeNvencEncoder, slices) {
  const std::tuple<SliceMode, int, std::uint32_t> modes[] = {{SliceMode::macroblocks, 9, 0},
                                                             {SliceMode::bytes, 1200, 1},
                                                             {SliceMode::rows, 2, 2},
                                                             {SliceMode::count, 2, 3}};
  for (const auto& [mode, data, number] : modes)
    for (const std::string codec : {"h264", "hevc"}) {
      configure(codec, [&, mode = mode, data = data](EncoderOptions& o) {
        o.slice_mode = mode, o.slice_data = data;
      });
      EXPECT_EQ(codec == "h264" ? recorded_h264().sliceMode : recorded_hevc().sliceMode, number);
      EXPECT_EQ(codec == "h264" ? recorded_h264().sliceModeData : recorded_hevc().sliceModeData,
                static_cast<std::uint32_t>(data));
    }
}

TEST_F(FakeNvencEncoder, headers) {
  struct Case {
    bool apart;
    std::optional<bool> repeat;
    bool disabled, repeated;
  };
  const Case cases[] = {{false, {}, false, true}, {false, false, false, false}, {false, true, false, true},
                        {true, {}, true, false},  {true, false, true, false},   {true, true, false, true}};
  for (const Case& one : cases)
    for (const std::string codec : {"h264", "hevc", "av1"}) {
      configure(codec,
                [&](EncoderOptions& o) { o.global_header = one.apart, o.repeat_headers = one.repeat; });
      const bool disabled = codec == "h264"   ? recorded_h264().disableSPSPPS
                            : codec == "hevc" ? recorded_hevc().disableSPSPPS
                                              : recorded_av1().disableSeqHdr,
                 repeated = codec == "h264"   ? recorded_h264().repeatSPSPPS
                            : codec == "hevc" ? recorded_hevc().repeatSPSPPS
                                              : recorded_av1().repeatSeqHdr;
      EXPECT_EQ(disabled, one.disabled) << codec;
      EXPECT_EQ(repeated, one.repeated) << codec;
    }
}

TEST_F(FakeNvencEncoder, hrd_parameters) {
  const auto hrd = [](EncoderOptions& o) {
    o.hrd = true, o.rate_control = RateControl::cbr, o.bit_rate = 1'000'000;
  };
  configure("h264", hrd);
  EXPECT_TRUE(recorded_h264().outputBufferingPeriodSEI && recorded_h264().outputPictureTimingSEI);
  configure("hevc", hrd);
  EXPECT_TRUE(recorded_hevc().outputBufferingPeriodSEI && recorded_hevc().outputPictureTimingSEI);
  configure("av1", hrd);
  EXPECT_TRUE(recorded_av1().enableTimingInfo && recorded_av1().enableDecoderModelInfo);
  configure("h264", [](EncoderOptions&) {});
  EXPECT_FALSE(recorded_h264().outputBufferingPeriodSEI || recorded_h264().outputPictureTimingSEI);
}

TEST_F(FakeNvencEncoder, colours) {
  const auto colours = [](EncoderOptions& o) {
    o.color = {ColorMatrix::bt2020, ColorRange::full, ChromaSiting::top_left, 9, 16};
  };
  for (const std::string codec : {"h264", "hevc"}) {
    configure(codec, colours);
    const auto& vui = codec == "h264" ? recorded_h264().h264VUIParameters : recorded_hevc().hevcVUIParameters;
    EXPECT_EQ(vui.videoSignalTypePresentFlag, 1u);
    EXPECT_EQ(vui.videoFullRangeFlag, 1u);
    EXPECT_EQ(vui.colourDescriptionPresentFlag, 1u);
    EXPECT_EQ(vui.colourPrimaries, NV_ENC_VUI_COLOR_PRIMARIES_BT2020);
    EXPECT_EQ(vui.transferCharacteristics, NV_ENC_VUI_TRANSFER_CHARACTERISTIC_SMPTE2084);
    EXPECT_EQ(vui.colourMatrix, NV_ENC_VUI_MATRIX_COEFFS_BT2020_NCL);
    EXPECT_EQ(vui.chromaSampleLocationFlag, 1u);
    EXPECT_EQ(vui.chromaSampleLocationTop, 2u);
    EXPECT_EQ(vui.chromaSampleLocationBot, 2u);
    configure(codec, [](EncoderOptions&) {});
    EXPECT_EQ(vui.colourMatrix, NV_ENC_VUI_MATRIX_COEFFS_SMPTE170M);
    EXPECT_EQ(vui.videoFullRangeFlag, 0u);
    EXPECT_EQ(vui.chromaSampleLocationFlag, 0u);
  }
  configure("av1", colours);
  EXPECT_EQ(recorded_av1().colorPrimaries, NV_ENC_VUI_COLOR_PRIMARIES_BT2020);
  EXPECT_EQ(recorded_av1().transferCharacteristics, NV_ENC_VUI_TRANSFER_CHARACTERISTIC_SMPTE2084);
  EXPECT_EQ(recorded_av1().matrixCoefficients, NV_ENC_VUI_MATRIX_COEFFS_BT2020_NCL);
  EXPECT_EQ(recorded_av1().colorRange, 1u);
  EXPECT_EQ(recorded_av1().chromaSamplePosition, 2u);
}

TEST_F(FakeNvencEncoder, timing) {
  for (const std::string codec : {"h264", "hevc"}) {
    const auto vui = [&] {
      return codec == "h264" ? recorded_h264().h264VUIParameters : recorded_hevc().hevcVUIParameters;
    };
    configure(codec, [](EncoderOptions& o) { o.num_units_in_tick = 2002, o.time_scale = 120000; });
    EXPECT_EQ(vui().timingInfoPresentFlag, 1u);
    EXPECT_EQ(vui().numUnitInTicks, 1001u); // Lowest terms.
    EXPECT_EQ(vui().timeScale, 60000u);
    configure(codec, [](EncoderOptions& o) { o.rate = {30000, 1001}; });
    EXPECT_EQ(vui().numUnitInTicks, 1001u);
    EXPECT_EQ(vui().timeScale, codec == "h264" ? 60000u : 30000u);
  }
}

TEST_F(FakeNvencEncoder, profiles_levels_and_tiers) {
  const std::tuple<const char*, const char*, GUID> profiles[] = {
      {"h264", "baseline", NV_ENC_H264_PROFILE_BASELINE_GUID},
      {"h264", "main", NV_ENC_H264_PROFILE_MAIN_GUID},
      {"h264", "high", NV_ENC_H264_PROFILE_HIGH_GUID},
      {"h264", "high444", NV_ENC_H264_PROFILE_HIGH_444_GUID},
      {"hevc", "main", NV_ENC_HEVC_PROFILE_MAIN_GUID},
      {"hevc", "main10", NV_ENC_HEVC_PROFILE_MAIN10_GUID},
      {"hevc", "main444-8", NV_ENC_HEVC_PROFILE_FREXT_GUID},
      {"av1", "main", NV_ENC_AV1_PROFILE_MAIN_GUID}};
  for (const auto& [codec, name, guid] : profiles) {
    configure(codec, [name = name](EncoderOptions& o) { o.profile = name; });
    EXPECT_EQ(recorded_config().profileGUID, guid) << codec << name;
  }
  const std::tuple<const char*, const char*, std::uint32_t> levels[] = {
      {"h264", "4.1", 41}, {"h264", "1b", 9}, {"hevc", "4.1", 123}, {"hevc", "5", 150}, {"av1", "5.1", 13}};
  for (const auto& [codec, name, number] : levels) {
    configure(codec, [name = name](EncoderOptions& o) { o.level = name; });
    EXPECT_EQ(std::string(codec) == "h264"   ? recorded_h264().level
              : std::string(codec) == "hevc" ? recorded_hevc().level
                                             : recorded_av1().level,
              number)
        << codec << name;
  }
  configure("hevc", [](EncoderOptions& o) { o.level = "5", o.tier = "high"; });
  EXPECT_EQ(recorded_hevc().tier, NV_ENC_TIER_HEVC_HIGH);
  configure("av1", [](EncoderOptions& o) { o.level = "5", o.tier = "high"; });
  EXPECT_EQ(recorded_av1().tier, NV_ENC_TIER_AV1_1);
}

TEST_F(FakeNvencEncoder, lossless) {
  configure("h264", [](EncoderOptions& o) { o.tuning = Tuning::lossless, o.preset = "P5"; });
  EXPECT_EQ(recorded_rates().rateControlMode, NV_ENC_PARAMS_RC_CONSTQP);
  EXPECT_EQ(recorded_rates().constQP.qpInterP, 0u);
  EXPECT_EQ(recorded_h264().qpPrimeYZeroTransformBypassFlag, 1u);
  EXPECT_EQ(recorded_config().profileGUID, NV_ENC_H264_PROFILE_HIGH_444_GUID);
}

} // namespace
} // namespace lanner::test
