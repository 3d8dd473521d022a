// Clips through a network: frames with their answers in order, also for damaged clips and callers that stop
// early.

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <lanner/pipeline.h>
#include <lanner/source.h>

#include "engine/state.h"
#include "expect_error.h"
#include "importers/onnx_file.h"
#include "temporary_folder.h"
#include "video/clips.h"

namespace lanner {
namespace {

constexpr int frames_of_clip = 40;

class ClipPipeline : public testing::Test {
protected:
  void SetUp() override { LANNER_NEEDS_FFMPEG(); }

  std::filesystem::path clip() const { return test::make_clip(folder_ / "clip.mp4", frames_of_clip); }
  /// A clip with damaged bytes in its last frames.
  std::filesystem::path damaged_clip() const {
    const std::filesystem::path path = clip();
    std::string bytes = test::bytes_of(path);
    const std::size_t pictures = bytes.find("mdat");
    for (std::size_t i = pictures + (bytes.size() - pictures) / 2, n = 0; n < 400 && i < bytes.size();
         ++i, ++n)
      bytes[i] = static_cast<char>(0x5a ^ n);
    const std::filesystem::path damaged = folder_ / "damaged.mp4";
    std::ofstream(damaged, std::ios::binary) << bytes;
    return damaged;
  }
  static VideoReader reader(const std::filesystem::path& path) {
    VideoReaderOptions options;
    options.decoder.raise_on_error = true;
    return VideoReader(open_path(path), options);
  }

  /// The mean of each channel of each picture.
  static Engine means(bool of_pictures = false, int batch = 0) {
    using namespace test::onnx_file;
    static const std::string bytes = model(graph({.nodes = {node({"GlobalAveragePool", {"x"}, {"y"}})},
                                                  .inputs = {value("x", f32, {"n", "3", "64", "96"})},
                                                  .outputs = {value("y", f32, {"n", "3", "1", "1"})}}));
    BuildOptions options;
    options.budget = 0;
    if (of_pictures) options.images["x"].preprocess = Preprocess::preset("none");
    if (batch > 0) options.shapes["x"] = {{1, 3, 64, 96}, {batch, 3, 64, 96}, {batch, 3, 64, 96}};
    return Engine::build(open_bytes(std::as_bytes(std::span(bytes)), nullptr, "means.onnx"), options);
  }
  static PipelineOptions batches_of(int batch) {
    PipelineOptions options;
    options.preprocess = Preprocess::preset("none");
    options.batch = batch;
    return options;
  }
  static Pipeline pipeline(const std::filesystem::path& path, const PipelineOptions& options,
                           bool of_pictures = false) {
    const Engine engine = means(of_pictures);
    return Pipeline(reader(path), engine, engine.create_context(), options);
  }
  static std::vector<float> mean_of(const Frame& frame) {
    const Tensor input = to_tensor(frame.image, Preprocess::preset("none"));
    Context context = means().create_context();
    const Tensor y = context({{"x", input}}).at("y").tensor;
    return {y.as<float>().begin(), y.as<float>().end()};
  }
  /// Number of frames before the end or an error.
  template<typename Next>
  static int frames_before_end(Next next) {
    int count = 0;
    try {
      while (next()) ++count;
    } catch (const Error&) {
    }
    return count;
  }
  TemporaryFolder folder_;
};

TEST_F(ClipPipeline, ReturnsEveryFrameWithItsAnswersInOrder) {
  const std::filesystem::path path = clip();
  const std::pair<int, bool> runs[] = {{1, false}, {3, false}, {frames_of_clip + 1, false}, {3, true}};
  for (const auto& [batch, of_pictures] : runs) {
    Pipeline results = pipeline(path, batches_of(batch), of_pictures);
    VideoReader alone = reader(path);
    for (int n = 0; n < frames_of_clip; ++n) {
      const auto result = results.next();
      ASSERT_TRUE(result.has_value()) << n;
      EXPECT_EQ(result->frame.index, n);
      const std::span<const float> y = result->outputs.at("y").as<float>();
      const std::vector<float> expected = mean_of(*alone.next());
      for (std::size_t c = 0; c < 3; ++c) EXPECT_NEAR(y[c], expected[c], 1e-3) << n << ", batch " << batch;
    }
    EXPECT_FALSE(results.next().has_value());
    EXPECT_FALSE(results.next().has_value());
  }
}

TEST_F(ClipPipeline, LastRunHasTheFullBatchSize) {
  static_assert(frames_of_clip % 3 == 1);
  Pipeline results = pipeline(clip(), batches_of(3));
  int frames = 0;
  for (; const auto result = results.next(); ++frames) EXPECT_EQ(result->outputs.at("y").shape()[0], 1);
  EXPECT_EQ(frames, frames_of_clip);
  EXPECT_EQ(results.context().output("y").tensor.shape()[0], 3);
  // also a clip shorter than a batch
  Pipeline whole = pipeline(clip(), batches_of(frames_of_clip + 1));
  for (frames = 0; const auto result = whole.next(); ++frames)
    EXPECT_EQ(result->outputs.at("y").shape()[0], 1);
  EXPECT_EQ(frames, frames_of_clip);
  EXPECT_EQ(whole.context().output("y").tensor.shape()[0], frames_of_clip + 1);
}

TEST_F(ClipPipeline, NoVariantIsMadeDuringARun) {
  for (const bool of_pictures : {false, true})
    for (const int batch : {1, 3, 7, frames_of_clip, frames_of_clip + 5}) {
      const Engine engine = means(of_pictures, batch);
      const std::size_t made = state_of(engine).variants().list().size();
      Pipeline results(reader(clip()), engine, engine.create_context(), batches_of(batch));
      while (results.next()) continue;
      EXPECT_EQ(state_of(engine).variants().list().size(), made) << batch;
      EXPECT_EQ(made, 1u);
    }
}

TEST_F(ClipPipeline, OutputsWithoutABatchAxisAreReturnedWhole) {
  using namespace test::onnx_file;
  const std::string bytes =
      model(graph({.nodes = {node({"ReduceMean", {"x"}, {"y"}, {attribute("keepdims", 0)}})},
                   .inputs = {value("x", f32, {"n", "3", "64", "96"})},
                   .outputs = {value("y", f32, {})}}));
  BuildOptions options;
  options.budget = 0;
  const Engine engine =
      Engine::build(open_bytes(std::as_bytes(std::span(bytes)), nullptr, "mean.onnx"), options);
  const auto last_mean = [&](int batch) {
    Pipeline results(reader(clip()), engine, engine.create_context(), batches_of(batch));
    float mean = 0;
    int frames = 0;
    for (; const auto result = results.next(); ++frames) mean = result->outputs.at("y").as<float>()[0];
    EXPECT_EQ(frames, frames_of_clip);
    return mean;
  };
  // 40 = 13 x 3 + 1: repeated frames that fill the last batch do not count.
  VideoReader alone = reader(clip());
  double sum = 0, last = 0;
  while (const auto frame = alone.next()) {
    const std::vector<float> mean = mean_of(*frame);
    sum += last = (mean[0] + mean[1] + mean[2]) / 3;
  }
  EXPECT_NEAR(last_mean(3), last, 1e-2);
  EXPECT_NEAR(last_mean(frames_of_clip + 7), sum / frames_of_clip, 1e-2);
}

TEST_F(ClipPipeline, AnswersKeptByTheCallerAreNotOverwritten) {
  Pipeline results = pipeline(clip(), batches_of(2));
  std::vector<PipelineResult> kept;
  while (auto result = results.next()) kept.push_back(std::move(*result));
  ASSERT_EQ(kept.size(), static_cast<std::size_t>(frames_of_clip));
  for (const PipelineResult& result : kept)
    EXPECT_NEAR(result.outputs.at("y").as<float>()[0], mean_of(result.frame)[0], 1e-3) << result.frame.index;
}

TEST_F(ClipPipeline, DamageIsReportedAfterTheFramesBeforeIt) {
  const std::filesystem::path path = damaged_clip();
  VideoReader alone = reader(path);
  const int expected = frames_before_end([&] { return alone.next().has_value(); });
  ASSERT_GT(expected, 0);
  ASSERT_LT(expected, frames_of_clip);
  Pipeline results = pipeline(path, batches_of(1));
  EXPECT_EQ(frames_before_end([&] { return results.next().has_value(); }), expected);
  LANNER_EXPECT_ERROR(results.next(), ErrorCode::bad_data, "decode");
}

TEST_F(ClipPipeline, CanBeDestroyedOrCancelledAtAnyTime) {
  const std::filesystem::path path = clip();
  for (const int taken : {0, 1, 7}) {
    Pipeline results = pipeline(path, batches_of(1));
    for (int n = 0; n < taken; ++n) ASSERT_TRUE(results.next().has_value());
  }
  PipelineOptions options = batches_of(1);
  options.cancel = CancelToken::create();
  Pipeline results = pipeline(path, options);
  ASSERT_TRUE(results.next().has_value());
  options.cancel.cancel();
  LANNER_EXPECT_ERROR(results.next(), ErrorCode::cancelled, "");
}

} // namespace
} // namespace lanner
