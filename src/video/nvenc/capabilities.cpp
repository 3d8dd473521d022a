// What a GPU encodes, by its driver's own answer.

#include <lanner/encoder.h>

#include "video/nvenc/session.h"

namespace lanner {
namespace nvenc {
namespace {

struct NamedCapability {
  std::string_view name;
  NV_ENC_CAPS which;
};
constexpr NamedCapability capabilities[] = {
    {"num_max_bframes", NV_ENC_CAPS_NUM_MAX_BFRAMES},
    {"supported_ratecontrol_modes", NV_ENC_CAPS_SUPPORTED_RATECONTROL_MODES},
    {"support_field_encoding", NV_ENC_CAPS_SUPPORT_FIELD_ENCODING},
    {"support_monochrome", NV_ENC_CAPS_SUPPORT_MONOCHROME},
    {"support_fmo", NV_ENC_CAPS_SUPPORT_FMO},
    {"support_qpelmv", NV_ENC_CAPS_SUPPORT_QPELMV},
    {"support_bdirect_mode", NV_ENC_CAPS_SUPPORT_BDIRECT_MODE},
    {"support_cabac", NV_ENC_CAPS_SUPPORT_CABAC},
    {"support_adaptive_transform", NV_ENC_CAPS_SUPPORT_ADAPTIVE_TRANSFORM},
    {"support_stereo_mvc", NV_ENC_CAPS_SUPPORT_STEREO_MVC},
    {"num_max_temporal_layers", NV_ENC_CAPS_NUM_MAX_TEMPORAL_LAYERS},
    {"support_hierarchical_pframes", NV_ENC_CAPS_SUPPORT_HIERARCHICAL_PFRAMES},
    {"support_hierarchical_bframes", NV_ENC_CAPS_SUPPORT_HIERARCHICAL_BFRAMES},
    {"level_max", NV_ENC_CAPS_LEVEL_MAX},
    {"level_min", NV_ENC_CAPS_LEVEL_MIN},
    {"separate_colour_plane", NV_ENC_CAPS_SEPARATE_COLOUR_PLANE},
    {"width_max", NV_ENC_CAPS_WIDTH_MAX},
    {"height_max", NV_ENC_CAPS_HEIGHT_MAX},
    {"support_temporal_svc", NV_ENC_CAPS_SUPPORT_TEMPORAL_SVC},
    {"support_dyn_res_change", NV_ENC_CAPS_SUPPORT_DYN_RES_CHANGE},
    {"support_dyn_bitrate_change", NV_ENC_CAPS_SUPPORT_DYN_BITRATE_CHANGE},
    {"support_dyn_force_constqp", NV_ENC_CAPS_SUPPORT_DYN_FORCE_CONSTQP},
    {"support_dyn_rcmode_change", NV_ENC_CAPS_SUPPORT_DYN_RCMODE_CHANGE},
    {"support_subframe_readback", NV_ENC_CAPS_SUPPORT_SUBFRAME_READBACK},
    {"support_constrained_encoding", NV_ENC_CAPS_SUPPORT_CONSTRAINED_ENCODING},
    {"support_intra_refresh", NV_ENC_CAPS_SUPPORT_INTRA_REFRESH},
    {"support_custom_vbv_buf_size", NV_ENC_CAPS_SUPPORT_CUSTOM_VBV_BUF_SIZE},
    {"support_dynamic_slice_mode", NV_ENC_CAPS_SUPPORT_DYNAMIC_SLICE_MODE},
    {"support_ref_pic_invalidation", NV_ENC_CAPS_SUPPORT_REF_PIC_INVALIDATION},
    {"preproc_support", NV_ENC_CAPS_PREPROC_SUPPORT},
    {"async_encode_support", NV_ENC_CAPS_ASYNC_ENCODE_SUPPORT},
    {"mb_num_max", NV_ENC_CAPS_MB_NUM_MAX},
    {"mb_per_sec_max", NV_ENC_CAPS_MB_PER_SEC_MAX},
    {"support_yuv444_encode", NV_ENC_CAPS_SUPPORT_YUV444_ENCODE},
    {"support_lossless_encode", NV_ENC_CAPS_SUPPORT_LOSSLESS_ENCODE},
    {"support_sao", NV_ENC_CAPS_SUPPORT_SAO},
    {"support_meonly_mode", NV_ENC_CAPS_SUPPORT_MEONLY_MODE},
    {"support_lookahead", NV_ENC_CAPS_SUPPORT_LOOKAHEAD},
    {"support_temporal_aq", NV_ENC_CAPS_SUPPORT_TEMPORAL_AQ},
    {"support_10bit_encode", NV_ENC_CAPS_SUPPORT_10BIT_ENCODE},
    {"num_max_ltr_frames", NV_ENC_CAPS_NUM_MAX_LTR_FRAMES},
    {"support_weighted_prediction", NV_ENC_CAPS_SUPPORT_WEIGHTED_PREDICTION},
    {"dynamic_query_encoder_capacity", NV_ENC_CAPS_DYNAMIC_QUERY_ENCODER_CAPACITY},
    {"support_bframe_ref_mode", NV_ENC_CAPS_SUPPORT_BFRAME_REF_MODE},
    {"support_emphasis_level_map", NV_ENC_CAPS_SUPPORT_EMPHASIS_LEVEL_MAP},
    {"width_min", NV_ENC_CAPS_WIDTH_MIN},
    {"height_min", NV_ENC_CAPS_HEIGHT_MIN},
    {"support_multiple_ref_frames", NV_ENC_CAPS_SUPPORT_MULTIPLE_REF_FRAMES},
    {"support_alpha_layer_encoding", NV_ENC_CAPS_SUPPORT_ALPHA_LAYER_ENCODING},
    {"num_encoder_engines", NV_ENC_CAPS_NUM_ENCODER_ENGINES},
    {"single_slice_intra_refresh", NV_ENC_CAPS_SINGLE_SLICE_INTRA_REFRESH},
    {"disable_enc_state_advance", NV_ENC_CAPS_DISABLE_ENC_STATE_ADVANCE},
    {"output_recon_surface", NV_ENC_CAPS_OUTPUT_RECON_SURFACE},
    {"output_block_stats", NV_ENC_CAPS_OUTPUT_BLOCK_STATS},
    {"output_row_stats", NV_ENC_CAPS_OUTPUT_ROW_STATS},
};
static_assert(std::size(capabilities) == NV_ENC_CAPS_EXPOSED_COUNT);

} // namespace
} // namespace nvenc

std::vector<EncoderCapability> encoder_capabilities(Device device) {
  static_cast<void>(nvenc::api());
  const cuda::Gpu& gpu = cuda::Gpu::get(device);
  const cuda::Current current(gpu);
  const nvenc::Session session(gpu, nullptr);
  std::vector<EncoderCapability> found;
  for (const nvenc::Codec codec : nvenc::all_codecs) {
    EncoderCapability& one = found.emplace_back();
    one.codec = nvenc::name_of(codec);
    one.supported = session.has(codec);
    if (!one.supported) continue;
    for (const auto& [name, which] : nvenc::capabilities)
      one.values.emplace(name, session.capability(codec, which));
  }
  return found;
}

} // namespace lanner
