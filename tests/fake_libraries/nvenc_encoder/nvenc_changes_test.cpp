// The encoder of GPUs on the fake libnvidia-encode: changes while it runs, devices without NVENC, failures.

#include <algorithm>

#include "expect_error.h"
#include "fake_libraries/nvenc_encoder/nvenc_pictures.h"
#include "text_parts.h"
#include "video/clips.h"
#include "video/nvenc/library.h"

namespace lanner::test {
namespace {

using namespace nvenc;

EncoderOptions vbr_options() {
  EncoderOptions options = nvenc_options();
  options.bit_rate = 2'000'000;
  options.max_bit_rate = 3'000'000;
  return options;
}

// --- Changes ---

TEST_F(FakeNvencEncoder, rates_buffers_passes_and_frame_rate_change_as_it_runs) {
  const EncoderOptions options = vbr_options();
  const auto encoder = create_encoder(options);
  send_patterns(*encoder, options, 0, 3);
  EncoderReconfigure change;
  change.bit_rate = 1'000'000;
  change.max_bit_rate = 1'500'000;
  change.vbv_buffer_size = 700'000;
  change.vbv_initial = 600'000;
  change.rate = {50, 1};
  change.multipass = Multipass::full_resolution;
  encoder->reconfigure(change);
  EXPECT_EQ(recorded_rates().averageBitRate, 1'000'000u);
  EXPECT_EQ(recorded_rates().maxBitRate, 1'500'000u);
  EXPECT_EQ(recorded_rates().vbvBufferSize, 700'000u);
  EXPECT_EQ(recorded_rates().vbvInitialDelay, 600'000u);
  EXPECT_EQ(recorded_rates().multiPass, NV_ENC_TWO_PASS_FULL_RESOLUTION);
  EXPECT_EQ(recorded().frameRateNum, 50u);
  const EncoderReconfigure now = encoder->reconfigurable();
  EXPECT_EQ(now.bit_rate, 1'000'000);
  EXPECT_EQ(now.max_bit_rate, 1'500'000);
  EXPECT_EQ(now.rate, (Rational{50, 1}));
  EXPECT_EQ(now.multipass, Multipass::full_resolution);
  EXPECT_EQ(encoder->stream().time_base, (Rational{1, 25})); // Times go on in the ticks of before.
  EncoderReconfigure back;
  back.multipass = Multipass::disabled;
  encoder->reconfigure(back);
  EXPECT_EQ(recorded_rates().multiPass, NV_ENC_MULTI_PASS_DISABLED);
  std::vector<Packet> packets = send_patterns(*encoder, options, 3, 6);
  for (Packet& packet : end_encoder(*encoder)) packets.push_back(std::move(packet));
  EXPECT_EQ(types_of(packets), "DPPPPP"); // No restart.
  EXPECT_TRUE(encoder->restarts().empty());
  EXPECT_EQ(count(fake_nvenc_log(), "nvEncOpenEncodeSessionEx"), 1u);
}

TEST_F(FakeNvencEncoder, pictures_without_a_time_follow_the_rate_that_holds) {
  for (const int b_frames : {0, 3}) {
    EncoderOptions options = vbr_options();
    options.b_frames = b_frames;
    options.gop = 30;
    options.time_base = {1, 1000};
    const auto encoder = create_encoder(options);
    std::vector<Packet> packets;
    for (int i = 0; i < 10; ++i) {
      if (i == 2) encoder->reconfigure({.rate = {24, 1}}); // No packet was read yet.
      if (i == 6) encoder->reconfigure({.rate = {10, 1}});
      if (i == 8) encoder->reconfigure({.rate = {50, 1}});
      const Image image = nvenc_pattern_for(options, i);
      while (!encoder->send(&image)) packets.push_back(encoder->receive().value());
    }
    for (Packet& packet : end_encoder(*encoder)) packets.push_back(std::move(packet));
    std::vector<std::int64_t> times = times_of(packets);
    std::ranges::sort(times);
    EXPECT_EQ(times, (std::vector<std::int64_t>{0, 40, 82, 123, 165, 207, 307, 407, 427, 447}));
    EXPECT_EQ(packets.front().dts % 40, 0) << "frames of the rate that held first";
    EXPECT_EQ(packets.front().dts<0, b_frames> 0);
    for (std::size_t i = 0; i < packets.size(); ++i) {
      EXPECT_LE(packets[i].dts, packets[i].pts) << i;
      if (i > 0) {
        EXPECT_GT(packets[i].dts, packets[i - 1].dts) << i;
      }
    }
    EXPECT_TRUE(encoder->restarts().empty());
  }
}

TEST_F(FakeNvencEncoder, frames_shorter_than_a_tick_need_a_time) {
  const EncoderOptions options = vbr_options(); // Ticks are frames, 25 a second.
  const auto encoder = create_encoder(options);
  const Image image = nvenc_pattern_for(options, 0);
  EXPECT_TRUE(encoder->send(&image));
  encoder->reconfigure({.rate = {50, 1}});
  LANNER_EXPECT_ERROR(encoder->send(&image), ErrorCode::invalid_argument,
                      "50/1 frames a second, each shorter than a tick of 1/25 s");
  encoder->reconfigure({.rate = {10, 1}});
  EXPECT_TRUE(encoder->send(&image));
  EXPECT_TRUE(encoder->send(&image));
  EXPECT_TRUE(encoder->send(&image));
  EXPECT_EQ(times_of(end_encoder(*encoder)), (std::vector<std::int64_t>{0, 3, 5, 8}));
}

TEST_F(FakeNvencEncoder, rate_control_changes_where_the_gpu_can) {
  for (const int live : {1, 0}) {
    fake_nvenc_set_capability(0, NV_ENC_CAPS_SUPPORT_DYN_RCMODE_CHANGE, live);
    fake_nvenc_forget();
    const EncoderOptions options = vbr_options();
    const auto encoder = create_encoder(options);
    std::vector<Packet> packets = send_patterns(*encoder, options, 0, 3);
    EncoderReconfigure change;
    change.rate_control = RateControl::cbr;
    encoder->reconfigure(change);
    EXPECT_EQ(recorded_rates().rateControlMode, NV_ENC_PARAMS_RC_CBR);
    for (Packet& packet : send_patterns(*encoder, options, 3, 6)) packets.push_back(std::move(packet));
    for (Packet& packet : end_encoder(*encoder)) packets.push_back(std::move(packet));
    EXPECT_EQ(types_of(packets), live ? "DPPPPP" : "DPPDPP");
    EXPECT_EQ(times_of(packets), (std::vector<std::int64_t>{0, 1, 2, 3, 4, 5}));
    EXPECT_EQ(count(fake_nvenc_log(), "nvEncOpenEncodeSessionEx"), live ? 1u : 2u);
    ASSERT_EQ(encoder->restarts().size(), live ? 0u : 1u);
    if (live) continue;
    EXPECT_EQ(encoder->restarts()[0].pts, 3);
    EXPECT_EQ(encoder->restarts()[0].reason, "rate control, maximum bit rate");
    EXPECT_EQ(fake_nvenc_sessions(), 1);
  }
}

TEST_F(FakeNvencEncoder, a_change_before_the_first_picture_is_no_restart) {
  const EncoderOptions options = vbr_options();
  const auto encoder = create_encoder(options);
  EncoderReconfigure change;
  change.rate_control = RateControl::cbr;
  encoder->reconfigure(change);
  EXPECT_EQ(fake_nvenc_sessions(), 1);
  send_patterns(*encoder, options, 0, 2);
  EXPECT_EQ(types_of(end_encoder(*encoder)), "DP");
  EXPECT_TRUE(encoder->restarts().empty());
}

TEST_F(FakeNvencEncoder, sizes_change_within_the_largest) {
  LANNER_NEEDS_FFMPEG();
  EncoderOptions options = nvenc_options();
  options.max_width = 200, options.max_height = 100;
  options.b_frames = 2;
  options.gop = 30;
  options.repeat_headers = false;
  const auto encoder = create_encoder(options);
  std::vector<Packet> packets = send_patterns(*encoder, options, 0, 5);
  EncoderReconfigure change;
  change.width = 200, change.height = 80;
  encoder->reconfigure(change);
  EXPECT_EQ(recorded().encodeWidth, 200u);
  EXPECT_EQ(recorded().encodeHeight, 80u);
  EXPECT_EQ(encoder->stream().width, 200);
  for (Packet& packet : send_patterns(*encoder, options, 5, 8)) packets.push_back(std::move(packet));
  for (Packet& packet : end_encoder(*encoder)) packets.push_back(std::move(packet));
  EXPECT_EQ(types_of(packets), "DPBBPDPB");
  std::int64_t last = INT64_MIN;
  for (const Packet& packet : packets) {
    EXPECT_GT(packet.dts, last);
    EXPECT_LE(packet.dts, packet.pts);
    last = packet.dts;
  }
  ASSERT_EQ(encoder->restarts().size(), 1u);
  EXPECT_EQ(encoder->restarts()[0].pts, 5);
  EXPECT_EQ(encoder->restarts()[0].reason, "size");
  const std::vector<Frame> frames = decode_stream(bytes_of(packets));
  ASSERT_EQ(frames.size(), 8u);
  EXPECT_EQ(frames[4].image.width, 160);
  EXPECT_EQ(frames[5].image.width, 200);
  EXPECT_EQ(frames[5].image.height, 80);
  EXPECT_EQ(static_cast<int>(frames[7].image.planes[0].data[frames[7].image.planes[0].pitch * 9 + 11]),
            static_cast<int>(nvenc_pattern(PixelFormat::yuv420p, 200, 80, 7).planes[0].data[256 * 9 + 11]));
}

TEST_F(FakeNvencEncoder, changes_that_are_not_possible_change_nothing) {
  EncoderOptions options = vbr_options();
  const auto encoder = create_encoder(options);
  send_patterns(*encoder, options, 0, 2);
  EncoderReconfigure change;
  change.width = 200;
  LANNER_EXPECT_ERROR(encoder->reconfigure(change), ErrorCode::invalid_argument,
                      "give max_width and max_height");
  change = {};
  change.bit_rate = 5'000'000'000;
  change.max_bit_rate = 5'000'000'000;
  LANNER_EXPECT_ERROR(encoder->reconfigure(change), ErrorCode::invalid_argument, "expected at most");
  change = {};
  change.bit_rate = 1'000'000;
  fake_nvenc_fail_in("nvEncReconfigureEncoder", 1, NV_ENC_ERR_GENERIC);
  LANNER_EXPECT_ERROR(encoder->reconfigure(change), ErrorCode::device,
                      "nvEncReconfigureEncoder: NV_ENC_ERR_GENERIC");
  EXPECT_EQ(encoder->reconfigurable().bit_rate, 2'000'000);
  change.rate_control = RateControl::cbr;
  fake_nvenc_limit_sessions(1); // A change that needs another session.
  LANNER_EXPECT_ERROR(encoder->reconfigure(change), ErrorCode::out_of_memory, "opens no more sessions");
  EXPECT_EQ(encoder->reconfigurable().bit_rate, 2'000'000);
  EXPECT_EQ(encoder->reconfigurable().rate_control, RateControl::vbr);
  EXPECT_EQ(end_encoder(*encoder).size(), 2u);
  LANNER_EXPECT_ERROR(encoder->reconfigure(change), ErrorCode::invalid_argument, "after the end");
}

TEST_F(FakeNvencEncoder, the_next_picture_is_an_idr_on_request) {
  const EncoderOptions options = nvenc_options();
  EXPECT_EQ(types_of(encode_patterns(options, 5,
                                     [](Encoder& encoder, int time) {
                                       EncoderReconfigure change;
                                       change.force_idr = time == 3;
                                       if (time == 3) encoder.reconfigure(change);
                                       return PictureRequest();
                                     })),
            "DPPDP");
}

// --- Devices ---

TEST_F(FakeNvencEncoder, a_gpu_without_nvenc_says_what_would_do) {
  for (const NVENCSTATUS status : {NV_ENC_ERR_NO_ENCODE_DEVICE, NV_ENC_ERR_UNSUPPORTED_DEVICE}) {
    fake_nvenc_fail_in("nvEncOpenEncodeSessionEx", 1, status);
    LANNER_EXPECT_ERROR(create_encoder(nvenc_options()), ErrorCode::unsupported,
                        "nvenc: cuda:0: Fake GPU has no NVENC");
    fake_nvenc_fail_in("nvEncOpenEncodeSessionEx", 1, status);
    LANNER_EXPECT_ERROR(encoder_capabilities(gpu_device), ErrorCode::unsupported,
                        "H100, H200, A100 and others for data centres have none; take device cpu");
  }
  EncoderOptions options = nvenc_options();
  options.device = {DeviceKind::cuda, 5};
  LANNER_EXPECT_ERROR(create_encoder(options), ErrorCode::invalid_argument, "cuda:5 does not exist");
  fake_nvenc_limit_sessions(0);
  LANNER_EXPECT_ERROR(create_encoder(nvenc_options()), ErrorCode::out_of_memory, "end another encoder");
}

TEST_F(FakeNvencEncoder, libraries_that_cannot_be_used_say_why) {
  const char* const missing[] = {"libnosuch-encode.so.1"};
  const LibraryStatus none = nvenc::open_library(missing);
  EXPECT_EQ(none.api, nullptr);
  EXPECT_NE(none.reason.find("libnosuch-encode.so.1"), std::string::npos);
  EXPECT_NE(none.remedy.find("NVIDIA's driver, from 530 on"), std::string::npos);
  EXPECT_NE(none.remedy.find("device cpu"), std::string::npos);
  const char* const other[] = {"libnvcuvid.so.1"};
  EXPECT_NE(nvenc::open_library(other).reason.find("NvEncodeAPIGetMaxSupportedVersion"), std::string::npos);
  fake_nvenc_set_version(11 << 4 | 1);
  const char* const names[] = {"libnvidia-encode.so.1"};
  EXPECT_NE(nvenc::open_library(names).reason.find("version 11.1 of the NVENC API, older than 12.1"),
            std::string::npos);
  fake_nvenc_reset_device();
  fake_nvenc_set_version(13 << 4);
  EXPECT_NE(nvenc::open_library(names).api, nullptr);
  for (const char* function : {"NvEncodeAPIGetMaxSupportedVersion", "NvEncodeAPICreateInstance"}) {
    fake_nvenc_fail_in(function, 1, NV_ENC_ERR_GENERIC);
    EXPECT_NE(nvenc::open_library(names).reason.find(std::string(function) + ": NV_ENC_ERR_GENERIC"),
              std::string::npos);
  }
}

TEST_F(FakeNvencEncoder, capabilities_are_the_drivers) {
  fake_nvenc_offer_codec(2, false);
  fake_nvenc_set_capability(1, NV_ENC_CAPS_NUM_MAX_BFRAMES, 6);
  const std::vector<EncoderCapability> found = encoder_capabilities(gpu_device);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].codec, "h264");
  EXPECT_TRUE(found[0].supported);
  EXPECT_EQ(found[0].values.at("width_max"), 4096);
  EXPECT_EQ(found[0].values.at("support_10bit_encode"), 0);
  EXPECT_EQ(found[1].values.at("num_max_bframes"), 6);
  EXPECT_EQ(found[1].values.at("support_10bit_encode"), 1);
  EXPECT_EQ(found[1].values.size(), static_cast<std::size_t>(NV_ENC_CAPS_EXPOSED_COUNT));
  EXPECT_FALSE(found[2].supported);
  EXPECT_TRUE(found[2].values.empty());
}

TEST_F(FakeNvencEncoder, handles_are_for_gpus) {
  EncoderOptions options = nvenc_options();
  options.device = Device{};
  options.stream.handle = &options;
  LANNER_EXPECT_ERROR(create_encoder(options), ErrorCode::invalid_argument,
                      "a CUDA stream is for encoding on a GPU");
  options.stream = {};
  options.context = &options;
  LANNER_EXPECT_ERROR(create_encoder(options), ErrorCode::invalid_argument,
                      "a CUDA context is for encoding on a GPU");
}

// --- Failures ---

/// Work that makes most calls: B-frames, a change, another size, another session.
void everything() {
  EncoderOptions options = vbr_options();
  options.b_frames = 1;
  options.gop = 20;
  options.max_width = 200, options.max_height = 100;
  options.global_header = false;
  const auto encoder = create_encoder(options);
  std::size_t packets = send_patterns(*encoder, options, 0, 5).size();
  EncoderReconfigure change;
  change.bit_rate = 1'000'000;
  encoder->reconfigure(change);
  change = {};
  change.width = 180;
  encoder->reconfigure(change);
  packets += send_patterns(*encoder, options, 5, 7).size();
  change = {};
  change.rate_control = RateControl::cbr;
  encoder->reconfigure(change);
  packets += send_patterns(*encoder, options, 7, 9).size();
  packets += end_encoder(*encoder).size();
  EXPECT_EQ(packets, 9u);
}

class NvencFailure : public FakeNvencEncoder, public testing::WithParamInterface<bool> {};

TEST_P(NvencFailure, of_any_call_is_one_error_and_nothing_is_left) {
  const bool in_driver = GetParam();
  const auto fail_call = [&](std::size_t number) {
    if (in_driver)
      fake_cuda_fail(number, number ? launch_failed : 0);
    else
      fake_nvenc_fail(number, number ? int{NV_ENC_ERR_DEVICE_NOT_EXIST} : 0);
  };
  const auto calls_so_far = [&] { return in_driver ? fake_cuda_calls() : fake_nvenc_calls(); };
  everything();
  const std::size_t memory = fake_cuda_memory(), objects = fake_cuda_objects(), before = calls_so_far();
  everything();
  const std::size_t calls = calls_so_far() - before;
  ASSERT_GT(calls, 40u);
  std::size_t unseen = 0;
  for (std::size_t number = 1; number <= calls; ++number) {
    fake_nvenc_forget();
    bool failed = false;
    fail_call(number);
    try {
      everything();
    } catch (const Error& error) {
      failed = true;
      EXPECT_EQ(error.code(), ErrorCode::device) << error.message();
      EXPECT_EQ(error.message().find('\n'), std::string::npos) << error.message();
    }
    fail_call(0);
    unseen += !failed;
    EXPECT_STREQ(fake_nvenc_misuse(), "") << "call " << number << " of " << calls << "\n" << fake_nvenc_log();
    EXPECT_EQ(fake_nvenc_sessions(), 0) << "call " << number;
    EXPECT_EQ(fake_cuda_memory(), memory) << "call " << number << " of " << calls;
    EXPECT_EQ(fake_cuda_objects(), objects) << "call " << number;
    EXPECT_EQ(fake_cuda_contexts(), 0) << "call " << number;
    fake_nvenc_forget();
  }
  EXPECT_LT(unseen, calls / 3); // Those that give something back where an encoder ends.
}

INSTANTIATE_TEST_SUITE_P(calls, NvencFailure, testing::Bool());

TEST_F(FakeNvencEncoder, a_picture_that_was_refused_can_be_sent_again) {
  EncoderOptions options = nvenc_options();
  options.tuning = Tuning::low_latency;
  for (const char* function : {"nvEncMapInputResource", "nvEncEncodePicture"}) {
    const auto encoder = create_encoder(options);
    const Image image = nvenc_pattern_for(options, 0);
    fake_nvenc_fail_in(function, 2, NV_ENC_ERR_OUT_OF_MEMORY);
    ASSERT_TRUE(encoder->send(&image, 0));
    LANNER_EXPECT_ERROR(encoder->send(&image, 1), ErrorCode::out_of_memory, function);
    EXPECT_EQ(fake_nvenc_mapped(), 1);
    ASSERT_TRUE(encoder->send(&image, 1));
    EXPECT_EQ(types_of(end_encoder(*encoder)), "DP");
  }
}

TEST_F(FakeNvencEncoder, a_packet_that_was_not_read_can_be_read_again) {
  EncoderOptions options = nvenc_options();
  options.tuning = Tuning::low_latency;
  const auto encoder = create_encoder(options);
  const Image image = nvenc_pattern_for(options, 0);
  ASSERT_TRUE(encoder->send(&image));
  fake_nvenc_fail_in("nvEncLockBitstream", 1, NV_ENC_ERR_GENERIC);
  LANNER_EXPECT_ERROR(encoder->receive(), ErrorCode::device, "nvEncLockBitstream: NV_ENC_ERR_GENERIC");
  EXPECT_TRUE(encoder->receive().has_value());
}

} // namespace
} // namespace lanner::test
