#pragma once
// Clips for the fake libnvcuvid, and the expected results of decoding them.

#include <memory>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <lanner/decoder.h>

#include "device/cuda/gpu.h"
#include "fake_driver/fake_gpu.h"
#include "fake_libraries/fake_nvcuvid.h"
#include "text_parts.h"
#include "video/nvdec/session.h"

namespace lanner::test {

/// Container metadata of a stream that begins with `picture`.
StreamInfo stream_of(const fake::Picture& picture, const std::string& codec = "vp9");

/// A packet whose pts is `ordinal`.
Packet packet_of(const fake::Picture& picture, std::int64_t ordinal);

/// `count` pictures of one sequence; where `held` > 0 every second pair is decoded in swapped order.
std::vector<fake::Picture> sequence(int count, const fake::Picture& like = {});

/// Sends the pictures, numbered from `first` on, and collects the output; with `end` also the rest.
std::vector<Frame> decode(Decoder& decoder, const std::vector<fake::Picture>& pictures, bool end = true,
                          std::int64_t first = 0);

/// Fails the test unless the frame equals the picture, sample by sample, on any device.
void expect_picture(const Frame& frame, const fake::Picture& picture);

/// A decoder of the fake GPU.
std::unique_ptr<Decoder> fake_decoder(const fake::Picture& picture, DecoderOptions options = {},
                                      const std::string& codec = "vp9");

/// Cleans up: no session, no parser, no mapped surface, no pending failure.
class FakeNvdec : public GpuTest {
protected:
  void SetUp() override { forget_sessions(); }
  void TearDown() override {
    GpuTest::TearDown();
    fake_nvcuvid_fail(0, 0);
    EXPECT_EQ(fake_nvcuvid_mapped(), 0);
    EXPECT_EQ(fake_nvcuvid_parsers(), 0);
    forget_sessions();
    EXPECT_EQ(fake_nvcuvid_sessions(), 0);
    EXPECT_EQ(fake_cuda_contexts(), 0);
  }
  static void forget_sessions() {
    const cuda::Gpu& gpu = cuda::Gpu::get(gpu_device);
    const cuda::Current current(gpu);
    nvdec::SessionCache::of(gpu)->clear();
  }
};

} // namespace lanner::test
