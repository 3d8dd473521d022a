// nvEncEncodePicture's parameters beside buffers.

#include <span>

#include "fake_libraries/nvenc/checks.h"
#include "fake_libraries/nvenc/reserved.h"

namespace lanner::fake_nvenc {

using namespace nvenc;

namespace {

constexpr std::uint32_t known_flags =
    NV_ENC_PIC_FLAG_FORCEINTRA | NV_ENC_PIC_FLAG_FORCEIDR | NV_ENC_PIC_FLAG_OUTPUT_SPSPPS |
    NV_ENC_PIC_FLAG_EOS | NV_ENC_PIC_FLAG_DISABLE_ENC_STATE_ADVANCE | NV_ENC_PIC_FLAG_OUTPUT_RECON_FRAME;

void check_flags(Checker& check, const Settings& s, std::uint32_t flags) {
  check.require((flags & ~known_flags) == 0, NV_ENC_ERR_INVALID_PARAM, "encodePicFlags is {:#x}", flags);
  check.require(!(flags & (NV_ENC_PIC_FLAG_DISABLE_ENC_STATE_ADVANCE | NV_ENC_PIC_FLAG_OUTPUT_RECON_FRAME)),
                NV_ENC_ERR_UNSUPPORTED_PARAM, "encodePicFlags {:#x} asks for what the device does not have",
                flags);
  check.require(s.init.enablePTD || !(flags & NV_ENC_PIC_FLAG_FORCEIDR), NV_ENC_ERR_INVALID_PARAM,
                "NV_ENC_PIC_FLAG_FORCEIDR is for enablePTD alone");
}

void check_type(Checker& check, const Call& call, NV_ENC_PIC_TYPE type) {
  if (call.settings().init.enablePTD) return;
  check.require(type <= NV_ENC_PIC_TYPE_IDR, NV_ENC_ERR_INVALID_PARAM,
                "pictureType is {}: without enablePTD it has to be P, B, I or IDR", unsigned{type});
  check.require(!call.session().force_idr || type == NV_ENC_PIC_TYPE_IDR, NV_ENC_ERR_INVALID_PARAM,
                "pictureType is {}: the first picture has to be an IDR picture", unsigned{type});
}

void check_qp_map(Checker& check, const Settings& s, const NV_ENC_PIC_PARAMS& picture) {
  const BlockGrid grid = blocks_of(s);
  if (s.config.rcParams.qpMapMode == NV_ENC_QP_MAP_DISABLED) {
    check.require(!picture.qpDeltaMap, NV_ENC_ERR_INVALID_PARAM, "qpDeltaMap with NV_ENC_QP_MAP_DISABLED");
    return;
  }
  check.require(!picture.qpDeltaMap || picture.qpDeltaMapSize == grid.columns * grid.rows,
                NV_ENC_ERR_INVALID_PARAM, "qpDeltaMapSize is {}, a picture has {}x{} blocks",
                picture.qpDeltaMapSize, grid.columns, grid.rows);
}

/// What H.264 and HEVC have alike.
template<typename CodecPicture>
void check_codec_picture(Checker& check, const Settings& s, const CodecPicture& picture, bool long_term) {
  check.require(reserved_clear(picture), NV_ENC_ERR_INVALID_PARAM,
                "a reserved member of codecPicParams is not 0");
  check.require(picture.forceIntraRefreshWithFrameCnt == 0 || s.b_frames() == 0, NV_ENC_ERR_INVALID_PARAM,
                "forceIntraRefreshWithFrameCnt with B pictures");
  check.require(long_term || (!picture.ltrMarkFrame && !picture.ltrUseFrames), NV_ENC_ERR_INVALID_PARAM,
                "ltrMarkFrame or ltrUseFrames without enableLTR");
  check.require(!picture.constrainedFrame, NV_ENC_ERR_INVALID_PARAM,
                "constrainedFrame is not supported by this fake");
}

void check_codec_part(Checker& check, const Settings& s, const NV_ENC_CODEC_PIC_PARAMS& picture) {
  switch (s.codec()) {
  case Codec::h264:
    return check_codec_picture(check, s, picture.h264PicParams, s.h264().enableLTR);
  case Codec::hevc:
    return check_codec_picture(check, s, picture.hevcPicParams, s.hevc().enableLTR);
  case Codec::av1:
    check.require(reserved_clear(picture.av1PicParams), NV_ENC_ERR_INVALID_PARAM,
                  "a reserved member of av1PicParams is not 0");
    check.require(!picture.av1PicParams.filmGrainParamsUpdate ||
                      (picture.av1PicParams.filmGrainParams && s.av1().enableFilmGrainParams),
                  NV_ENC_ERR_INVALID_PARAM,
                  "filmGrainParamsUpdate without enableFilmGrainParams and filmGrainParams");
  }
}

std::span<const NV_ENC_SEI_PAYLOAD> payloads_of(Codec codec, const NV_ENC_CODEC_PIC_PARAMS& p) {
  switch (codec) {
  case Codec::h264:
    return {p.h264PicParams.seiPayloadArray, p.h264PicParams.seiPayloadArrayCnt};
  case Codec::hevc:
    return {p.hevcPicParams.seiPayloadArray, p.hevcPicParams.seiPayloadArrayCnt};
  case Codec::av1:
    return {p.av1PicParams.obuPayloadArray, p.av1PicParams.obuPayloadArrayCnt};
  }
  return {};
}

} // namespace

NVENCSTATUS check_picture(Call& call, const NV_ENC_PIC_PARAMS& picture) {
  const Settings& s = call.settings();
  Checker check(call);
  check.require(reserved_clear(picture), NV_ENC_ERR_INVALID_PARAM,
                "a reserved member of NV_ENC_PIC_PARAMS is not 0");
  check_flags(check, s, picture.encodePicFlags);
  check.require(picture.inputWidth == s.init.encodeWidth && picture.inputHeight == s.init.encodeHeight,
                NV_ENC_ERR_INVALID_PARAM, "inputWidth and inputHeight are {}x{}, the session encodes {}x{}",
                picture.inputWidth, picture.inputHeight, s.init.encodeWidth, s.init.encodeHeight);
  check.require(picture.pictureStruct == NV_ENC_PIC_STRUCT_FRAME, NV_ENC_ERR_INVALID_PARAM,
                "pictureStruct is {}, the session encodes frames", unsigned{picture.pictureStruct});
  check.require(!picture.completionEvent, NV_ENC_ERR_INVALID_EVENT,
                "completionEvent without enableEncodeAsync");
  check.require(!picture.alphaBuffer && !picture.outputReconBuffer && !picture.meExternalHints &&
                    !picture.meExternalSbHints && !picture.meSbHintsCount,
                NV_ENC_ERR_INVALID_PARAM,
                "alphaBuffer, outputReconBuffer or hints that the session does not take");
  check_type(check, call, picture.pictureType);
  check_qp_map(check, s, picture);
  check_codec_part(check, s, picture.codecPicParams);
  return check.status();
}

NVENCSTATUS read_messages(Call& call, const NV_ENC_PIC_PARAMS& picture, std::vector<Message>& messages) {
  const auto payloads = payloads_of(call.settings().codec(), picture.codecPicParams);
  if (!payloads.empty() && !payloads.data())
    return call.refuse(NV_ENC_ERR_INVALID_PTR, "{} messages and no array of them", payloads.size());
  for (const NV_ENC_SEI_PAYLOAD& payload : payloads) {
    if (!payload.payload || payload.payloadSize == 0)
      return call.refuse(NV_ENC_ERR_INVALID_PARAM, "a message of type {} without bytes", payload.payloadType);
    messages.push_back({payload.payloadType, Bytes(payload.payload, payload.payload + payload.payloadSize)});
  }
  return NV_ENC_SUCCESS;
}

} // namespace lanner::fake_nvenc
