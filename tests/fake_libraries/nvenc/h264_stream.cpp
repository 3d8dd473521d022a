// H.264 without loss: every macroblock is I_PCM (ITU-T H.264 7.3 and 9.3), in slices of the picture's type.

#include <array>

#include "fake_libraries/nvenc/cabac_writer.h"
#include "fake_libraries/nvenc/stream.h"
#include "fake_libraries/nvenc/vui_writer.h"

namespace lanner::fake_nvenc {

using namespace nvenc;

namespace {

constexpr unsigned frame_number_bits = 8, order_bits = 16, qp_of_slices = 26;

enum UnitType : std::uint8_t { slice = 1, idr_slice = 5, sei = 6, sps = 7, pps = 8, delimiter = 9 };

std::uint8_t header(UnitType type, unsigned importance) {
  return static_cast<std::uint8_t>(importance << 5 | type);
}

bool lossless(const Settings& s) {
  return s.h264().qpPrimeYZeroTransformBypassFlag;
}

bool cabac(const Settings& s) {
  if (s.config.profileGUID == NV_ENC_H264_PROFILE_BASELINE_GUID) return false;
  return s.h264().entropyCodingMode != NV_ENC_H264_ENTROPY_CODING_MODE_CAVLC;
}

struct Profile {
  unsigned idc = 100, constraints = 0;
};
Profile profile_of(const Settings& s) {
  const GUID& guid = s.config.profileGUID;
  if (guid == NV_ENC_H264_PROFILE_HIGH_444_GUID || s.chroma() == 3 || lossless(s)) return {244, 0};
  if (guid == NV_ENC_H264_PROFILE_BASELINE_GUID) return {66, 0xc0};
  if (guid == NV_ENC_H264_PROFILE_MAIN_GUID) return {77, 0x40};
  if (guid == NV_ENC_H264_PROFILE_PROGRESSIVE_HIGH_GUID) return {100, 0x08};
  if (guid == NV_ENC_H264_PROFILE_CONSTRAINED_HIGH_GUID) return {100, 0x0c};
  return {};
}

/// The configured level, else the first whose frame size and rate (table A-1) suffice.
unsigned level_of(const Settings& s) {
  if (s.h264().level != NV_ENC_LEVEL_AUTOSELECT) return s.h264().level;
  struct Limit {
    unsigned level, blocks_per_second, blocks;
  };
  constexpr Limit limits[] = {
      {10, 1485, 99},      {11, 3000, 396},      {12, 6000, 396},       {13, 11880, 396},
      {21, 19800, 792},    {22, 20250, 1620},    {30, 40500, 1620},     {31, 108000, 3600},
      {32, 216000, 5120},  {40, 245760, 8192},   {42, 522240, 8704},    {50, 589824, 22080},
      {51, 983040, 36864}, {52, 2073600, 36864}, {60, 4177920, 139264}, {61, 8355840, 139264}};
  const unsigned blocks = (s.init.encodeWidth + 15) / 16 * ((s.init.encodeHeight + 15) / 16);
  const double rate = s.init.frameRateDen ? double(s.init.frameRateNum) / s.init.frameRateDen : 30;
  for (const Limit& limit : limits)
    if (blocks <= limit.blocks && blocks * rate <= limit.blocks_per_second) return limit.level;
  return 62;
}

void write_vui(BitWriter& out, const Settings& s) {
  const auto& vui = s.h264().h264VUIParameters;
  write_vui_begin(out, s.init, vui);
  const Timing timing = timing_of(s.init, vui, 2);
  out.flag(timing.present);
  if (timing.present) {
    out.put(timing.units, 32);
    out.put(timing.scale, 32);
    out.flag(!s.h264().enableVFR); // fixed_frame_rate_flag
  }
  out.put(0, 3);  // no HRD, no picture structure
  out.flag(true); // bitstream_restriction_flag
  out.flag(true); // motion_vectors_over_pic_boundaries_flag
  out.ue(0);
  out.ue(0);
  out.ue(16);
  out.ue(16);
  out.ue(s.b_frames() == 0 ? 0 : s.b_references() == NV_ENC_BFRAME_REF_MODE_DISABLED ? 1 : 2);
  out.ue(s.references());
}

Bytes sps_bytes(const Settings& s) {
  BitWriter out;
  const Profile profile = profile_of(s);
  out.put(profile.idc, 8);
  out.put(profile.constraints, 8);
  out.put(level_of(s), 8);
  out.ue(s.h264().spsId);
  if (profile.idc == 100 || profile.idc == 244) {
    out.ue(s.chroma());
    if (s.chroma() == 3) out.flag(false); // separate_colour_plane_flag
    out.ue(0);
    out.ue(0);
    out.flag(lossless(s));
    out.flag(false); // no scaling matrix
  }
  out.ue(frame_number_bits - 4);
  out.ue(0); // pic_order_cnt_type
  out.ue(order_bits - 4);
  out.ue(s.references());
  out.flag(false); // no gaps
  const unsigned columns = (s.init.encodeWidth + 15) / 16, rows = (s.init.encodeHeight + 15) / 16;
  out.ue(columns - 1);
  out.ue(rows - 1);
  out.flag(true); // frame_mbs_only_flag
  out.flag(true); // direct_8x8_inference_flag
  const unsigned unit = s.chroma() == 3 ? 1 : 2;
  const unsigned right = columns * 16 - s.init.encodeWidth, bottom = rows * 16 - s.init.encodeHeight;
  out.flag(right > 0 || bottom > 0);
  if (right > 0 || bottom > 0) {
    out.ue(0);
    out.ue(right / unit);
    out.ue(0);
    out.ue(bottom / unit);
  }
  out.flag(true); // vui_parameters_present_flag
  write_vui(out, s);
  out.trail();
  return out.bytes();
}

Bytes pps_bytes(const Settings& s) {
  BitWriter out;
  out.ue(s.h264().ppsId);
  out.ue(s.h264().spsId);
  out.flag(cabac(s));
  out.flag(false);
  out.ue(0); // one slice group
  out.ue(0);
  out.ue(0);
  out.flag(false); // weighted_pred_flag
  out.put(0, 2);
  out.se(0);
  out.se(0);
  out.se(s.config.rcParams.cbQPIndexOffset);
  out.flag(true); // deblocking_filter_control_present_flag
  out.flag(s.h264().useConstrainedIntraPred);
  out.flag(false);
  if (profile_of(s).idc >= 100) {
    out.flag(s.h264().adaptiveTransformMode == NV_ENC_H264_ADAPTIVE_TRANSFORM_ENABLE);
    out.flag(false);
    out.se(s.config.rcParams.crQPIndexOffset);
  }
  out.trail();
  return out.bytes();
}

enum SliceType : unsigned { slice_p = 5, slice_b = 6, slice_i = 7 };

SliceType type_of(const CodedPicture& picture) {
  if (picture.type == NV_ENC_PIC_TYPE_B) return slice_b;
  return picture.type == NV_ENC_PIC_TYPE_P ? slice_p : slice_i;
}

void write_slice_header(BitWriter& out, const Settings& s, const CodedPicture& picture, unsigned first) {
  const bool idr = picture.type == NV_ENC_PIC_TYPE_IDR;
  const SliceType type = type_of(picture);
  out.ue(first);
  out.ue(type);
  out.ue(s.h264().ppsId);
  out.put(picture.reference_number, frame_number_bits);
  if (idr) out.ue(picture.idr_number & 0xffff);
  out.put(2 * picture.order, order_bits);
  if (type == slice_b) out.flag(true);  // direct_spatial_mv_pred_flag
  if (type != slice_i) out.flag(false); // num_ref_idx_active_override_flag
  if (type != slice_i) out.flag(false); // no modification of list 0
  if (type == slice_b) out.flag(false);
  if (picture.reference) out.put(0, idr ? 2 : 1); // dec_ref_pic_marking
  if (cabac(s) && type != slice_i) out.ue(0);     // cabac_init_idc
  out.se(0);
  out.ue(s.h264().disableDeblockingFilterIDC);
  if (s.h264().disableDeblockingFilterIDC != 1) {
    out.se(0);
    out.se(0);
  }
}

void write_samples(BitWriter& out, const Samples& samples, unsigned block, unsigned columns) {
  for (unsigned plane = 0; plane < 3; ++plane) {
    const unsigned size = 16u >> samples.shift(plane);
    for (unsigned y = 0; y < size; ++y)
      for (unsigned x = 0; x < size; ++x)
        out.put(samples.at(plane, block % columns * size + x, block / columns * size + y), 8);
  }
}

/// mb_skip_run and mb_type by Exp-Golomb codes.
void write_plain(BitWriter& out, SliceType type, const Samples& samples, unsigned first, unsigned end) {
  for (unsigned block = first; block < end; ++block) {
    if (type != slice_i) out.ue(0);
    out.ue(type == slice_i ? 25 : type == slice_p ? 30 : 48);
    out.align();
    write_samples(out, samples, block, samples.width / 16);
  }
}

/// The contexts that I_PCM needs, from tables 9-12 to 9-15, for cabac_init_idc 0.
struct PcmContexts {
  std::array<ContextState, 3> skip, intra;
  std::array<ContextState, 6> b;
  ContextState p;
  explicit PcmContexts(SliceType type) {
    const auto of = [](int m, int n) { return ContextState::of(m, n, qp_of_slices); };
    skip = {of(23, 33), of(23, 2), of(21, 0)};
    if (type == slice_b) skip = {of(18, 64), of(9, 43), of(29, 0)};
    p = of(1, 9);
    b = {of(26, 67), of(16, 90), of(9, 104), of(-46, 127), of(-20, 104), of(1, 67)};
    intra = {of(20, -15), of(2, 54), of(3, 74)};
    if (type == slice_p) intra[0] = of(5, 57);
  }
};

void write_mb_type(CabacWriter& coder, PcmContexts& contexts, SliceType type, unsigned neighbours) {
  if (type == slice_i) return coder.encode(contexts.intra[neighbours], true);
  coder.encode(contexts.skip[neighbours], false);
  if (type == slice_p) coder.encode(contexts.p, true);
  if (type == slice_b) {
    coder.encode(contexts.b[neighbours], true);
    coder.encode(contexts.b[3], true);
    coder.encode(contexts.b[4], true);
    for (const bool bin : {true, false, true}) coder.encode(contexts.b[5], bin);
  }
  // Of B slices it is the context that the prefix ended with, 32.
  coder.encode(type == slice_b ? contexts.b[5] : contexts.intra[0], true);
}

void write_arithmetic(BitWriter& out, SliceType type, const Samples& samples, unsigned first, unsigned end) {
  out.align(true); // cabac_alignment_one_bit
  CabacWriter coder(out);
  PcmContexts contexts(type);
  const unsigned columns = samples.width / 16;
  for (unsigned block = first; block < end; ++block) {
    const bool left = block % columns > 0 && block > first, above = block >= first + columns;
    write_mb_type(coder, contexts, type, left + above);
    coder.terminate(true); // the last bin of I_PCM
    out.align();
    write_samples(out, samples, block, columns);
    coder.terminate(block + 1 == end);
  }
  out.align();
}

Bytes slice_bytes(const Settings& s, const CodedPicture& picture, const Samples& samples, unsigned first,
                  unsigned end) {
  BitWriter out;
  write_slice_header(out, s, picture, first);
  const SliceType type = type_of(picture);
  if (cabac(s)) {
    write_arithmetic(out, type, samples, first, end);
  } else {
    write_plain(out, type, samples, first, end);
    out.trail();
  }
  return out.bytes();
}

} // namespace

Bytes write_h264_headers(const Settings& s) {
  Bytes made;
  append_unit(made, {header(sps, 3)}, sps_bytes(s));
  append_unit(made, {header(pps, 3)}, pps_bytes(s));
  return made;
}

CodedBytes write_h264_picture(const Settings& s, const CodedPicture& picture, const Samples& samples) {
  CodedBytes made;
  if (s.h264().outputAUD) {
    const unsigned types = type_of(picture) == slice_i ? 0 : type_of(picture) == slice_p ? 1 : 2;
    append_unit(made.bytes, {header(delimiter, 0)}, {static_cast<std::uint8_t>(types << 5 | 16)});
  }
  if (picture.headers) {
    const Bytes headers = write_h264_headers(s);
    made.bytes.insert(made.bytes.end(), headers.begin(), headers.end());
  }
  for (const Message& message : picture.messages)
    append_unit(made.bytes, {header(sei, 0)}, sei_bytes(message));
  const unsigned columns = samples.width / 16, rows = samples.height / 16;
  const unsigned block_bytes = samples.chroma == 3 ? 800 : 400;
  const auto begins = slice_begins({s.h264().sliceMode, s.h264().sliceModeData, columns, rows, block_bytes});
  for (std::size_t i = 0; i < begins.size(); ++i) {
    const unsigned end = i + 1 < begins.size() ? begins[i + 1] : columns * rows;
    made.slices.push_back(static_cast<std::uint32_t>(made.bytes.size()));
    append_unit(made.bytes,
                {header(picture.type == NV_ENC_PIC_TYPE_IDR ? idr_slice : slice, picture.reference ? 2 : 0)},
                slice_bytes(s, picture, samples, begins[i], end));
  }
  return made;
}

} // namespace lanner::fake_nvenc
