#pragma once
// What the names that all encoders share are for each of FFmpeg's, and what each of them cannot do. The page
// docs/encoder-presets.md is made of these tables (tests/video/encoder_page_test.cpp).

#include <array>
#include <string_view>

#include <lanner/encoder.h>

namespace lanner {

/// P1 to P7 in an encoder's own words.
struct PresetRow {
  std::string_view encoder;
  std::string_view option; ///< Of FFmpeg's encoder.
  std::array<std::string_view, 7> values;
};

inline constexpr PresetRow preset_rows[] = {
    {"libx264", "preset", {"ultrafast", "superfast", "veryfast", "faster", "medium", "slow", "slower"}},
    {"libx264rgb", "preset", {"ultrafast", "superfast", "veryfast", "faster", "medium", "slow", "slower"}},
    {"libx265", "preset", {"ultrafast", "superfast", "veryfast", "faster", "medium", "slow", "slower"}},
    {"libsvtav1", "preset", {"12", "11", "10", "8", "7", "6", "5"}},
    {"libaom-av1", "cpu-used", {"8", "7", "6", "5", "4", "3", "2"}},
    {"libvpx-vp9", "cpu-used", {"8", "7", "6", "5", "4", "3", "2"}},
};

/// Settings of a tuning, as `name=value` with `:` between them; empty: the preset alone.
struct TuningRow {
  std::string_view encoder;
  Tuning tuning;
  std::string_view settings;
};

inline constexpr TuningRow tuning_rows[] = {
    {"libx264", Tuning::high_quality, ""},
    {"libx264", Tuning::low_latency, "bframes=0:rc-lookahead=0:sync-lookahead=0:mbtree=0"},
    {"libx264", Tuning::ultra_low_latency, "tune=zerolatency"},
    {"libx264", Tuning::lossless, "qp=0"},
    {"libx264rgb", Tuning::high_quality, ""},
    {"libx264rgb", Tuning::low_latency, "bframes=0:rc-lookahead=0:sync-lookahead=0:mbtree=0"},
    {"libx264rgb", Tuning::ultra_low_latency, "tune=zerolatency"},
    {"libx264rgb", Tuning::lossless, "qp=0"},
    {"libx265", Tuning::high_quality, ""},
    {"libx265", Tuning::low_latency, "bframes=0:b-adapt=0:rc-lookahead=0:scenecut=0:cutree=0"},
    {"libx265", Tuning::ultra_low_latency, "tune=zerolatency"},
    {"libx265", Tuning::lossless, "lossless=1"},
    {"libsvtav1", Tuning::high_quality, ""},
    {"libsvtav1", Tuning::low_latency, "pred-struct=1"},
    {"libsvtav1", Tuning::ultra_low_latency, "pred-struct=1:lookahead=0:scd=0"},
    {"libaom-av1", Tuning::high_quality, ""},
    {"libaom-av1", Tuning::low_latency, "lag-in-frames=0"},
    {"libaom-av1", Tuning::ultra_low_latency, "lag-in-frames=0:usage=realtime"},
    {"libaom-av1", Tuning::lossless, "lossless=1"},
    {"libvpx-vp9", Tuning::high_quality, ""},
    {"libvpx-vp9", Tuning::low_latency, "lag-in-frames=0"},
    {"libvpx-vp9", Tuning::ultra_low_latency, "lag-in-frames=0:deadline=realtime"},
    {"libvpx-vp9", Tuning::lossless, "lossless=1"},
};

/// Options that an encoder does not have. `encoder` ends in `*` for all that begin so.
struct EncoderRefusal {
  std::string_view encoder, option;
  std::string_view why; ///< And what would do.
};

inline constexpr EncoderRefusal encoder_refusals[] = {
    {"*", "initial_qp", "NVENC alone begins with a QP that is asked for; bound it by qp_min and qp_max"},
    {"*", "multipass", "NVENC alone passes over each picture twice; lookahead is what software has for it"},
    {"*", "low_delay_keyframe_scale",
     "NVENC alone scales keyframes; a vbv_buffer_size of few pictures keeps them small"},
    {"*", "num_ref_l1", "NVENC alone bounds list 1; num_ref_l0 bounds the references of libx264 and libx265"},
    {"libx265", "slice_mode", "libx265 3.5 crashes with more than one slice; libx264 and NVENC have slices"},
    {"libsvtav1", "tier", "SVT-AV1 1.4 writes the tier main alone; leave it out"},
    {"libx264*", "tier", "H.264 has no tiers; leave it out"},
    {"libsvtav1", "vbv_buffer_size", "its buffer shows nowhere in AV1; libx264 and libx265 have one"},
    {"libsvtav1", "vbv_initial", "its buffer shows nowhere in AV1; libx264 and libx265 have one"},
    {"libsvtav1", "temporal_aq", "its preset decides; of libx264 and libx265 it can be chosen"},
    {"libsvtav1", "num_ref_l0", "its preset decides; of libx264 and libx265 it can be chosen"},
    {"libsvtav1", "profile", "SVT-AV1 writes the profile main alone; leave it out"},
    {"libaom-av1", "vbv_buffer_size", "its buffer shows nowhere in AV1; libx264 and libx265 have one"},
    {"libaom-av1", "vbv_initial", "its buffer shows nowhere in AV1; libx264 and libx265 have one"},
    {"libaom-av1", "max_bit_rate", "libaom-av1 bounds no rate; rate_control cbr keeps to one"},
    {"libaom-av1", "temporal_aq", "its preset decides; of libx264 and libx265 it can be chosen"},
    {"libaom-av1", "num_ref_l0", "its preset decides; of libx264 and libx265 it can be chosen"},
    {"libaom-av1", "level", "libaom-av1 writes the least level that fits; libsvtav1 takes one"},
    {"libaom-av1", "tier", "libaom-av1 writes the least level that fits; libsvtav1 takes one"},
    {"libaom-av1", "profile", "libaom-av1 takes the profile of the format; leave it out"},
    {"libsvtav1", "slice_mode", "AV1 has no slices; tile_columns and tile_rows of codec_options make tiles"},
    {"libaom-av1", "slice_mode", "AV1 has no slices; tile-columns and tile-rows of codec_options make tiles"},
    {"libsvtav1", "time_scale", "timing is of the VUI of H.264 and HEVC; rate says it of AV1"},
    {"libaom-av1", "time_scale", "timing is of the VUI of H.264 and HEVC; rate says it of AV1"},
    {"libsvtav1", "repeat_headers", "AV1 has its sequence header at each keyframe; leave it out"},
    {"libaom-av1", "repeat_headers", "AV1 has its sequence header at each keyframe; leave it out"},
    {"libsvtav1", "hrd", "the decoder model of AV1 is not written; libx264 and libx265 write HRD parameters"},
    {"libaom-av1", "hrd",
     "the decoder model of AV1 is not written; libx264 and libx265 write HRD parameters"},
};

/// Options that other encoders than those of the presets' table have.
struct OtherEncoder {
  std::string_view encoder;
  std::string_view options; ///< Names with spaces between them.
};
inline constexpr OtherEncoder other_encoders[] = {
    {"libvpx-vp9", "tuning rate_control const_qp qp_min qp_max lookahead spatial_aq"},
    {"libvpx", "rate_control const_qp qp_min qp_max"},
    {"mpeg2video", "rate_control max_bit_rate vbv_buffer_size const_qp qp_min qp_max"},
    {"mpeg4", "rate_control max_bit_rate vbv_buffer_size const_qp qp_min qp_max"},
    {"mjpeg", "rate_control const_qp"},
    {"ffv1", "tuning"},
    {"png", "tuning"},
};

} // namespace lanner
