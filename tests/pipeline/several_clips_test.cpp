// Several clips through one network, and parts of clips.

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <lanner/pipeline.h>
#include <lanner/source.h>

#include "expect_error.h"
#include "importers/onnx_file.h"
#include "temporary_folder.h"
#include "video/clips.h"

namespace lanner {
namespace {

class SeveralClips : public testing::Test {
protected:
  void SetUp() override { LANNER_NEEDS_FFMPEG(); }

  std::filesystem::path clip(const std::string& name, int frames) const {
    EncoderOptions options;
    options.rate = {10, 1};
    return test::make_clip(folder_ / name, frames, options);
  }
  static OpenClip opener(const std::filesystem::path& path) {
    return [path] { return VideoReader(open_path(path)); };
  }
  /// The mean of each channel of each picture.
  static Engine means() {
    using namespace test::onnx_file;
    static const std::string bytes = model(graph({.nodes = {node({"GlobalAveragePool", {"x"}, {"y"}})},
                                                  .inputs = {value("x", f32, {"n", "3", "64", "96"})},
                                                  .outputs = {value("y", f32, {"n", "3", "1", "1"})}}));
    BuildOptions options;
    options.budget = 0;
    return Engine::build(open_bytes(std::as_bytes(std::span(bytes)), nullptr, "means.onnx"), options);
  }
  static PipelineOptions batches_of(int batch, int side_by_side = 0) {
    PipelineOptions options;
    options.preprocess = Preprocess::preset("none");
    options.batch = batch;
    options.side_by_side = side_by_side;
    return options;
  }
  static Pipeline pipeline(std::vector<OpenClip> clips, const PipelineOptions& options) {
    const Engine engine = means();
    return Pipeline(std::move(clips), engine, engine.create_context(), options);
  }
  /// `0:3` for frame 3 of clip 0, `0:end`, `1:error`.
  static std::vector<std::string> told(Pipeline results) {
    std::vector<std::string> texts;
    while (const auto result = results.next())
      texts.push_back(std::to_string(result->clip) + ":" +
                      (result->error   ? "error"
                       : result->ended ? "end"
                                       : std::to_string(result->frame.index)));
    return texts;
  }
  /// Indices of the frames in a range of a clip of 30 frames at 10 fps.
  std::vector<std::int64_t> taken(const FrameRange& range) const {
    PipelineOptions options = batches_of(4);
    options.range = range;
    const Engine engine = means();
    Pipeline results(VideoReader(open_path(clip("range.mkv", 30))), engine, engine.create_context(), options);
    std::vector<std::int64_t> numbers;
    while (const auto result = results.next()) numbers.push_back(result->frame.index);
    return numbers;
  }
  TemporaryFolder folder_;
};

using Texts = std::vector<std::string>;
using Numbers = std::vector<std::int64_t>;

TEST_F(SeveralClips, AlternateAndReportTheirEnds) {
  const std::vector<OpenClip> clips{opener(clip("a.mp4", 2)), opener(clip("b.mp4", 4)),
                                    opener(clip("c.mp4", 1))};
  const Texts in_turn{"0:0", "1:0", "0:1", "1:1", "0:end", "2:0", "1:2", "2:end", "1:3", "1:end"};
  EXPECT_EQ(told(pipeline(clips, batches_of(2))), in_turn);
  EXPECT_EQ(told(pipeline(clips, batches_of(7, 2))), in_turn);
  const Texts one_by_one{"0:0", "0:1", "0:end", "1:0", "1:1", "1:2", "1:3", "1:end", "2:0", "2:end"};
  EXPECT_EQ(told(pipeline(clips, batches_of(1))), one_by_one);
  EXPECT_EQ(told(pipeline(clips, batches_of(5, 1))), one_by_one);
  EXPECT_TRUE(told(pipeline({}, batches_of(2))).empty());
}

TEST_F(SeveralClips, HaveTheSameAnswersAsEachAlone) {
  const std::vector<std::filesystem::path> paths{clip("a.mp4", 9), clip("b.mp4", 5), clip("c.mp4", 7)};
  std::map<std::pair<std::size_t, std::int64_t>, float> alone;
  std::vector<OpenClip> openers;
  const Engine engine = means();
  for (std::size_t c = 0; c < paths.size(); ++c) {
    openers.push_back(opener(paths[c]));
    Pipeline results(VideoReader(open_path(paths[c])), engine, engine.create_context(), batches_of(1));
    while (const auto result = results.next())
      alone[{c, result->frame.index}] = result->outputs.at("y").as<float>()[0];
  }
  Pipeline results = pipeline(openers, batches_of(4));
  std::size_t count = 0;
  while (const auto result = results.next()) {
    if (result->ended) continue;
    const float expected = alone.at({result->clip, result->frame.index});
    EXPECT_NEAR(result->outputs.at("y").as<float>()[0], expected, 1e-3) << result->clip;
    ++count;
  }
  EXPECT_EQ(count, alone.size());
}

TEST_F(SeveralClips, OneThatFailsDoesNotEndTheOthers) {
  const std::filesystem::path noise = folder_ / "noise.mp4";
  folder_.write("noise.mp4", "noise");
  const std::vector<OpenClip> clips{opener(noise), opener(clip("a.mp4", 2)), opener(folder_ / "missing.mp4"),
                                    nullptr};
  const Texts expected{"0:error", "2:error", "3:error", "1:0", "1:1", "1:end"};
  EXPECT_EQ(told(pipeline(clips, batches_of(2))), expected);
  Pipeline results = pipeline({opener(noise)}, batches_of(1));
  const auto end = results.next();
  ASSERT_TRUE(end && end->ended && end->error);
  LANNER_EXPECT_ERROR(std::rethrow_exception(end->error), ErrorCode::bad_data, "noise.mp4");
  EXPECT_FALSE(results.next());
}

TEST_F(SeveralClips, CanBeDestroyedAtAnyTime) {
  const std::vector<OpenClip> clips{opener(clip("a.mp4", 20)), opener(clip("b.mp4", 20))};
  for (const int count : {0, 1, 9}) {
    Pipeline results = pipeline(clips, batches_of(3));
    for (int n = 0; n < count; ++n) ASSERT_TRUE(results.next());
  }
}

TEST_F(SeveralClips, InvalidOptionsAreRejected) {
  const std::vector<OpenClip> clips{opener(clip("a.mp4", 2))};
  LANNER_EXPECT_ERROR(pipeline(clips, batches_of(1, -1)), ErrorCode::invalid_argument, "side_by_side");
  LANNER_EXPECT_ERROR(taken({.start = -1}), ErrorCode::invalid_argument, "start");
  LANNER_EXPECT_ERROR(taken({.start = 2, .end = 1}), ErrorCode::invalid_argument, "the end at 1 s");
  LANNER_EXPECT_ERROR(taken({.rate = -1}), ErrorCode::invalid_argument, "rate");
  LANNER_EXPECT_ERROR(taken({.stride = 0}), ErrorCode::invalid_argument, "stride");
}

TEST_F(SeveralClips, RangeSelectsFramesOfAClip) {
  EXPECT_EQ(taken({.start = 2.75}), (Numbers{28, 29}));
  EXPECT_EQ(taken({.start = 0.3, .end = 0.6}), (Numbers{3, 4, 5}));
  EXPECT_EQ(taken({.rate = 2, .count = 4}), (Numbers{0, 5, 10, 15}));
  EXPECT_EQ(taken({.start = 0.25, .rate = 1}), (Numbers{3, 13, 23}));
  EXPECT_EQ(taken({.rate = 5, .stride = 6}), (Numbers{0, 12, 24}));
  EXPECT_EQ(taken({.stride = 16}), (Numbers{0, 16})); // looked up in the index
  EXPECT_EQ(taken({.count = 0}), Numbers{});
  EXPECT_EQ(taken({.start = 7}), Numbers{});
}

} // namespace
} // namespace lanner
