#pragma once
// What the fake library writes of a picture.

#include <cstdint>
#include <vector>

#include "fake_libraries/nvenc/pixels.h"
#include "video/nvenc/nvenc_api.h"

namespace lanner::fake_nvenc {

using Bytes = std::vector<std::uint8_t>;

enum class Codec { h264, hevc, av1 };

/// A configuration, whole: `config` is used in place of init.encodeConfig.
struct Settings {
  nvenc::NV_ENC_INITIALIZE_PARAMS init;
  nvenc::NV_ENC_CONFIG config;

  Codec codec() const;
  unsigned chroma() const; ///< chroma_format_idc of the stream.
  unsigned depth() const;  ///< Of the stream.
  const nvenc::NV_ENC_CONFIG_H264& h264() const { return config.encodeCodecConfig.h264Config; }
  const nvenc::NV_ENC_CONFIG_HEVC& hevc() const { return config.encodeCodecConfig.hevcConfig; }
  const nvenc::NV_ENC_CONFIG_AV1& av1() const { return config.encodeCodecConfig.av1Config; }
  std::uint32_t idr_period() const;
  unsigned b_frames() const { return config.frameIntervalP > 1 ? unsigned(config.frameIntervalP) - 1 : 0; }
  nvenc::NV_ENC_BFRAME_REF_MODE b_references() const;
  bool repeats_headers() const;
  bool writes_headers() const;
  unsigned references() const; ///< Reference pictures that a decoder keeps.
  SampleForm form() const;
};

/// A message with a copy of its bytes.
struct Message {
  std::uint32_t type = 0;
  Bytes bytes;
};

/// A picture at its place in the stream.
struct CodedPicture {
  nvenc::NV_ENC_PIC_TYPE type = nvenc::NV_ENC_PIC_TYPE_IDR;
  bool reference = true;
  bool headers = false;               ///< Parameter sets come before it.
  std::uint32_t order = 0;            ///< In presentation, from the last IDR picture on.
  std::uint32_t reference_number = 0; ///< frame_num of H.264, without its modulus.
  std::uint32_t idr_number = 0;
  std::vector<std::uint32_t> kept; ///< Orders of the reference pictures that stay, HEVC's RPS.
  std::vector<Message> messages;
  int qp = 28;
};

/// What was written, and where slices begin.
struct CodedBytes {
  Bytes bytes;
  std::vector<std::uint32_t> slices;
};

/// Parameter sets, or a sequence header.
Bytes write_headers(const Settings& settings);
CodedBytes write_picture(const Settings& settings, const CodedPicture& picture, const Samples& samples);

Bytes write_h264_headers(const Settings& settings);
CodedBytes write_h264_picture(const Settings& settings, const CodedPicture& picture, const Samples& samples);
Bytes write_hevc_headers(const Settings& settings);
CodedBytes write_hevc_picture(const Settings& settings, const CodedPicture& picture, const Samples& samples);
Bytes write_av1_headers(const Settings& settings);
CodedBytes write_av1_picture(const Settings& settings, const CodedPicture& picture, const Samples& samples);

/// First block of each slice: mode and data as NV_ENC_CONFIG_H264::sliceMode has them; `block_bytes` is what
/// a block takes.
struct SliceForm {
  std::uint32_t mode = 0, data = 0;
  unsigned columns = 0, rows = 0, block_bytes = 0;
};
std::vector<unsigned> slice_begins(const SliceForm& form);

/// sei_message() of both codecs, with the bits that end a payload unit.
Bytes sei_bytes(const Message& message);

} // namespace lanner::fake_nvenc
