#include "fake_libraries/nvenc/stream.h"

#include <algorithm>

#include "fake_libraries/nvenc/bit_writer.h"

namespace lanner::fake_nvenc {

using namespace nvenc;

Codec Settings::codec() const {
  if (init.encodeGUID == NV_ENC_CODEC_HEVC_GUID) return Codec::hevc;
  return init.encodeGUID == NV_ENC_CODEC_AV1_GUID ? Codec::av1 : Codec::h264;
}

unsigned Settings::chroma() const {
  unsigned idc = 0;
  switch (codec()) {
  case Codec::h264:
    idc = h264().chromaFormatIDC;
    break;
  case Codec::hevc:
    idc = hevc().chromaFormatIDC;
    break;
  case Codec::av1:
    idc = av1().chromaFormatIDC;
    break;
  }
  return idc == 3 ? 3 : 1;
}

unsigned Settings::depth() const {
  if (codec() == Codec::hevc) return 8 + hevc().pixelBitDepthMinus8;
  return codec() == Codec::av1 ? 8 + av1().pixelBitDepthMinus8 : 8;
}

std::uint32_t Settings::idr_period() const {
  std::uint32_t period = 0;
  switch (codec()) {
  case Codec::h264:
    period = h264().idrPeriod;
    break;
  case Codec::hevc:
    period = hevc().idrPeriod;
    break;
  case Codec::av1:
    period = av1().idrPeriod;
    break;
  }
  return period == 0 ? config.gopLength : period;
}

NV_ENC_BFRAME_REF_MODE Settings::b_references() const {
  switch (codec()) {
  case Codec::h264:
    return h264().useBFramesAsRef;
  case Codec::hevc:
    return hevc().useBFramesAsRef;
  case Codec::av1:
    return av1().useBFramesAsRef;
  }
  return NV_ENC_BFRAME_REF_MODE_DISABLED;
}

bool Settings::repeats_headers() const {
  switch (codec()) {
  case Codec::h264:
    return h264().repeatSPSPPS;
  case Codec::hevc:
    return hevc().repeatSPSPPS;
  case Codec::av1:
    return av1().repeatSeqHdr;
  }
  return false;
}

bool Settings::writes_headers() const {
  switch (codec()) {
  case Codec::h264:
    return !h264().disableSPSPPS;
  case Codec::hevc:
    return !hevc().disableSPSPPS;
  case Codec::av1:
    return !av1().disableSeqHdr;
  }
  return true;
}

unsigned Settings::references() const {
  const std::uint32_t asked = codec() == Codec::h264   ? h264().maxNumRefFrames
                              : codec() == Codec::hevc ? hevc().maxNumRefFramesInDPB
                                                       : av1().maxNumRefFramesInDPB;
  const unsigned least = b_frames() == 0 ? 1 : b_references() == NV_ENC_BFRAME_REF_MODE_DISABLED ? 2 : 4;
  return std::clamp(asked == 0 ? 4u : asked, least, 16u);
}

SampleForm Settings::form() const {
  SampleForm made{chroma(), depth()};
  if (codec() == Codec::hevc) made.block = 32;
  if (codec() == Codec::av1) {
    made.matrix = av1().matrixCoefficients;
    made.full = av1().colorRange != 0;
    return made;
  }
  const auto& vui = codec() == Codec::h264 ? h264().h264VUIParameters : hevc().hevcVUIParameters;
  if (!vui.videoSignalTypePresentFlag) return made;
  made.full = vui.videoFullRangeFlag != 0;
  if (vui.colourDescriptionPresentFlag) made.matrix = vui.colourMatrix;
  return made;
}

Bytes write_headers(const Settings& settings) {
  switch (settings.codec()) {
  case Codec::h264:
    return write_h264_headers(settings);
  case Codec::hevc:
    return write_hevc_headers(settings);
  case Codec::av1:
    return write_av1_headers(settings);
  }
  return {};
}

CodedBytes write_picture(const Settings& settings, const CodedPicture& picture, const Samples& samples) {
  switch (settings.codec()) {
  case Codec::h264:
    return write_h264_picture(settings, picture, samples);
  case Codec::hevc:
    return write_hevc_picture(settings, picture, samples);
  case Codec::av1:
    return write_av1_picture(settings, picture, samples);
  }
  return {};
}

std::vector<unsigned> slice_begins(const SliceForm& form) {
  const unsigned blocks = form.columns * form.rows;
  std::vector<unsigned> begins;
  if (form.mode == 3 && form.data > 0) {
    for (unsigned i = 0; i < form.data; ++i) begins.push_back(i * form.rows / form.data * form.columns);
    return begins;
  }
  unsigned step = blocks;
  if (form.data > 0 && form.mode == 0) step = form.data;
  if (form.data > 0 && form.mode == 1) step = std::max(1u, form.data / form.block_bytes);
  if (form.data > 0 && form.mode == 2) step = form.data * form.columns;
  for (unsigned at = 0; at < blocks; at += step) begins.push_back(at);
  return begins;
}

Bytes sei_bytes(const Message& message) {
  BitWriter out;
  const auto put = [&](std::size_t value) {
    for (; value >= 255; value -= 255) out.put(255, 8);
    out.put(value, 8);
  };
  put(message.type);
  put(message.bytes.size());
  for (const std::uint8_t byte : message.bytes) out.put(byte, 8);
  out.trail();
  return out.bytes();
}

} // namespace lanner::fake_nvenc
