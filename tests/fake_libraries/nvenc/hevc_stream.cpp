// HEVC without loss: every coding tree unit of 32x32 is one PCM coding unit (ITU-T H.265 7.3 and 9.3), in
// slices of the picture's type.

#include <algorithm>
#include <bit>

#include "fake_libraries/nvenc/cabac_writer.h"
#include "fake_libraries/nvenc/stream.h"
#include "fake_libraries/nvenc/vui_writer.h"

namespace lanner::fake_nvenc {

using namespace nvenc;

namespace {

constexpr unsigned order_bits = 16, block_log2 = 5, block_size = 32, qp_of_slices = 26;

enum UnitType : std::uint8_t {
  trail_n = 0,
  trail_r = 1,
  idr_w_radl = 19,
  vps = 32,
  sps = 33,
  pps = 34,
  delimiter = 35,
  prefix_sei = 39
};

unsigned padded(std::uint32_t size) {
  return (size + block_size - 1) / block_size * block_size;
}

Bytes header(UnitType type) {
  return {static_cast<std::uint8_t>(type << 1), 1};
}

unsigned profile_of(const Settings& s) {
  if (s.chroma() == 3) return 4;
  return s.depth() > 8 ? 2 : 1;
}

/// The configured level, else the first whose picture size and rate (tables A.8 and A.9) suffice.
unsigned level_of(const Settings& s) {
  if (s.hevc().level != NV_ENC_LEVEL_AUTOSELECT) return s.hevc().level;
  struct Limit {
    unsigned level, samples, samples_per_second;
  };
  constexpr Limit limits[] = {
      {30, 36864, 552960},        {60, 122880, 3686400},       {63, 245760, 7372800},
      {90, 552960, 16588800},     {93, 983040, 33177600},      {120, 2228224, 66846720},
      {123, 2228224, 133693440},  {150, 8912896, 267386880},   {153, 8912896, 534773760},
      {156, 8912896, 1069547520}, {180, 35651584, 1069547520}, {183, 35651584, 2139095040}};
  const double samples = double(s.init.encodeWidth) * s.init.encodeHeight;
  const double rate = s.init.frameRateDen ? double(s.init.frameRateNum) / s.init.frameRateDen : 30;
  for (const Limit& limit : limits)
    if (samples <= limit.samples && samples * rate <= limit.samples_per_second) return limit.level;
  return 186;
}

void write_profile_tier_level(BitWriter& out, const Settings& s) {
  const unsigned profile = profile_of(s);
  out.put(0, 2);
  out.flag(s.hevc().tier);
  out.put(profile, 5);
  std::uint32_t compatible = 1u << (31 - profile);
  if (profile == 1) compatible |= 1u << 29; // Main is Main 10 too
  out.put(compatible, 32);
  out.put(0b1001, 4); // progressive, frames only
  // Of the range extensions: what 4:4:4 of 8 or 10 bits is bound by (table A.2).
  if (profile == 4)
    out.put(s.depth() > 8 ? 0b111000001 : 0b111100001, 9);
  else
    out.put(0, 9);
  out.put(0, 35);
  out.put(level_of(s), 8);
}

unsigned reorder(const Settings& s) {
  return s.b_frames() == 0 ? 0 : s.b_references() == NV_ENC_BFRAME_REF_MODE_DISABLED ? 1 : 2;
}

void write_ordering(BitWriter& out, const Settings& s) {
  out.flag(true);
  out.ue(s.references());
  out.ue(reorder(s));
  out.ue(0);
}

void write_timing(BitWriter& out, const Settings& s) {
  const Timing timing = timing_of(s.init, s.hevc().hevcVUIParameters, 1);
  out.flag(timing.present);
  if (!timing.present) return;
  out.put(timing.units, 32);
  out.put(timing.scale, 32);
  out.flag(false);
}

Bytes vps_bytes(const Settings& s) {
  BitWriter out;
  out.put(s.hevc().vpsId, 4);
  out.put(0b11, 2);
  out.put(0, 6);
  out.put(0, 3);
  out.flag(true);
  out.put(0xffff, 16);
  write_profile_tier_level(out, s);
  write_ordering(out, s);
  out.put(0, 6);
  out.ue(0);
  write_timing(out, s);
  if (timing_of(s.init, s.hevc().hevcVUIParameters, 1).present) out.ue(0); // no HRD
  out.flag(false);
  out.trail();
  return out.bytes();
}

void write_window(BitWriter& out, const Settings& s, unsigned width, unsigned height) {
  const unsigned unit = s.chroma() == 3 ? 1 : 2, right = width - s.init.encodeWidth,
                 bottom = height - s.init.encodeHeight;
  out.flag(right > 0 || bottom > 0);
  if (right == 0 && bottom == 0) return;
  out.ue(0);
  out.ue(right / unit);
  out.ue(0);
  out.ue(bottom / unit);
}

void write_vui(BitWriter& out, const Settings& s) {
  write_vui_begin(out, s.init, s.hevc().hevcVUIParameters);
  out.put(0, 3);
  out.flag(false); // default_display_window_flag
  write_timing(out, s);
  if (timing_of(s.init, s.hevc().hevcVUIParameters, 1).present) out.flag(false); // no HRD
  out.flag(false);
}

Bytes sps_bytes(const Settings& s) {
  BitWriter out;
  out.put(s.hevc().vpsId, 4);
  out.put(0, 3);
  out.flag(true);
  write_profile_tier_level(out, s);
  out.ue(s.hevc().spsId);
  out.ue(s.chroma());
  if (s.chroma() == 3) out.flag(false);
  const unsigned width = padded(s.init.encodeWidth), height = padded(s.init.encodeHeight);
  out.ue(width);
  out.ue(height);
  write_window(out, s, width, height);
  out.ue(s.depth() - 8);
  out.ue(s.depth() - 8);
  out.ue(order_bits - 4);
  write_ordering(out, s);
  out.ue(block_log2 - 3); // smallest coding block
  out.ue(0);              // and the largest
  out.ue(0);              // transform blocks of 4
  out.ue(block_log2 - 2); // to 32
  out.ue(0);
  out.ue(0);
  out.put(0, 3);  // no scaling lists, AMP, SAO
  out.flag(true); // pcm_enabled_flag
  out.put(s.depth() - 1, 4);
  out.put(s.depth() - 1, 4);
  out.ue(block_log2 - 3);
  out.ue(0);
  out.flag(true);  // pcm_loop_filter_disabled_flag
  out.ue(0);       // sets of reference pictures: in slices
  out.flag(false); // no long-term ones
  out.put(0, 2);
  out.flag(true); // vui_parameters_present_flag
  write_vui(out, s);
  out.flag(false);
  out.trail();
  return out.bytes();
}

Bytes pps_bytes(const Settings& s) {
  BitWriter out;
  out.ue(s.hevc().ppsId);
  out.ue(s.hevc().spsId);
  out.put(0, 2);
  out.put(0, 3);
  out.put(0, 2);
  out.ue(0);
  out.ue(0);
  out.se(0);
  out.flag(s.hevc().useConstrainedIntraPred);
  out.put(0, 2); // transform_skip_enabled_flag, cu_qp_delta_enabled_flag
  out.se(s.config.rcParams.cbQPIndexOffset);
  out.se(s.config.rcParams.crQPIndexOffset);
  out.put(0, 6); // chroma offsets in slices, weights, bypass, tiles, wavefronts
  out.flag(!s.hevc().disableDeblockAcrossSliceBoundary);
  out.put(0, 3); // deblocking control, scaling lists, modification of lists
  out.ue(0);
  out.put(0, 2);
  out.trail();
  return out.bytes();
}

enum SliceType : unsigned { slice_b = 0, slice_p = 1, slice_i = 2 };

SliceType type_of(const CodedPicture& picture) {
  if (picture.type == NV_ENC_PIC_TYPE_B) return slice_b;
  return picture.type == NV_ENC_PIC_TYPE_P ? slice_p : slice_i;
}

/// st_ref_pic_set of the pictures that are kept, all of them used.
void write_references(BitWriter& out, const CodedPicture& picture) {
  std::vector<std::uint32_t> before, behind;
  for (const std::uint32_t order : picture.kept) (order < picture.order ? before : behind).push_back(order);
  std::sort(before.rbegin(), before.rend());
  std::sort(behind.begin(), behind.end());
  out.ue(static_cast<std::uint32_t>(before.size()));
  out.ue(static_cast<std::uint32_t>(behind.size()));
  std::uint32_t last = picture.order;
  const auto put = [&](std::uint32_t order) {
    out.ue((order > last ? order - last : last - order) - 1);
    out.flag(true);
    last = order;
  };
  for (const std::uint32_t order : before) put(order);
  last = picture.order;
  for (const std::uint32_t order : behind) put(order);
}

struct SliceAt {
  unsigned first = 0, end = 0, blocks = 0;
};

void write_slice_header(BitWriter& out, const Settings& s, const CodedPicture& picture, const SliceAt& at) {
  const bool idr = picture.type == NV_ENC_PIC_TYPE_IDR;
  const SliceType type = type_of(picture);
  out.flag(at.first == 0);
  if (idr) out.flag(false);
  out.ue(s.hevc().ppsId);
  if (at.first > 0) out.put(at.first, static_cast<unsigned>(std::bit_width(at.blocks - 1)));
  out.ue(type);
  if (!idr) {
    out.put(picture.order, order_bits);
    out.flag(false); // short_term_ref_pic_set_sps_flag
    write_references(out, picture);
  }
  if (type != slice_i) {
    out.flag(true); // num_ref_idx_active_override_flag
    out.ue(0);
    if (type == slice_b) out.ue(0);
    if (type == slice_b) out.flag(false); // mvd_l1_zero_flag
    out.ue(4);                            // one merge candidate
  }
  out.se(0);
  if (!s.hevc().disableDeblockAcrossSliceBoundary) out.flag(true);
  out.trail(); // byte_alignment
}

void write_samples(BitWriter& out, const Samples& samples, unsigned block, unsigned columns) {
  for (unsigned plane = 0; plane < 3; ++plane) {
    const unsigned size = block_size >> samples.shift(plane);
    for (unsigned y = 0; y < size; ++y)
      for (unsigned x = 0; x < size; ++x)
        out.put(samples.at(plane, block % columns * size + x, block / columns * size + y), samples.depth);
  }
}

/// A context by its initValue (9.3.2.2).
ContextState context(int value) {
  return ContextState::of((value >> 4) * 5 - 45, ((value & 15) << 3) - 16, qp_of_slices);
}

void write_blocks(BitWriter& out, SliceType type, const Samples& samples, const SliceAt& at) {
  CabacWriter coder(out);
  ContextState skip = context(197), intra = context(type == slice_b ? 134 : 149),
               parts = context(type == slice_i ? 184 : 154);
  for (unsigned block = at.first; block < at.end; ++block) {
    if (type != slice_i) {
      coder.encode(skip, false);
      coder.encode(intra, true);
    }
    coder.encode(parts, true); // PART_2Nx2N
    coder.terminate(true);     // pcm_flag
    out.align();
    write_samples(out, samples, block, samples.width / block_size);
    coder.terminate(block + 1 == at.end);
  }
  out.align();
}

} // namespace

Bytes write_hevc_headers(const Settings& s) {
  Bytes made;
  append_unit(made, header(vps), vps_bytes(s));
  append_unit(made, header(sps), sps_bytes(s));
  append_unit(made, header(pps), pps_bytes(s));
  return made;
}

CodedBytes write_hevc_picture(const Settings& s, const CodedPicture& picture, const Samples& samples) {
  CodedBytes made;
  const SliceType type = type_of(picture);
  if (s.hevc().outputAUD)
    append_unit(made.bytes, header(delimiter), {static_cast<std::uint8_t>((2 - type) << 5 | 16)});
  if (picture.headers) {
    const Bytes headers = write_hevc_headers(s);
    made.bytes.insert(made.bytes.end(), headers.begin(), headers.end());
  }
  for (const Message& message : picture.messages)
    append_unit(made.bytes, header(prefix_sei), sei_bytes(message));
  const unsigned columns = samples.width / block_size, rows = samples.height / block_size;
  const unsigned block_bytes = samples.chroma == 3 ? 4000 : 2000;
  const auto begins = slice_begins({s.hevc().sliceMode, s.hevc().sliceModeData, columns, rows, block_bytes});
  const UnitType unit = picture.type == NV_ENC_PIC_TYPE_IDR ? idr_w_radl
                        : picture.reference                 ? trail_r
                                                            : trail_n;
  for (std::size_t i = 0; i < begins.size(); ++i) {
    const SliceAt at{begins[i], i + 1 < begins.size() ? begins[i + 1] : columns * rows, columns * rows};
    BitWriter out;
    write_slice_header(out, s, picture, at);
    write_blocks(out, type, samples, at);
    made.slices.push_back(static_cast<std::uint32_t>(made.bytes.size()));
    append_unit(made.bytes, header(unit), out.bytes());
  }
  return made;
}

} // namespace lanner::fake_nvenc
