// AV1: temporal delimiters, sequence headers and metadata as the specification has them (5.5, 5.6, 5.8);
// frames whose header ends behind what tells their type, so that parsers of packets know them and decoders
// refuse them.

#include "fake_libraries/nvenc/bit_writer.h"
#include "fake_libraries/nvenc/stream.h"

namespace lanner::fake_nvenc {

using namespace nvenc;

namespace {

enum ObuType : unsigned { sequence_header = 1, temporal_delimiter = 2, metadata = 5, frame = 6 };

void append_leb128(Bytes& out, std::size_t value) {
  do {
    out.push_back(static_cast<std::uint8_t>((value & 127) | (value > 127 ? 128 : 0)));
    value >>= 7;
  } while (value > 0);
}

void append_obu(Bytes& stream, ObuType type, const Bytes& payload) {
  stream.push_back(static_cast<std::uint8_t>(type << 3 | 2)); // obu_has_size_field
  append_leb128(stream, payload.size());
  stream.insert(stream.end(), payload.begin(), payload.end());
}

void write_color(BitWriter& out, const Settings& s) {
  const auto& av1 = s.av1();
  out.flag(s.depth() > 8); // high_bitdepth
  out.flag(false);         // mono_chrome
  const bool described = av1.colorPrimaries || av1.transferCharacteristics || av1.matrixCoefficients;
  out.flag(described);
  if (described) {
    out.put(av1.colorPrimaries, 8);
    out.put(av1.transferCharacteristics, 8);
    out.put(av1.matrixCoefficients, 8);
  }
  out.flag(av1.colorRange);
  out.put(av1.chromaSamplePosition, 2);
  out.flag(false); // separate_uv_delta_q
}

void write_tools(BitWriter& out) {
  out.flag(false); // use_128x128_superblock
  out.put(0, 2);   // enable_filter_intra, enable_intra_edge_filter
  out.put(0, 4);   // interintra, masked compound, warped motion, dual filter
  out.flag(true);  // enable_order_hint
  out.put(0, 2);   // jnt_comp, ref_frame_mvs
  out.flag(false); // seq_choose_screen_content_tools
  out.flag(false); // seq_force_screen_content_tools
  out.put(7, 3);   // order hints of 8 bits
  out.put(0, 3);   // superres, cdef, restoration
}

Bytes sequence_bytes(const Settings& s) {
  BitWriter out;
  out.put(0, 3); // Main
  out.put(0, 2); // no still picture
  out.flag(s.av1().enableTimingInfo && s.init.frameRateNum > 0);
  if (s.av1().enableTimingInfo && s.init.frameRateNum > 0) {
    out.put(s.init.frameRateDen, 32);
    out.put(s.init.frameRateNum, 32);
    out.flag(true); // equal_picture_interval
    out.ue(0);
    out.flag(false); // no decoder model
  }
  out.flag(false); // initial_display_delay_present_flag
  out.put(0, 5);
  out.put(0, 12);
  const std::uint32_t level = s.av1().level >= NV_ENC_LEVEL_AV1_AUTOSELECT ? 31u : s.av1().level;
  out.put(level, 5);
  if (level > 7) out.flag(s.av1().tier);
  out.put(15, 4);
  out.put(15, 4);
  out.put(s.init.encodeWidth - 1, 16);
  out.put(s.init.encodeHeight - 1, 16);
  out.flag(false); // frame_id_numbers_present_flag
  write_tools(out);
  write_color(out, s);
  out.flag(s.av1().enableFilmGrainParams);
  out.trail();
  return out.bytes();
}

/// show_existing_frame, frame_type, show_frame; then a picture's samples, which no decoder understands.
Bytes frame_bytes(const CodedPicture& picture, const Samples& samples) {
  BitWriter out;
  const bool key = picture.type == NV_ENC_PIC_TYPE_IDR, intra = picture.type == NV_ENC_PIC_TYPE_I;
  out.flag(false);
  out.put(key ? 0 : intra ? 2 : 1, 2);
  out.flag(true);
  out.align();
  out.put(picture.order, 32);
  for (const auto& plane : samples.planes)
    for (const std::uint16_t sample : plane) out.put(sample >> (samples.depth - 8), 8);
  return out.bytes();
}

} // namespace

Bytes write_av1_headers(const Settings& s) {
  Bytes made;
  append_obu(made, sequence_header, sequence_bytes(s));
  return made;
}

CodedBytes write_av1_picture(const Settings& s, const CodedPicture& picture, const Samples& samples) {
  CodedBytes made;
  append_obu(made.bytes, temporal_delimiter, {});
  if (picture.headers) append_obu(made.bytes, sequence_header, sequence_bytes(s));
  for (const Message& message : picture.messages) {
    Bytes payload;
    append_leb128(payload, message.type);
    payload.insert(payload.end(), message.bytes.begin(), message.bytes.end());
    payload.push_back(128); // trailing bits
    append_obu(made.bytes, metadata, payload);
  }
  made.slices.push_back(static_cast<std::uint32_t>(made.bytes.size()));
  append_obu(made.bytes, frame, frame_bytes(picture, samples));
  return made;
}

} // namespace lanner::fake_nvenc
