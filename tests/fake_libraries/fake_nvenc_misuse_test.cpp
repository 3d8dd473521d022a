// The fake libnvidia-encode: each misuse gives its status and is told in words.

#include <algorithm>

#include "fake_libraries/nvenc_by_hand.h"

namespace lanner::test {
namespace {

using namespace nvenc;

/// Exactly one line of misuse, with these words.
void expect_words(const std::string& words) {
  const std::string misuse = take_misuse();
  EXPECT_NE(misuse.find(words), std::string::npos) << "no '" << words << "' in: " << misuse;
  EXPECT_EQ(std::count(misuse.begin(), misuse.end(), '\n'), 1) << misuse;
}

// --- Configurations ---

struct WrongConfiguration {
  const char* words;
  NVENCSTATUS status;
  void (*change)(NV_ENC_INITIALIZE_PARAMS& init, NV_ENC_CONFIG& config);
  int codec = 0;
};

NV_ENC_CONFIG_H264& h264(NV_ENC_CONFIG& config) {
  return config.encodeCodecConfig.h264Config;
}
NV_ENC_CONFIG_HEVC& hevc(NV_ENC_CONFIG& config) {
  return config.encodeCodecConfig.hevcConfig;
}
NV_ENC_CONFIG_AV1& av1(NV_ENC_CONFIG& config) {
  return config.encodeCodecConfig.av1Config;
}

using Init = NV_ENC_INITIALIZE_PARAMS;
using Config = NV_ENC_CONFIG;
constexpr NVENCSTATUS wrong = NV_ENC_ERR_INVALID_PARAM, unsupported = NV_ENC_ERR_UNSUPPORTED_PARAM,
                      version = NV_ENC_ERR_INVALID_VERSION;

const WrongConfiguration wrong_configurations[] = {
    {"the version is", version, [](Init& i, Config&) { i.version = 0; }},
    {"encodeConfig's version", version, [](Init&, Config& c) { c.version ^= 1 << 16; }},
    {"rcParams's version", version, [](Init&, Config& c) { c.rcParams.version = 0; }},
    {"reserved member of NV_ENC_INIT", wrong, [](Init& i, Config&) { i.reserved[284] = 1; }},
    {"reserved member of encodeConfig", wrong, [](Init&, Config& c) { c.reserved2[63] = &c; }},
    {"reserved member of h264Config", wrong, [](Init&, Config& c) { h264(c).reserved1[0] = 1; }},
    {"encodeGUID", wrong, [](Init& i, Config&) { i.encodeGUID = NV_ENC_PRESET_P1_GUID; }},
    {"presetGUID", wrong, [](Init& i, Config&) { i.presetGUID = NV_ENC_CODEC_H264_GUID; }},
    {"tuningInfo is 0", wrong, [](Init& i, Config&) { i.tuningInfo = NV_ENC_TUNING_INFO_UNDEFINED; }},
    {"are 0x66", wrong, [](Init& i, Config&) { i.encodeWidth = 0; }},
    {"the device takes 145x49 to 4096x4096", wrong, [](Init& i, Config&) { i.encodeWidth = 4098; }},
    {"maxEncodeHeight one is 0", wrong, [](Init& i, Config&) { i.maxEncodeWidth = 200; }},
    {"are 100x66, for pictures", wrong,
     [](Init& i, Config&) { i.maxEncodeWidth = 100, i.maxEncodeHeight = 66; }},
    {"darHeight one is 0", wrong, [](Init& i, Config&) { i.darWidth = 16; }},
    {"frameRateNum is 25, frameRateDen 0", wrong, [](Init& i, Config&) { i.frameRateDen = 0; }},
    {"asynchronous mode", unsupported, [](Init& i, Config&) { i.enableEncodeAsync = 1; }},
    {"state buffers", unsupported, [](Init& i, Config&) { i.numStateBuffers = 1; }},
    {"splitEncodeMode", unsupported,
     [](Init& i, Config&) { i.splitEncodeMode = NV_ENC_SPLIT_TWO_FORCED_MODE; }},
    {"without its capability", unsupported,
     [](Init& i, Config&) {
       fake_nvenc_set_capability(0, NV_ENC_CAPS_SUPPORT_WEIGHTED_PREDICTION, 0);
       i.enableWeightedPrediction = 1;
     }},
    {"WeightedPrediction with B", wrong,
     [](Init& i, Config& c) { i.enableWeightedPrediction = 1, c.frameIntervalP = 2; }},
    {"profileGUID", unsupported, [](Init&, Config& c) { c.profileGUID = NV_ENC_HEVC_PROFILE_MAIN_GUID; }},
    {"frameFieldMode", unsupported,
     [](Init&, Config& c) { c.frameFieldMode = NV_ENC_PARAMS_FRAME_FIELD_MODE_FIELD; }},
    {"monoChromeEncoding", unsupported, [](Init&, Config& c) { c.monoChromeEncoding = 1; }},
    {"gopLength is 0", wrong, [](Init&, Config& c) { c.gopLength = 0; }},
    {"frameIntervalP is -1", wrong, [](Init&, Config& c) { c.frameIntervalP = -1; }},
    {"gopLength is infinite", wrong,
     [](Init&, Config& c) { c.gopLength = infinite_gop_length, c.frameIntervalP = 3; }},
    {"at most 4 B pictures", unsupported, [](Init&, Config& c) { c.frameIntervalP = 6; }},
    {"useBFramesAsRef is 1", unsupported,
     [](Init&, Config& c) { h264(c).useBFramesAsRef = NV_ENC_BFRAME_REF_MODE_EACH; }},
    {"rateControlMode is 8", unsupported,
     [](Init&, Config& c) { c.rcParams.rateControlMode = NV_ENC_PARAMS_RC_MODE(8); }},
    {"a QP of constQP", wrong,
     [](Init&, Config& c) {
       c.rcParams.rateControlMode = NV_ENC_PARAMS_RC_CONSTQP, c.rcParams.constQP.qpIntra = 52;
     }},
    {"a QP of minQP is not", wrong,
     [](Init&, Config& c) { c.rcParams.enableMinQP = 1, c.rcParams.minQP.qpInterB = 52; }},
    {"above that of maxQP", wrong,
     [](Init&, Config& c) {
       c.rcParams.enableMinQP = c.rcParams.enableMaxQP = 1, c.rcParams.minQP.qpIntra = 5;
     }},
    {"maxBitRate is 1", wrong, [](Init&, Config& c) { c.rcParams.maxBitRate = 1; }},
    {"vbvInitialDelay is 9", wrong,
     [](Init&, Config& c) { c.rcParams.vbvBufferSize = 8, c.rcParams.vbvInitialDelay = 9; }},
    {"CUSTOM_VBV", unsupported,
     [](Init&, Config& c) {
       fake_nvenc_set_capability(0, NV_ENC_CAPS_SUPPORT_CUSTOM_VBV_BUF_SIZE, 0);
       c.rcParams.vbvBufferSize = 8;
     }},
    {"targetQuality is 52", wrong, [](Init&, Config& c) { c.rcParams.targetQuality = 52; }},
    {"for VBR alone", wrong,
     [](Init&, Config& c) {
       c.rcParams.rateControlMode = NV_ENC_PARAMS_RC_CBR, c.rcParams.targetQuality = 30;
     }},
    {"lookaheadDepth is 32, with 0 B pictures at most 31", wrong,
     [](Init&, Config& c) { c.rcParams.enableLookahead = 1, c.rcParams.lookaheadDepth = 32; }},
    {"SUPPORT_LOOKAHEAD", unsupported,
     [](Init&, Config& c) {
       fake_nvenc_set_capability(0, NV_ENC_CAPS_SUPPORT_LOOKAHEAD, 0);
       c.rcParams.enableLookahead = 1;
     }},
    {"adaptive quantisation", wrong,
     [](Init&, Config& c) { c.rcParams.qpMapMode = NV_ENC_QP_MAP_EMPHASIS, c.rcParams.enableAQ = 1; }},
    {"chromaFormatIDC is 2", wrong, [](Init&, Config& c) { h264(c).chromaFormatIDC = 2; }},
    {"SUPPORT_YUV444", unsupported,
     [](Init&, Config& c) {
       fake_nvenc_set_capability(0, NV_ENC_CAPS_SUPPORT_YUV444_ENCODE, 0);
       h264(c).chromaFormatIDC = 3;
     }},
    {"the profile has no 4:4:4", wrong,
     [](Init&, Config& c) { h264(c).chromaFormatIDC = 3, c.profileGUID = NV_ENC_H264_PROFILE_HIGH_GUID; }},
    {"Baseline has no", wrong, [](Init&, Config& c) { c.profileGUID = NV_ENC_H264_PROFILE_BASELINE_GUID; }},
    {"needs a High profile", wrong, [](Init&, Config& c) { c.profileGUID = NV_ENC_H264_PROFILE_MAIN_GUID; }},
    {"constant QP of 0", wrong, [](Init&, Config& c) { h264(c).qpPrimeYZeroTransformBypassFlag = 1; }},
    {"level 10 is too small", wrong,
     [](Init& i, Config& c) { h264(c).level = NV_ENC_LEVEL_H264_1, i.encodeWidth = 640; }},
    {"level is 77", wrong, [](Init&, Config& c) { h264(c).level = 77; }},
    {"sliceMode is 4", wrong, [](Init&, Config& c) { h264(c).sliceMode = 4; }},
    {"sliceModeData is 6 with sliceMode 3", wrong, [](Init&, Config& c) { h264(c).sliceModeData = 6; }},
    {"without videoSignalTypePresentFlag", wrong,
     [](Init&, Config& c) { h264(c).h264VUIParameters.colourDescriptionPresentFlag = 1; }},
    {"numUnitInTicks is 0", wrong,
     [](Init&, Config& c) { h264(c).h264VUIParameters.timingInfoPresentFlag = 1; }},
    {"needs an infinite gopLength", wrong,
     [](Init&, Config& c) { h264(c).enableIntraRefresh = 1, h264(c).intraRefreshPeriod = 10; }},
    {"ltrNumFrames is 9", unsupported,
     [](Init&, Config& c) { h264(c).enableLTR = 1, h264(c).ltrNumFrames = 9; }},
    {"maxNumRefFrames is 17", wrong, [](Init&, Config& c) { h264(c).maxNumRefFrames = 17; }},
    {"MVC", unsupported, [](Init&, Config& c) { h264(c).enableStereoMVC = 1; }},
    {"pixelBitDepthMinus8 is 1", wrong, [](Init&, Config& c) { hevc(c).pixelBitDepthMinus8 = 1; }, 1},
    {"Main has 4:2:0 of 8 bits", wrong,
     [](Init&, Config& c) { hevc(c).pixelBitDepthMinus8 = 2, c.profileGUID = NV_ENC_HEVC_PROFILE_MAIN_GUID; },
     1},
    {"maxCUSize", unsupported, [](Init&, Config& c) { hevc(c).maxCUSize = NV_ENC_HEVC_CUSIZE_64x64; }, 1},
    {"tier is 2", wrong, [](Init&, Config& c) { hevc(c).tier = 2; }, 1},
    {"AV1 has 4:2:0 alone", unsupported, [](Init&, Config& c) { av1(c).chromaFormatIDC = 3; }, 2},
    {"enableCustomTileConfig", wrong, [](Init&, Config& c) { av1(c).enableCustomTileConfig = 1; }, 2},
    {"filmGrainParams", wrong, [](Init&, Config& c) { av1(c).enableFilmGrainParams = 1; }, 2},
    {"inputPixelBitDepthMinus8 is 2", wrong, [](Init&, Config& c) { av1(c).inputPixelBitDepthMinus8 = 2; },
     2},
};

TEST_F(FakeNvenc, wrong_configurations_are_refused_in_words) {
  const GUID codecs[] = {NV_ENC_CODEC_H264_GUID, NV_ENC_CODEC_HEVC_GUID, NV_ENC_CODEC_AV1_GUID};
  for (const WrongConfiguration& with : wrong_configurations) {
    SCOPED_TRACE(with.words);
    fake_nvenc_reset_device();
    HandSession session(codecs[with.codec]);
    if (with.codec == 2) session.init.encodeWidth = 192, session.init.encodeHeight = 128;
    with.change(session.init, session.config);
    EXPECT_EQ(session.initialise(), with.status);
    EXPECT_NE(std::string(nvenc_table().nvEncGetLastErrorString(session.handle())).find(with.words),
              std::string::npos);
    expect_words(with.words);
    auto buffer = versioned<NV_ENC_CREATE_BITSTREAM_BUFFER>();
    EXPECT_EQ(nvenc_table().nvEncCreateBitstreamBuffer(session.handle(), &buffer),
              NV_ENC_ERR_ENCODER_NOT_INITIALIZED);
    expect_words("was not called, or failed");
  }
}

TEST_F(FakeNvenc, lossless_needs_what_the_header_says) {
  HandSession session(NV_ENC_CODEC_H264_GUID, 1, NV_ENC_TUNING_INFO_LOSSLESS);
  EXPECT_EQ(session.initialise(), NV_ENC_SUCCESS) << fake_nvenc_misuse();
}

// --- Pictures ---

struct WrongPicture {
  const char* words;
  NVENCSTATUS status;
  void (*change)(NV_ENC_PIC_PARAMS& picture);
};
using Picture = NV_ENC_PIC_PARAMS;

std::int8_t qp_map[4];
NV_ENC_SEI_PAYLOAD empty_message{0, 5, nullptr};

const WrongPicture wrong_pictures[] = {
    {"the version is", version, [](Picture& p) { p.version = 0; }},
    {"reserved member of NV_ENC_PIC_PARAMS", wrong, [](Picture& p) { p.reserved3[283] = 1; }},
    {"reserved member of codecPicParams", wrong,
     [](Picture& p) { p.codecPicParams.h264PicParams.reserved[0] = 1; }},
    {"encodePicFlags is 0x100", wrong, [](Picture& p) { p.encodePicFlags = 256; }},
    {"what the device does not have", unsupported,
     [](Picture& p) { p.encodePicFlags = NV_ENC_PIC_FLAG_OUTPUT_RECON_FRAME; }},
    {"inputWidth and inputHeight are 160x66", wrong, [](Picture& p) { p.inputWidth = 160; }},
    {"inputPitch is 4", wrong, [](Picture& p) { p.inputPitch = 4; }},
    {"bufferFmt is 0x100", wrong, [](Picture& p) { p.bufferFmt = NV_ENC_BUFFER_FORMAT_IYUV; }},
    {"pictureStruct is 0", wrong, [](Picture& p) { p.pictureStruct = NV_ENC_PIC_STRUCT(0); }},
    {"completionEvent", NV_ENC_ERR_INVALID_EVENT, [](Picture& p) { p.completionEvent = &p; }},
    {"inputBuffer is null", NV_ENC_ERR_INVALID_PTR, [](Picture& p) { p.inputBuffer = nullptr; }},
    {"inputBuffer is no buffer", wrong, [](Picture& p) { p.inputBuffer = &p; }},
    {"outputBitstream is null", NV_ENC_ERR_INVALID_PTR, [](Picture& p) { p.outputBitstream = nullptr; }},
    {"outputBitstream is no bitstream buffer", wrong, [](Picture& p) { p.outputBitstream = p.inputBuffer; }},
    {"alphaBuffer", wrong, [](Picture& p) { p.alphaBuffer = p.inputBuffer; }},
    {"qpDeltaMap with", wrong, [](Picture& p) { p.qpDeltaMap = qp_map; }},
    {"without enableLTR", wrong, [](Picture& p) { p.codecPicParams.h264PicParams.ltrMarkFrame = 1; }},
    {"no array of them", NV_ENC_ERR_INVALID_PTR,
     [](Picture& p) { p.codecPicParams.h264PicParams.seiPayloadArrayCnt = 1; }},
    {"type 5 without bytes", wrong,
     [](Picture& p) {
       p.codecPicParams.h264PicParams.seiPayloadArrayCnt = 1,
       p.codecPicParams.h264PicParams.seiPayloadArray = &empty_message;
     }},
    {"EOS comes without buffers", wrong, [](Picture& p) { p.encodePicFlags = NV_ENC_PIC_FLAG_EOS; }},
};

TEST_F(FakeNvenc, wrong_pictures_are_refused_in_words) {
  HandSession session;
  session.start(1);
  session.write_input(0, 0);
  for (const WrongPicture& with : wrong_pictures) {
    SCOPED_TRACE(with.words);
    EXPECT_EQ(session.encode_again(0, with.change), with.status);
    expect_words(with.words);
  }
  EXPECT_EQ(session.encode_again(0), NV_ENC_SUCCESS); // and none of them was taken
  EXPECT_EQ(session.end(), NV_ENC_SUCCESS);
  EXPECT_EQ(session.types(), "D");
}

TEST_F(FakeNvenc, formats_have_to_be_the_streams) {
  HandSession session(NV_ENC_CODEC_HEVC_GUID);
  session.format = NV_ENC_BUFFER_FORMAT_YUV420_10BIT;
  session.start(1);
  EXPECT_EQ(session.encode(0), wrong);
  expect_words("bufferFmt has 10 bits, the session takes 8");
  HandSession full(NV_ENC_CODEC_HEVC_GUID);
  full.format = NV_ENC_BUFFER_FORMAT_YUV444;
  full.start(1);
  EXPECT_EQ(full.encode(0), wrong);
  expect_words("chroma_format_idc 3");
}

// --- Order of calls ---

NVENCSTATUS lock(const HandSession& session, void* output, bool wait = true) {
  auto parameters = versioned<NV_ENC_LOCK_BITSTREAM>();
  parameters.outputBitstream = output;
  parameters.doNotWait = !wait;
  return nvenc_table().nvEncLockBitstream(session.handle(), &parameters);
}

constexpr NVENCSTATUS order = NV_ENC_ERR_INVALID_CALL;

TEST_F(FakeNvenc, bitstream_buffers_are_used_in_turn) {
  const auto& api = nvenc_table();
  HandSession session(NV_ENC_CODEC_H264_GUID, 4);
  session.start(4);
  EXPECT_EQ(lock(session, session.output(0)), wrong);
  expect_words("has no picture");
  for (const std::size_t slot : {0u, 1u}) session.write_input(slot, static_cast<int>(slot));
  auto first = session.picture(0), second = session.picture(1);
  EXPECT_EQ(api.nvEncEncodePicture(session.handle(), &first), NV_ENC_SUCCESS);
  second.outputBitstream = session.output(0);
  EXPECT_EQ(api.nvEncEncodePicture(session.handle(), &second), order);
  expect_words("was not locked and unlocked");
  second.outputBitstream = session.output(1);
  EXPECT_EQ(api.nvEncEncodePicture(session.handle(), &second), NV_ENC_ERR_NEED_MORE_INPUT);
  EXPECT_EQ(lock(session, session.output(1)), order);
  expect_words("wait for ever");
  EXPECT_EQ(lock(session, session.output(1), false), NV_ENC_ERR_LOCK_BUSY);
  EXPECT_EQ(api.nvEncUnlockBitstream(session.handle(), session.output(0)), order);
  expect_words("not locked");
  auto last = versioned<NV_ENC_PIC_PARAMS>();
  last.encodePicFlags = NV_ENC_PIC_FLAG_EOS;
  EXPECT_EQ(api.nvEncEncodePicture(session.handle(), &last), NV_ENC_SUCCESS);
  EXPECT_EQ(lock(session, session.output(1)), order);
  expect_words("in the order that they were given in");
  EXPECT_EQ(lock(session, session.output(0)), NV_ENC_SUCCESS);
  EXPECT_EQ(lock(session, session.output(0)), order);
  expect_words("locked already");
  first.outputBitstream = session.output(0);
  EXPECT_EQ(api.nvEncEncodePicture(session.handle(), &first), order);
  expect_words("outputBitstream is locked");
  EXPECT_EQ(api.nvEncUnlockBitstream(session.handle(), session.output(0)), NV_ENC_SUCCESS);
}

TEST_F(FakeNvenc, inputs_stay_until_they_are_encoded) {
  const auto& api = nvenc_table();
  HandSession session(NV_ENC_CODEC_H264_GUID, 4);
  session.start(3);
  EXPECT_EQ(session.encode(0), NV_ENC_SUCCESS);
  EXPECT_EQ(session.encode(1), NV_ENC_ERR_NEED_MORE_INPUT);
  auto parameters = versioned<NV_ENC_LOCK_INPUT_BUFFER>();
  parameters.inputBuffer = session.input(1);
  EXPECT_EQ(api.nvEncLockInputBuffer(session.handle(), &parameters), order);
  expect_words("wait for ever");
  parameters.doNotWait = 1;
  EXPECT_EQ(api.nvEncLockInputBuffer(session.handle(), &parameters), NV_ENC_ERR_ENCODER_BUSY);
  session.end();
  EXPECT_EQ(api.nvEncLockInputBuffer(session.handle(), &parameters), NV_ENC_SUCCESS);
  EXPECT_EQ(session.encode_again(1), order);
  expect_words("inputBuffer is locked");
  EXPECT_EQ(api.nvEncUnlockInputBuffer(session.handle(), session.input(1)), NV_ENC_SUCCESS);
  EXPECT_EQ(api.nvEncUnlockInputBuffer(session.handle(), session.input(1)), order);
  expect_words("not locked");
}

TEST_F(FakeNvenc, resources_are_memory_of_the_device_and_mapped_in_turn) {
  const auto& api = nvenc_table();
  HandSession session;
  ASSERT_EQ(session.initialise(), NV_ENC_SUCCESS);
  auto memory = std::make_unique<GpuMemory>(std::size_t{256} * 66 * 3 / 2);
  auto resource = versioned<NV_ENC_REGISTER_RESOURCE>();
  resource.resourceType = NV_ENC_INPUT_RESOURCE_TYPE_CUDADEVICEPTR;
  resource.resourceToRegister = memory->data();
  resource.width = 162, resource.height = 66, resource.pitch = 256;
  resource.bufferFormat = NV_ENC_BUFFER_FORMAT_NV12;
  const auto refused = [&](NVENCSTATUS status, const char* words, auto change) {
    auto changed = resource;
    change(changed);
    EXPECT_EQ(api.nvEncRegisterResource(session.handle(), &changed), status) << words;
    expect_words(words);
  };
  std::uint32_t on_host[20000];
  refused(NV_ENC_ERR_RESOURCE_REGISTER_FAILED, "lie 0 there",
          [&](auto& r) { r.resourceToRegister = on_host; });
  refused(NV_ENC_ERR_RESOURCE_REGISTER_FAILED, "takes 50688 bytes", [](auto& r) { r.pitch = 512; });
  refused(wrong, "multiple of 4", [](auto& r) { r.pitch = 163; });
  refused(wrong, "pitch is 160", [](auto& r) { r.pitch = 160; });
  refused(wrong, "the buffer is 160x66", [](auto& r) { r.width = 160; });
  refused(wrong, "bufferFormat", [](auto& r) { r.bufferFormat = NV_ENC_BUFFER_FORMAT_U8; });
  refused(NV_ENC_ERR_UNIMPLEMENTED, "device pointers", [](auto& r) { r.resourceType = {}; });
  ASSERT_EQ(api.nvEncRegisterResource(session.handle(), &resource), NV_ENC_SUCCESS);
  auto map = versioned<NV_ENC_MAP_INPUT_RESOURCE>();
  map.registeredResource = &map;
  EXPECT_EQ(api.nvEncMapInputResource(session.handle(), &map), NV_ENC_ERR_RESOURCE_NOT_REGISTERED);
  expect_words("no such resource");
  map.registeredResource = resource.registeredResource;
  ASSERT_EQ(api.nvEncMapInputResource(session.handle(), &map), NV_ENC_SUCCESS);
  void* mapped = map.mappedResource;
  EXPECT_EQ(api.nvEncMapInputResource(session.handle(), &map), NV_ENC_ERR_MAP_FAILED);
  expect_words("mapped already");
  EXPECT_EQ(api.nvEncUnregisterResource(session.handle(), resource.registeredResource), order);
  expect_words("is mapped");
  EXPECT_EQ(api.nvEncUnmapInputResource(session.handle(), mapped), NV_ENC_SUCCESS);
  EXPECT_EQ(api.nvEncUnmapInputResource(session.handle(), mapped), NV_ENC_ERR_RESOURCE_NOT_MAPPED);
  expect_words("no such mapping");
  memory.reset();
  EXPECT_EQ(api.nvEncMapInputResource(session.handle(), &map), NV_ENC_ERR_MAP_FAILED);
  expect_words("freed before it was unregistered");
  EXPECT_EQ(api.nvEncUnregisterResource(session.handle(), resource.registeredResource), NV_ENC_SUCCESS);
}

TEST_F(FakeNvenc, sessions_are_opened_on_a_context_and_used_while_they_are) {
  const auto& api = nvenc_table();
  auto open = versioned<NV_ENC_OPEN_ENCODE_SESSION_EX_PARAMS>();
  open.deviceType = NV_ENC_DEVICE_TYPE_CUDA;
  open.device = fake_context();
  open.apiVersion = api_version;
  void* session = nullptr;
  const auto refused = [&](NVENCSTATUS status, auto change) {
    auto changed = open;
    change(changed);
    EXPECT_EQ(api.nvEncOpenEncodeSessionEx(&changed, &session), status);
    EXPECT_NE(take_misuse(), "");
  };
  refused(version, [](auto& o) { o.version = 0; });
  refused(version, [](auto& o) { o.apiVersion = 13; });
  refused(NV_ENC_ERR_UNSUPPORTED_DEVICE, [](auto& o) { o.deviceType = NV_ENC_DEVICE_TYPE_OPENGL; });
  refused(NV_ENC_ERR_INVALID_DEVICE, [](auto& o) { o.device = nullptr; });
  refused(wrong, [](auto& o) { o.reserved1[0] = 1; });
  ASSERT_EQ(api.nvEncOpenEncodeSessionEx(&open, &session), NV_ENC_SUCCESS);
  EXPECT_EQ(api.nvEncDestroyEncoder(session), NV_ENC_SUCCESS);
  EXPECT_EQ(api.nvEncDestroyEncoder(session), NV_ENC_ERR_INVALID_ENCODERDEVICE);
  expect_words("no such session");
  EXPECT_EQ(api.nvEncDestroyEncoder(nullptr), NV_ENC_ERR_INVALID_PTR);
  expect_words("the session is null");
}

TEST_F(FakeNvenc, what_is_left_is_counted) {
  const auto& api = nvenc_table();
  const long leaked = fake_nvenc_leaked(), unflushed = fake_nvenc_unflushed();
  {
    HandSession session(NV_ENC_CODEC_H264_GUID, 4);
    session.start(2);
    session.encode(0), session.encode(1);
    EXPECT_EQ(fake_nvenc_buffers(), 4);
    EXPECT_EQ(api.nvEncDestroyEncoder(session.handle()), NV_ENC_SUCCESS);
    expect_words("2 input buffers, 2 bitstream buffers, 0 resources, 0 mappings are left");
    session.abandon();
  }
  EXPECT_EQ(fake_nvenc_leaked(), leaked + 4);
  EXPECT_EQ(fake_nvenc_unflushed(), unflushed + 1);
}

TEST_F(FakeNvenc, functions_of_other_systems_are_refused) {
  const auto& api = nvenc_table();
  HandSession session;
  auto event = versioned<NV_ENC_EVENT_PARAMS>();
  EXPECT_EQ(api.nvEncRegisterAsyncEvent(session.handle(), &event), unsupported);
  expect_words("not supported for CUDA on Linux");
  void* old = nullptr;
  EXPECT_EQ(api.nvEncOpenEncodeSession(fake_context(), 0, &old), order);
  expect_words("deprecated");
}

} // namespace
} // namespace lanner::test
