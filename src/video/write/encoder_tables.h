#pragma once
// What presets and tunings mean for each FFmpeg encoder, and which options each does not support. The page
// docs/encoder-presets.md is made from these tables (tests/video/encoder_page_test.cpp).

#include <array>
#include <string_view>

#include <lanner/encoder.h>

namespace lanner {

/// An encoder's own settings for P1 to P7.
struct PresetRow {
  std::string_view encoder;
  std::string_view option; ///< The FFmpeg encoder's option that they set.
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
    {"libwebp_anim", Tuning::lossless, "lossless=1"},
    {"libwebp", Tuning::lossless, "lossless=1"},
};

/// Options that an encoder does not support. An `encoder` that ends in `*` means all encoders that begin so.
struct EncoderRefusal {
  std::string_view encoder, option;
  std::string_view why; ///< And what to use instead.
};

inline constexpr EncoderRefusal encoder_refusals[] = {
    {"*", "initial_qp", "only NVENC takes an initial QP; limit QP with qp_min and qp_max instead"},
    {"*", "multipass",
     "only NVENC encodes each picture in two passes; software encoders have lookahead instead"},
    {"*", "low_delay_keyframe_scale",
     "only NVENC scales keyframes; a vbv_buffer_size of a few pictures keeps them small"},
    {"*", "num_ref_l1",
     "only NVENC limits list 1; num_ref_l0 limits the reference pictures of libx264 and libx265"},
    {"libx265", "slice_mode", "libx265 3.5 crashes with more than one slice; libx264 and NVENC have slices"},
    {"libsvtav1", "tier", "SVT-AV1 1.4 writes tier main only; leave tier out"},
    {"libx264*", "tier", "H.264 has no tiers; leave tier out"},
    {"libsvtav1", "vbv_buffer_size", "AV1 streams do not state a buffer size; libx264 and libx265 have one"},
    {"libsvtav1", "vbv_initial", "AV1 streams do not state a buffer size; libx264 and libx265 have one"},
    {"libsvtav1", "temporal_aq", "its preset decides; libx264 and libx265 have this option"},
    {"libsvtav1", "num_ref_l0", "its preset decides; libx264 and libx265 have this option"},
    {"libsvtav1", "profile", "SVT-AV1 writes profile main only; leave profile out"},
    {"libaom-av1", "vbv_buffer_size", "AV1 streams do not state a buffer size; libx264 and libx265 have one"},
    {"libaom-av1", "vbv_initial", "AV1 streams do not state a buffer size; libx264 and libx265 have one"},
    {"libaom-av1", "max_bit_rate",
     "libaom-av1 has no maximum rate; rate_control cbr keeps the rate constant"},
    {"libaom-av1", "temporal_aq", "its preset decides; libx264 and libx265 have this option"},
    {"libaom-av1", "num_ref_l0", "its preset decides; libx264 and libx265 have this option"},
    {"libaom-av1", "level", "libaom-av1 writes the lowest level that fits; libsvtav1 has this option"},
    {"libaom-av1", "tier", "libaom-av1 writes the lowest level that fits; libsvtav1 has this option"},
    {"libaom-av1", "profile", "libaom-av1 writes the profile that the format needs; leave profile out"},
    {"libsvtav1", "slice_mode",
     "AV1 has no slices; set tile_columns and tile_rows in codec_options for tiles"},
    {"libaom-av1", "slice_mode",
     "AV1 has no slices; set tile-columns and tile-rows in codec_options for tiles"},
    {"libsvtav1", "time_scale", "only H.264 and HEVC have VUI timing; set rate for AV1"},
    {"libaom-av1", "time_scale", "only H.264 and HEVC have VUI timing; set rate for AV1"},
    {"libsvtav1", "repeat_headers", "AV1 has a sequence header at each keyframe; leave repeat_headers out"},
    {"libaom-av1", "repeat_headers", "AV1 has a sequence header at each keyframe; leave repeat_headers out"},
    {"libsvtav1", "hrd", "AV1's decoder model is not supported; libx264 and libx265 write HRD parameters"},
    {"libaom-av1", "hrd", "AV1's decoder model is not supported; libx264 and libx265 write HRD parameters"},
};

/// Options of the encoders that are not in the presets' table.
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
    {"apng", "tuning"},
    {"libwebp_anim", "tuning"},
    {"libwebp", "tuning"},
};

} // namespace lanner
