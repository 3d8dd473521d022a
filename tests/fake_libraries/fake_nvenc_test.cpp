// The fake libnvidia-encode: what sessions that are driven as the header says give.

#include <cstring>
#include <set>

#include "device/cuda/shared_library.h"
#include "fake_libraries/nvenc_by_hand.h"
#include "video/clips.h"

namespace lanner::test {
namespace {

using namespace nvenc;

TEST_F(FakeNvenc, is_found_as_the_drivers_library) {
  const char* const names[] = {"libnvidia-encode.so.1"};
  cuda::SharedLibrary library = cuda::open_library(names);
  ASSERT_TRUE(library.handle) << library.reason;
  GetMaxSupportedVersion get_version = nullptr;
  CreateInstance create = nullptr;
  ASSERT_TRUE(library.bind("NvEncodeAPIGetMaxSupportedVersion", get_version));
  ASSERT_TRUE(library.bind("NvEncodeAPICreateInstance", create));
  std::uint32_t version = 0;
  EXPECT_EQ(get_version(&version), NV_ENC_SUCCESS);
  EXPECT_EQ(version, needed_version);
  auto table = versioned<NV_ENCODE_API_FUNCTION_LIST>();
  EXPECT_EQ(create(&table), NV_ENC_SUCCESS);
  EXPECT_TRUE(table.nvEncOpenEncodeSessionEx);
}

TEST_F(FakeNvenc, table_has_every_function) {
  const NV_ENCODE_API_FUNCTION_LIST& table = nvenc_table();
  const auto* entries = reinterpret_cast<void* const*>(&table.nvEncOpenEncodeSession);
  const auto* end = reinterpret_cast<void* const*>(table.reserved2);
  for (const auto* entry = entries; entry != end; ++entry)
    EXPECT_EQ(*entry == nullptr, entry == &table.reserved1) << entry - entries;
}

TEST_F(FakeNvenc, lists_what_the_device_has) {
  const auto& api = nvenc_table();
  HandSession session;
  const auto codecs = [&] {
    std::uint32_t count = 0;
    EXPECT_EQ(api.nvEncGetEncodeGUIDCount(session.handle(), &count), NV_ENC_SUCCESS);
    std::vector<GUID> guids(count);
    EXPECT_EQ(api.nvEncGetEncodeGUIDs(session.handle(), guids.data(), count, &count), NV_ENC_SUCCESS);
    return guids;
  };
  EXPECT_EQ(codecs(), (std::vector{NV_ENC_CODEC_H264_GUID, NV_ENC_CODEC_HEVC_GUID, NV_ENC_CODEC_AV1_GUID}));
  fake_nvenc_offer_codec(2, false);
  EXPECT_EQ(codecs().size(), 2u);
  std::uint32_t count = 0;
  EXPECT_EQ(api.nvEncGetEncodePresetCount(session.handle(), NV_ENC_CODEC_AV1_GUID, &count),
            NV_ENC_ERR_UNSUPPORTED_PARAM);
  EXPECT_NE(take_misuse(), "");
  EXPECT_EQ(api.nvEncGetEncodePresetCount(session.handle(), NV_ENC_CODEC_HEVC_GUID, &count), NV_ENC_SUCCESS);
  EXPECT_EQ(count, 7u);
  GUID first;
  EXPECT_EQ(api.nvEncGetEncodePresetGUIDs(session.handle(), NV_ENC_CODEC_HEVC_GUID, &first, 1, &count),
            NV_ENC_SUCCESS);
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(first, NV_ENC_PRESET_P1_GUID);
}

TEST_F(FakeNvenc, capabilities_and_formats_can_be_set) {
  const auto& api = nvenc_table();
  HandSession session;
  const auto formats = [&] {
    std::uint32_t count = 0;
    EXPECT_EQ(api.nvEncGetInputFormatCount(session.handle(), NV_ENC_CODEC_HEVC_GUID, &count), NV_ENC_SUCCESS);
    std::vector<NV_ENC_BUFFER_FORMAT> all(count);
    EXPECT_EQ(api.nvEncGetInputFormats(session.handle(), NV_ENC_CODEC_HEVC_GUID, all.data(), count, &count),
              NV_ENC_SUCCESS);
    return std::set(all.begin(), all.end());
  };
  auto asked = versioned<NV_ENC_CAPS_PARAM>();
  asked.capsToQuery = NV_ENC_CAPS_SUPPORT_10BIT_ENCODE;
  int value = -1;
  EXPECT_EQ(api.nvEncGetEncodeCaps(session.handle(), NV_ENC_CODEC_HEVC_GUID, &asked, &value), NV_ENC_SUCCESS);
  EXPECT_EQ(value, 1);
  EXPECT_TRUE(formats().contains(NV_ENC_BUFFER_FORMAT_YUV444_10BIT));
  fake_nvenc_set_capability(1, NV_ENC_CAPS_SUPPORT_10BIT_ENCODE, 0);
  EXPECT_EQ(api.nvEncGetEncodeCaps(session.handle(), NV_ENC_CODEC_HEVC_GUID, &asked, &value), NV_ENC_SUCCESS);
  EXPECT_EQ(value, 0);
  EXPECT_FALSE(formats().contains(NV_ENC_BUFFER_FORMAT_YUV444_10BIT));
}

TEST_F(FakeNvenc, presets_have_b_pictures_where_the_header_says_so) {
  for (int preset = 1; preset <= 7; ++preset) {
    EXPECT_EQ(HandSession(NV_ENC_CODEC_H264_GUID, preset).config.frameIntervalP > 1, preset >= 3) << preset;
    EXPECT_EQ(HandSession(NV_ENC_CODEC_HEVC_GUID, preset).config.frameIntervalP > 1, preset >= 2) << preset;
    const HandSession quick(NV_ENC_CODEC_H264_GUID, preset, NV_ENC_TUNING_INFO_ULTRA_LOW_LATENCY);
    EXPECT_EQ(quick.config.frameIntervalP, 1) << preset;
  }
}

// --- Streams ---

struct StreamCase {
  const char* name;
  GUID codec;
  NV_ENC_BUFFER_FORMAT format;
  bool mapped = false;
  bool cavlc = false;
};

class FakeNvencStream : public FakeNvenc, public testing::WithParamInterface<StreamCase> {};

TEST_P(FakeNvencStream, decodes_to_what_was_given) {
  LANNER_NEEDS_FFMPEG();
  const StreamCase& with = GetParam();
  HandSession session(with.codec, 4);
  session.format = with.format;
  const bool deep = with.format == NV_ENC_BUFFER_FORMAT_YUV420_10BIT ||
                    with.format == NV_ENC_BUFFER_FORMAT_YUV444_10BIT,
             full = with.format == NV_ENC_BUFFER_FORMAT_YUV444 ||
                    with.format == NV_ENC_BUFFER_FORMAT_YUV444_10BIT;
  session.config.gopLength = 6;
  if (with.codec == NV_ENC_CODEC_H264_GUID) {
    auto& h264 = session.config.encodeCodecConfig.h264Config;
    h264.idrPeriod = 6;
    h264.sliceModeData = 3;
    if (full) h264.chromaFormatIDC = 3;
    if (with.cavlc) h264.entropyCodingMode = NV_ENC_H264_ENTROPY_CODING_MODE_CAVLC;
  } else {
    auto& hevc = session.config.encodeCodecConfig.hevcConfig;
    hevc.idrPeriod = 6;
    hevc.sliceModeData = 2;
    hevc.chromaFormatIDC = full ? 3 : 1;
    hevc.pixelBitDepthMinus8 = deep ? 2 : 0;
  }
  session.start(8, with.mapped);
  for (int time = 0; time < 9; ++time) session.encode(time);
  EXPECT_EQ(session.end(), NV_ENC_SUCCESS);
  EXPECT_EQ(session.types(), "DPBBPBDPB");
  const std::vector<Frame> frames = decode_stream(session.stream());
  ASSERT_EQ(frames.size(), 9u);
  for (int time = 0; time < 9; ++time) expect_pattern(frames[static_cast<std::size_t>(time)], time);
}

INSTANTIATE_TEST_SUITE_P(
    all, FakeNvencStream,
    testing::Values(StreamCase{"h264", NV_ENC_CODEC_H264_GUID, NV_ENC_BUFFER_FORMAT_NV12},
                    StreamCase{"h264_cavlc", NV_ENC_CODEC_H264_GUID, NV_ENC_BUFFER_FORMAT_IYUV, false, true},
                    StreamCase{"h264_mapped", NV_ENC_CODEC_H264_GUID, NV_ENC_BUFFER_FORMAT_NV12, true},
                    StreamCase{"h264_444", NV_ENC_CODEC_H264_GUID, NV_ENC_BUFFER_FORMAT_YUV444, true},
                    StreamCase{"hevc", NV_ENC_CODEC_HEVC_GUID, NV_ENC_BUFFER_FORMAT_NV12},
                    StreamCase{"hevc_10", NV_ENC_CODEC_HEVC_GUID, NV_ENC_BUFFER_FORMAT_YUV420_10BIT, true},
                    StreamCase{"hevc_444", NV_ENC_CODEC_HEVC_GUID, NV_ENC_BUFFER_FORMAT_YUV444},
                    StreamCase{"hevc_444_10", NV_ENC_CODEC_HEVC_GUID, NV_ENC_BUFFER_FORMAT_YUV444_10BIT,
                               true}),
    [](const auto& info) { return info.param.name; });

/// One grey of each word format, as limited BT.601 has it.
TEST_F(FakeNvenc, words_become_luma_and_chroma) {
  LANNER_NEEDS_FFMPEG();
  HandSession session;
  session.format = NV_ENC_BUFFER_FORMAT_ARGB;
  ASSERT_EQ(session.initialise(), NV_ENC_SUCCESS);
  const std::uint32_t width = session.init.encodeWidth, height = session.init.encodeHeight;
  GpuMemory memory(std::size_t{width} * height * 4);
  for (std::size_t i = 0; i < std::size_t{width} * height; ++i) {
    const std::uint32_t blue = 0xff0000ff; // A, R, G, B from the highest byte down
    std::memcpy(static_cast<std::byte*>(memory.data()) + 4 * i, &blue, 4);
  }
  auto resource = versioned<NV_ENC_REGISTER_RESOURCE>();
  resource.resourceType = NV_ENC_INPUT_RESOURCE_TYPE_CUDADEVICEPTR;
  resource.resourceToRegister = memory.data();
  resource.width = width, resource.height = height, resource.pitch = width * 4;
  resource.bufferFormat = NV_ENC_BUFFER_FORMAT_ARGB;
  const auto& api = nvenc_table();
  ASSERT_EQ(api.nvEncRegisterResource(session.handle(), &resource), NV_ENC_SUCCESS) << fake_nvenc_misuse();
  auto map = versioned<NV_ENC_MAP_INPUT_RESOURCE>();
  map.registeredResource = resource.registeredResource;
  ASSERT_EQ(api.nvEncMapInputResource(session.handle(), &map), NV_ENC_SUCCESS);
  auto output = versioned<NV_ENC_CREATE_BITSTREAM_BUFFER>();
  ASSERT_EQ(api.nvEncCreateBitstreamBuffer(session.handle(), &output), NV_ENC_SUCCESS);
  auto picture = versioned<NV_ENC_PIC_PARAMS>();
  picture.inputWidth = width, picture.inputHeight = height, picture.inputPitch = width * 4;
  picture.inputBuffer = map.mappedResource, picture.outputBitstream = output.bitstreamBuffer;
  picture.bufferFmt = map.mappedBufferFmt, picture.pictureStruct = NV_ENC_PIC_STRUCT_FRAME;
  ASSERT_EQ(api.nvEncEncodePicture(session.handle(), &picture), NV_ENC_SUCCESS) << fake_nvenc_misuse();
  auto lock = versioned<NV_ENC_LOCK_BITSTREAM>();
  lock.outputBitstream = output.bitstreamBuffer;
  ASSERT_EQ(api.nvEncLockBitstream(session.handle(), &lock), NV_ENC_SUCCESS);
  const auto* first = static_cast<const std::byte*>(lock.bitstreamBufferPtr);
  const auto frames = decode_stream({first, first + lock.bitstreamSizeInBytes});
  EXPECT_EQ(api.nvEncUnlockBitstream(session.handle(), output.bitstreamBuffer), NV_ENC_SUCCESS);
  EXPECT_EQ(api.nvEncUnmapInputResource(session.handle(), map.mappedResource), NV_ENC_SUCCESS);
  EXPECT_EQ(api.nvEncUnregisterResource(session.handle(), resource.registeredResource), NV_ENC_SUCCESS);
  EXPECT_EQ(api.nvEncDestroyBitstreamBuffer(session.handle(), output.bitstreamBuffer), NV_ENC_SUCCESS);
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(int(*frames[0].image.planes[0].data), 41); // of pure blue, as BT.601 has it
  EXPECT_EQ(int(*frames[0].image.planes[1].data), 240);
  EXPECT_EQ(int(*frames[0].image.planes[2].data), 110);
}

TEST_F(FakeNvenc, b_pictures_wait_for_what_comes_behind_them) {
  HandSession session(NV_ENC_CODEC_H264_GUID, 4);
  session.start();
  EXPECT_EQ(session.encode(0), NV_ENC_SUCCESS);
  EXPECT_EQ(session.encode(1), NV_ENC_ERR_NEED_MORE_INPUT);
  EXPECT_EQ(session.encode(2), NV_ENC_ERR_NEED_MORE_INPUT);
  EXPECT_EQ(session.encode(3), NV_ENC_SUCCESS);
  EXPECT_EQ(session.encode(4), NV_ENC_ERR_NEED_MORE_INPUT);
  EXPECT_EQ(session.end(), NV_ENC_SUCCESS);
  EXPECT_EQ(session.types(), "DPBBP");
  std::vector<std::uint64_t> times;
  std::vector<std::uint32_t> display;
  for (const EncodedPicture& picture : session.encoded) {
    times.push_back(picture.time);
    display.push_back(picture.display);
    EXPECT_EQ(picture.frame, picture.display);
  }
  EXPECT_EQ(times, (std::vector<std::uint64_t>{0, 3000, 1000, 2000, 4000}));
  EXPECT_EQ(display, (std::vector<std::uint32_t>{0, 3, 1, 2, 4}));
}

TEST_F(FakeNvenc, lookahead_delays) {
  HandSession session(NV_ENC_CODEC_HEVC_GUID, 1);
  session.config.rcParams.enableLookahead = 1;
  session.config.rcParams.lookaheadDepth = 3;
  session.start();
  for (int time = 0; time < 3; ++time) EXPECT_EQ(session.encode(time), NV_ENC_ERR_NEED_MORE_INPUT) << time;
  EXPECT_EQ(session.encode(3), NV_ENC_SUCCESS);
  EXPECT_EQ(session.end(), NV_ENC_SUCCESS);
  EXPECT_EQ(session.types(), "DPPP");
}

TEST_F(FakeNvenc, middle_b_picture_is_a_reference) {
  LANNER_NEEDS_FFMPEG();
  for (const GUID& codec : {NV_ENC_CODEC_H264_GUID, NV_ENC_CODEC_HEVC_GUID}) {
    HandSession session(codec, 4);
    session.config.frameIntervalP = 4;
    if (codec == NV_ENC_CODEC_H264_GUID)
      session.config.encodeCodecConfig.h264Config.useBFramesAsRef = NV_ENC_BFRAME_REF_MODE_MIDDLE;
    else
      session.config.encodeCodecConfig.hevcConfig.useBFramesAsRef = NV_ENC_BFRAME_REF_MODE_MIDDLE;
    session.start();
    for (int time = 0; time < 9; ++time) session.encode(time);
    session.end();
    EXPECT_EQ(session.types(), "DPBBBPBBB");
    EXPECT_EQ(session.encoded[2].display, 2u);
    const auto frames = decode_stream(session.stream());
    ASSERT_EQ(frames.size(), 9u);
    for (int time = 0; time < 9; ++time) expect_pattern(frames[static_cast<std::size_t>(time)], time);
  }
}

TEST_F(FakeNvenc, flags_force_pictures_and_headers) {
  HandSession session;
  session.start();
  session.encode(0);
  session.encode(1);
  session.encode(2, [](auto& picture) { picture.encodePicFlags = NV_ENC_PIC_FLAG_FORCEIDR; });
  session.encode(3, [](auto& picture) { picture.encodePicFlags = NV_ENC_PIC_FLAG_FORCEINTRA; });
  session.encode(4, [](auto& picture) { picture.encodePicFlags = NV_ENC_PIC_FLAG_OUTPUT_SPSPPS; });
  session.end();
  EXPECT_EQ(session.types(), "DPDIP");
  std::string with_headers;
  for (const EncodedPicture& picture : session.encoded)
    with_headers += picture.bytes[4] == std::byte{0x67} ? 'h' : '-'; // an SPS of the highest importance
  EXPECT_EQ(with_headers, "h---h");
}

TEST_F(FakeNvenc, headers_repeat_where_asked_for) {
  HandSession session(NV_ENC_CODEC_HEVC_GUID);
  session.config.gopLength = 2;
  session.config.encodeCodecConfig.hevcConfig.idrPeriod = 2;
  session.config.encodeCodecConfig.hevcConfig.repeatSPSPPS = 1;
  session.start();
  for (int time = 0; time < 4; ++time) session.encode(time);
  session.end();
  EXPECT_EQ(session.types(), "DPDP");
  std::uint8_t bytes[max_sequence_header_bytes];
  std::uint32_t size = 0;
  auto payload = versioned<NV_ENC_SEQUENCE_PARAM_PAYLOAD>();
  payload.spsppsBuffer = bytes, payload.inBufferSize = sizeof bytes, payload.outSPSPPSPayloadSize = &size;
  ASSERT_EQ(nvenc_table().nvEncGetSequenceParams(session.handle(), &payload), NV_ENC_SUCCESS);
  for (const std::size_t key : {0u, 2u}) {
    ASSERT_GT(session.encoded[key].bytes.size(), size);
    EXPECT_EQ(std::memcmp(session.encoded[key].bytes.data(), bytes, size), 0) << key;
  }
  payload.inBufferSize = 10;
  EXPECT_EQ(nvenc_table().nvEncGetSequenceParams(session.handle(), &payload), NV_ENC_ERR_NOT_ENOUGH_BUFFER);
  EXPECT_NE(take_misuse().find("inBufferSize is 10"), std::string::npos);
}

TEST_F(FakeNvenc, messages_are_in_the_stream) {
  LANNER_NEEDS_FFMPEG();
  for (const GUID& codec : {NV_ENC_CODEC_H264_GUID, NV_ENC_CODEC_HEVC_GUID}) {
    HandSession session(codec);
    session.start();
    std::vector<std::uint8_t> bytes(300, 0); // longer than a byte counts, and full of start codes
    for (std::size_t i = 0; i < 16; ++i) bytes[i] = static_cast<std::uint8_t>(i);
    NV_ENC_SEI_PAYLOAD payload{300, 5, bytes.data()};
    session.encode(0, [&](NV_ENC_PIC_PARAMS& picture) {
      if (codec == NV_ENC_CODEC_H264_GUID) {
        picture.codecPicParams.h264PicParams.seiPayloadArray = &payload;
        picture.codecPicParams.h264PicParams.seiPayloadArrayCnt = 1;
      } else {
        picture.codecPicParams.hevcPicParams.seiPayloadArray = &payload;
        picture.codecPicParams.hevcPicParams.seiPayloadArrayCnt = 1;
      }
    });
    session.end();
    const auto frames = decode_stream(session.stream(), true);
    ASSERT_EQ(frames.size(), 1u);
    ASSERT_EQ(frames[0].sei.size(), 1u);
    EXPECT_EQ(frames[0].sei[0].type, 5);
    ASSERT_EQ(frames[0].sei[0].bytes.size(), bytes.size());
    EXPECT_EQ(std::memcmp(frames[0].sei[0].bytes.data(), bytes.data(), bytes.size()), 0);
  }
}

TEST_F(FakeNvenc, quantisers_and_slices_are_told) {
  HandSession session(NV_ENC_CODEC_H264_GUID, 4);
  session.config.rcParams.rateControlMode = NV_ENC_PARAMS_RC_CONSTQP;
  session.config.rcParams.constQP = {20, 30, 10};
  session.config.encodeCodecConfig.h264Config.sliceMode = 2;
  session.config.encodeCodecConfig.h264Config.sliceModeData = 2; // of 5 rows
  session.init.reportSliceOffsets = 1;
  session.start();
  for (int time = 0; time < 4; ++time) session.encode(time);
  session.end();
  ASSERT_EQ(session.types(), "DPBB");
  EXPECT_EQ(session.encoded[0].qp, 10u);
  EXPECT_EQ(session.encoded[1].qp, 20u);
  EXPECT_EQ(session.encoded[2].qp, 30u);
  EXPECT_EQ(session.encoded[0].slices, 3u);

  HandSession bounded;
  bounded.config.rcParams.enableMaxQP = 1;
  bounded.config.rcParams.maxQP = {24, 24, 22};
  bounded.start();
  bounded.encode(0);
  bounded.encode(1);
  bounded.end();
  EXPECT_EQ(bounded.encoded[0].qp, 22u);
  EXPECT_EQ(bounded.encoded[1].qp, 24u);
}

TEST_F(FakeNvenc, callers_may_decide_types) {
  LANNER_NEEDS_FFMPEG();
  HandSession session(NV_ENC_CODEC_H264_GUID, 4);
  session.init.enablePTD = 0;
  session.start();
  const auto picture = [&](int time, NV_ENC_PIC_TYPE type) {
    EXPECT_EQ(session.encode(time,
                             [&](NV_ENC_PIC_PARAMS& p) {
                               p.pictureType = type;
                               p.codecPicParams.h264PicParams.displayPOCSyntax =
                                   static_cast<std::uint32_t>(time);
                               p.codecPicParams.h264PicParams.refPicFlag = type != NV_ENC_PIC_TYPE_B;
                             }),
              NV_ENC_SUCCESS)
        << fake_nvenc_misuse();
  };
  picture(0, NV_ENC_PIC_TYPE_IDR);
  picture(2, NV_ENC_PIC_TYPE_P);
  picture(1, NV_ENC_PIC_TYPE_B);
  session.end();
  EXPECT_EQ(session.types(), "DPB");
  const auto frames = decode_stream(session.stream());
  ASSERT_EQ(frames.size(), 3u);
  for (int time = 0; time < 3; ++time) expect_pattern(frames[static_cast<std::size_t>(time)], time);
}

TEST_F(FakeNvenc, av1_has_headers_and_opaque_frames_in_display_order) {
  HandSession session(NV_ENC_CODEC_AV1_GUID, 4);
  session.init.encodeWidth = 192, session.init.encodeHeight = 128;
  ASSERT_EQ(session.initialise(), NV_ENC_SUCCESS) << fake_nvenc_misuse();
  std::uint8_t bytes[max_sequence_header_bytes];
  std::uint32_t size = 0;
  auto payload = versioned<NV_ENC_SEQUENCE_PARAM_PAYLOAD>();
  payload.spsppsBuffer = bytes, payload.inBufferSize = sizeof bytes, payload.outSPSPPSPayloadSize = &size;
  ASSERT_EQ(nvenc_table().nvEncGetSequenceParams(session.handle(), &payload), NV_ENC_SUCCESS);
  EXPECT_EQ(bytes[0], 1 << 3 | 2); // an OBU of a sequence header with its size
  EXPECT_EQ(bytes[1], size - 2);
}

} // namespace
} // namespace lanner::test
