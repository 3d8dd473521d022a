// The fake libnvidia-encode: sessions that change, streams of CUDA, and calls that fail.

#include "device/cuda/shared_library.h"
#include "fake_driver/fake_cuda.h"
#include "fake_libraries/nvenc_by_hand.h"
#include "video/clips.h"

extern "C" {
int cuCtxPushCurrent_v2(void*);
int cuCtxPopCurrent_v2(void**);
int cuStreamCreate(void**, unsigned);
int cuStreamDestroy_v2(void*);
int cuStreamSynchronize(void*);
int cuMemsetD8Async(std::uint64_t, unsigned char, std::size_t, void*);
}

namespace lanner::test {
namespace {

using namespace nvenc;

// --- Sessions that change ---

NV_ENC_RECONFIGURE_PARAMS change_of(HandSession& session) {
  auto change = versioned<NV_ENC_RECONFIGURE_PARAMS>();
  change.reInitEncodeParams = session.init;
  change.reInitEncodeParams.encodeConfig = &session.config;
  return change;
}

TEST_F(FakeNvenc, rates_change_and_the_gop_does_not) {
  HandSession session;
  session.start();
  session.encode(0);
  session.config.rcParams.averageBitRate = 1'000'000;
  auto change = change_of(session);
  EXPECT_EQ(nvenc_table().nvEncReconfigureEncoder(session.handle(), &change), NV_ENC_SUCCESS);
  EXPECT_EQ(fake_nvenc_configuration()->encodeConfig->rcParams.averageBitRate, 1'000'000u);
  session.encode(1);
  change.forceIDR = 1;
  EXPECT_EQ(nvenc_table().nvEncReconfigureEncoder(session.handle(), &change), NV_ENC_SUCCESS);
  session.encode(2);
  session.config.gopLength = 100;
  EXPECT_EQ(nvenc_table().nvEncReconfigureEncoder(session.handle(), &change), NV_ENC_ERR_UNSUPPORTED_PARAM);
  EXPECT_NE(take_misuse().find("gopLength from 250 to 100"), std::string::npos);
  session.end();
  EXPECT_EQ(session.types(), "DPD");
}

TEST_F(FakeNvenc, sizes_change_below_the_largest) {
  HandSession session;
  session.init.maxEncodeWidth = 200, session.init.maxEncodeHeight = 100;
  session.start();
  session.encode(0);
  auto change = change_of(session);
  change.reInitEncodeParams.encodeWidth = 150;
  EXPECT_EQ(nvenc_table().nvEncReconfigureEncoder(session.handle(), &change), NV_ENC_SUCCESS);
  change.reInitEncodeParams.encodeWidth = 201;
  EXPECT_EQ(nvenc_table().nvEncReconfigureEncoder(session.handle(), &change), NV_ENC_ERR_INVALID_PARAM);
  EXPECT_NE(take_misuse().find("pictures of 201x66"), std::string::npos);
  session.init.encodeWidth = 150;
  session.encode(1);
  session.end();
  EXPECT_EQ(session.types(), "DD");
  EXPECT_EQ(session.encoded[1].bytes[4], std::byte{0x67}); // parameter sets again

  HandSession fixed;
  fixed.start(1);
  auto refused = change_of(fixed);
  refused.reInitEncodeParams.encodeWidth = 150;
  EXPECT_EQ(nvenc_table().nvEncReconfigureEncoder(fixed.handle(), &refused), NV_ENC_ERR_UNSUPPORTED_PARAM);
  EXPECT_NE(take_misuse().find("maxEncodeWidth"), std::string::npos);
}

TEST_F(FakeNvenc, invalid_references_end_in_an_intra_picture) {
  HandSession session;
  session.start();
  for (int time = 0; time < 3; ++time) session.encode(time);
  const auto& api = nvenc_table();
  EXPECT_EQ(api.nvEncInvalidateRefFrames(session.handle(), 2000), NV_ENC_SUCCESS); // older ones are left
  session.encode(3);
  EXPECT_EQ(api.nvEncInvalidateRefFrames(session.handle(), 0), NV_ENC_SUCCESS); // and with them all
  session.encode(4);
  EXPECT_EQ(api.nvEncInvalidateRefFrames(session.handle(), 77), NV_ENC_ERR_INVALID_PARAM);
  EXPECT_NE(take_misuse().find("time stamp 77"), std::string::npos);
  session.end();
  EXPECT_EQ(session.types(), "DPPPI");
}

// --- What is queued on streams ---

/// Encodes one picture whose luma is set on a stream of its own, in the session's order or beside it.
std::vector<std::byte> picture_set_on_stream(bool in_order) {
  HandSession session;
  session.start(2, true);
  void *stream = nullptr, *popped = nullptr;
  cuCtxPushCurrent_v2(fake_context());
  EXPECT_EQ(cuStreamCreate(&stream, 0), 0);
  if (in_order) {
    EXPECT_EQ(nvenc_table().nvEncSetIOCudaStreams(session.handle(), &stream, &stream), NV_ENC_SUCCESS);
  }
  session.write_input(0, 0);
  fake_cuda_defer(1);
  const std::size_t luma = std::size_t{session.picture(0).inputPitch} * session.init.encodeHeight;
  EXPECT_EQ(cuMemsetD8Async(reinterpret_cast<std::uint64_t>(session.memory(0)), 77, luma, stream), 0);
  EXPECT_EQ(session.encode_again(0), NV_ENC_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream), 0);
  fake_cuda_defer(0);
  EXPECT_EQ(session.end(), NV_ENC_SUCCESS);
  EXPECT_EQ(cuStreamDestroy_v2(stream), 0);
  cuCtxPopCurrent_v2(&popped);
  return session.stream();
}

TEST_F(FakeNvenc, input_is_read_in_the_order_of_its_stream) {
  LANNER_NEEDS_FFMPEG();
  const auto frames = decode_stream(picture_set_on_stream(true));
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(int(*frames[0].image.planes[0].data), 77);
  EXPECT_EQ(take_misuse(), "");
  picture_set_on_stream(false); // the default stream knows nothing of it
  EXPECT_NE(take_misuse().find("the input of picture 0 was changed"), std::string::npos);
}

// --- Failures ---

TEST_F(FakeNvenc, calls_fail_where_a_test_asks_for_it) {
  HandSession session;
  session.start(4);
  fake_nvenc_forget();
  fake_nvenc_fail_in("nvEncEncodePicture", 2, NV_ENC_ERR_DEVICE_NOT_EXIST);
  EXPECT_EQ(session.encode(0), NV_ENC_SUCCESS);
  EXPECT_EQ(session.encode(1), NV_ENC_ERR_DEVICE_NOT_EXIST);
  EXPECT_EQ(session.encode(2), NV_ENC_SUCCESS);
  EXPECT_EQ(fake_nvenc_pictures(), 2u);
  EXPECT_EQ(fake_nvenc_picture(1)->inputTimeStamp, 2000u);
  session.end();
  const std::size_t before = fake_nvenc_calls();
  fake_nvenc_fail(1, NV_ENC_ERR_OUT_OF_MEMORY);
  std::uint32_t count = 0;
  EXPECT_EQ(nvenc_table().nvEncGetEncodeGUIDCount(session.handle(), &count), NV_ENC_ERR_OUT_OF_MEMORY);
  EXPECT_EQ(nvenc_table().nvEncGetEncodeGUIDCount(session.handle(), &count), NV_ENC_SUCCESS);
  EXPECT_EQ(fake_nvenc_calls(), before + 2);
  fake_nvenc_forget();
  EXPECT_STREQ(fake_nvenc_log(), "");
}

TEST_F(FakeNvenc, sessions_and_versions_have_an_end) {
  fake_nvenc_limit_sessions(1);
  HandSession first;
  auto open = versioned<NV_ENC_OPEN_ENCODE_SESSION_EX_PARAMS>();
  open.deviceType = NV_ENC_DEVICE_TYPE_CUDA;
  open.device = fake_context();
  open.apiVersion = api_version;
  void* session = &open;
  EXPECT_EQ(nvenc_table().nvEncOpenEncodeSessionEx(&open, &session), NV_ENC_ERR_OUT_OF_MEMORY);
  EXPECT_EQ(session, nullptr);
  fake_nvenc_set_version(11 << 4 | 1);
  const char* const names[] = {"libnvidia-encode.so.1"};
  cuda::SharedLibrary library = cuda::open_library(names);
  CreateInstance create = nullptr;
  ASSERT_TRUE(library.bind("NvEncodeAPICreateInstance", create));
  auto table = versioned<NV_ENCODE_API_FUNCTION_LIST>();
  EXPECT_EQ(create(&table), NV_ENC_ERR_INVALID_VERSION);
  EXPECT_NE(take_misuse().find("11.1, older than 12.1"), std::string::npos);
}

} // namespace
} // namespace lanner::test
