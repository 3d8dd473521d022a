// One clip through a network on the fake GPU: all decoding engines are used, and runs are queued without
// waiting.

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <lanner/muxer.h>
#include <lanner/pipeline.h>
#include <lanner/source.h>

#include "device/cuda/code.h"
#include "engine/small_models.h"
#include "engine/state.h"
#include "expect_error.h"
#include "fake_libraries/nvdec_clip.h"
#include "importers/onnx_file.h"
#include "temporary_folder.h"
#include "text_parts.h"
#include "video/clips.h"
#include "video/read/decode_ahead.h"

namespace lanner::test {
namespace {

constexpr int frames_of_clip = 600, gop = 10;

class NvdecPipeline : public FakeNvdec {
protected:
  void SetUp() override {
    FakeNvdec::SetUp();
    LANNER_NEEDS_FFMPEG();
  }

  /// VP9's first byte, followed by the fake parser's data.
  static Packet packet(int number) {
    fake::Picture picture;
    picture.key = number % gop == 0;
    picture.seed = static_cast<std::uint8_t>(number % 251);
    auto bytes = std::make_shared<std::vector<std::byte>>(picture.bytes());
    bytes->insert(bytes->begin(), std::byte(picture.key ? 0x82 : 0x86));
    Packet packet = packet_of(picture, number);
    packet.bytes = *bytes;
    packet.owner = bytes;
    return packet;
  }
  static fake::Picture picture(std::int64_t number) {
    fake::Picture picture;
    picture.seed = static_cast<std::uint8_t>(number % 251);
    return picture;
  }
  std::filesystem::path clip(int frames = frames_of_clip) const {
    const auto path = folder_.path() / ("clip" + std::to_string(frames) + ".mkv");
    const auto muxer = create_muxer(path.string());
    const int stream = muxer->add_stream(stream_of(fake::Picture()));
    for (int i = 0; i < frames; ++i) {
      Packet one = packet(i);
      one.stream = stream;
      muxer->write(one);
    }
    muxer->finish();
    return path;
  }
  static VideoReader reader(const std::filesystem::path& path) {
    VideoReaderOptions options;
    options.decoder.device.reset();
    options.decoder.gpu = gpu_device;
    options.cache_index = false;
    return VideoReader(open_path(path), options);
  }
  TemporaryFolder folder_;
};

TEST_F(NvdecPipeline, a_reader_with_read_ahead_gives_the_same_frames_on_all_engines) {
  const auto path = clip();
  VideoReader ahead = reader(path);
  EXPECT_TRUE(ahead.decoder_reason().starts_with("auto: cuda:0 decodes vp9")) << ahead.decoder_reason();
  decode_ahead(ahead, 1);
  const long made = fake_nvcuvid_sessions_made();
  for (int i = 0; i < frames_of_clip; ++i) {
    const auto frame = ahead.next();
    ASSERT_TRUE(frame) << i;
    EXPECT_EQ(frame->index, i);
    EXPECT_EQ(frame->image.device, gpu_device);
    expect_picture(*frame, picture(i));
  }
  EXPECT_FALSE(ahead.next());
  EXPECT_GT(fake_nvcuvid_sessions_made() - made, 1);
}

/// Pictures as the network's input, channels last.
Engine engine_on(Device device, int batch) {
  using namespace onnx_file;
  const std::string file = model(
      graph({.nodes = {node(
                 {"Transpose", {"x"}, {"y"}, {attribute("perm", std::vector<std::int64_t>{0, 2, 3, 1})}})},
             .inputs = {value("x", f32, {"N", "3", "12", "16"})},
             .outputs = {value("y", f32, {"N", "12", "16", "3"})}}));
  BuildOptions options = plain_options(device);
  Preprocess spec = Preprocess::preset("imagenet");
  spec.width = 16, spec.height = 12, spec.fit = Fit::stretch;
  options.images["x"].preprocess = spec;
  options.shapes["x"] = {{1, 3, 12, 16}, {batch, 3, 12, 16}, {batch, 3, 12, 16}};
  return built(file, options);
}

Image on_host(const Image& there) {
  Image here = Image::allocate(there.format, there.width, there.height);
  copy_image(there, here);
  return here;
}

class NvdecPipelineRuns : public NvdecPipeline {
protected:
  void SetUp() override {
    NvdecPipeline::SetUp();
    if (!cuda::has_embedded("preprocess")) GTEST_SKIP() << "the library has no kernels for GPUs";
  }
  void TearDown() override {
    fake_cuda_defer(0);
    NvdecPipeline::TearDown();
  }

  /// Compares each frame's results with a CPU's on the same picture.
  static void expect_answers(Pipeline& pipeline, int frames) {
    const Engine host = engine_on({}, 1);
    Context context = host.create_context();
    for (int i = 0; i < frames; ++i) {
      const auto result = pipeline.next();
      ASSERT_TRUE(result) << i;
      ASSERT_EQ(result->frame.index, i);
      EXPECT_GE(result->infer_seconds, 0);
      const std::vector<Image> here{on_host(result->frame.image)};
      context.bind("x", here);
      context.run();
      const std::vector<float> want = numbers(context.output("y").tensor),
                               got = numbers(result->outputs.at("y").to(Device{}));
      ASSERT_EQ(got.size(), want.size());
      for (std::size_t n = 0; n < got.size(); ++n) ASSERT_NEAR(got[n], want[n], 1e-3) << i;
    }
    EXPECT_FALSE(pipeline.next());
  }
};

TEST_F(NvdecPipelineRuns, frames_get_their_own_results_in_any_execution_order) {
  constexpr int frames = 50;
  const auto path = clip(frames);
  for (const unsigned seed : {0u, 1u, 2u, 3u})
    for (const int batch : {1, 4, 7}) {
      SCOPED_TRACE(fmt::format("batch {}, order {}", batch, seed));
      const Engine engine = engine_on(gpu_device, batch);
      PipelineOptions options;
      options.batch = batch;
      fake_cuda_defer(seed);
      const bool kept = batch != 4;
      Pipeline pipeline(reader(path), engine, engine.create_context({0, false, kept}), options);
      expect_answers(pipeline, frames);
      EXPECT_EQ(state_of(engine).variants().list().size(), 1u);
    }
}

TEST_F(NvdecPipelineRuns, runs_are_queued_without_waiting_for_earlier_ones) {
  const auto path = clip(40);
  const Engine engine = engine_on(gpu_device, 4);
  for (int round = 0; round < 2; ++round) { // Tables for the pictures' size are uploaded once.
    PipelineOptions options;
    options.batch = 4;
    Pipeline pipeline(reader(path), engine, engine.create_context({0, false, true}), options);
    fake_cuda_forget();
    while (pipeline.next()) continue;
  }
  const std::string log = fake_cuda_log();
  EXPECT_EQ(count(log, "cuStreamSynchronize"), 0u) << log;
  EXPECT_GE(count(log, "cuEventSynchronize"), 10u); // One per batch, by the receiver.
}

TEST_F(NvdecPipelineRuns, several_clips_share_the_engines) {
  const auto path = clip(40);
  const Engine engine = engine_on(gpu_device, 4);
  const long made = fake_nvcuvid_sessions_made();
  PipelineOptions options;
  options.batch = 4;
  const OpenClip open = [&] { return reader(path); };
  Pipeline pipeline({open, open, open, open}, engine, engine.create_context(), options);
  std::vector<std::int64_t> next(4, 0);
  while (const auto result = pipeline.next()) {
    if (result->ended) {
      EXPECT_FALSE(result->error);
      continue;
    }
    EXPECT_EQ(result->frame.index, next[result->clip]++);
    expect_picture(result->frame, picture(result->frame.index));
  }
  EXPECT_EQ(next, std::vector<std::int64_t>(4, 40));
  EXPECT_LE(fake_nvcuvid_sessions_made() - made, 8 + 4); // Seven and one, and each reader's own.
}

TEST_F(NvdecPipelineRuns, a_range_takes_the_frames_that_it_takes_anywhere) {
  const auto path = clip();
  const Engine engine = engine_on(gpu_device, 8);
  const FrameRange ranges[] = {
      {.start = 12}, {.start = 3, .end = 4}, {.count = 13}, {.stride = 17}, {.rate = 5, .count = 9}};
  for (const FrameRange& range : ranges) {
    PipelineOptions options;
    options.batch = 8;
    options.range = range;
    Pipeline pipeline(reader(path), engine, engine.create_context(), options);
    const std::int64_t first = static_cast<std::int64_t>(range.start * 25);
    std::vector<std::int64_t> want;
    for (std::int64_t i = first; i < frames_of_clip; ++i) {
      const double seconds = static_cast<double>(i) / 25;
      const bool chosen = range.rate > 0 ? i % 5 == 0 : (i - first) % range.stride == 0;
      if (seconds < range.end && chosen && (range.count < 0 || std::ssize(want) < range.count))
        want.push_back(i);
    }
    std::vector<std::int64_t> got;
    while (const auto result = pipeline.next()) {
      got.push_back(result->frame.index);
      expect_picture(result->frame, picture(result->frame.index));
    }
    EXPECT_EQ(got, want) << range.start << ' ' << range.stride;
  }
}

TEST_F(NvdecPipelineRuns, can_be_destroyed_while_runs_are_queued) {
  const auto path = clip(60);
  const Engine engine = engine_on(gpu_device, 4);
  for (const int taken : {0, 1, 4, 9, 30}) {
    fake_cuda_defer(5);
    PipelineOptions options;
    options.batch = 4;
    Pipeline pipeline(reader(path), engine, engine.create_context({0, false, true}), options);
    for (int i = 0; i < taken; ++i) ASSERT_TRUE(pipeline.next());
  }
}

TEST_F(NvdecPipelineRuns, a_gpu_failure_is_reported_by_every_later_call) {
  const auto path = clip(30);
  const Engine engine = engine_on(gpu_device, 4);
  int failed = 0;
  for (std::size_t number = 1; number < 2000; number += 37) {
    PipelineOptions options;
    options.batch = 4;
    Pipeline pipeline(reader(path), engine, engine.create_context(), options);
    ASSERT_TRUE(pipeline.next());
    fake_cuda_fail(number, launch_failed);
    try {
      while (pipeline.next()) continue;
    } catch (const Error& error) {
      ++failed;
      LANNER_EXPECT_ERROR(pipeline.next(), error.code(), error.message());
    }
    fake_cuda_fail(0, 0);
    forget_sessions();
  }
  EXPECT_GT(failed, 0);
}

} // namespace
} // namespace lanner::test
