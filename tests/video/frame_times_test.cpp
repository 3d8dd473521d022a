// Times of frames that their container gives none for.

#include "video/index/frame_times.h"

#include "temporary_folder.h"
#include "video/clips.h"

namespace lanner {
namespace {

using Times = std::vector<std::int64_t>;
constexpr std::int64_t none = no_pts;

StreamIndex index_of(const Times& pts, const Times& durations = {}) {
  StreamIndex index;
  index.time_base = {1, 25};
  for (std::size_t i = 0; i < pts.size(); ++i)
    index.frames.push_back({pts[i], i < durations.size() ? durations[i] : 0});
  return index;
}

TEST(FrameTimesOfIndex, WhatTheContainerSaysStays) {
  EXPECT_EQ(shown_times(index_of({5, 6, 9})), (Times{5, 6, 9}));
  EXPECT_EQ(shown_times(index_of({5, 6, 9}, {2, 2, 2})), (Times{5, 6, 9}))
      << "begins are not put in question";
  EXPECT_EQ(shown_times(index_of({-3})), (Times{-3}));
}

TEST(FrameTimesOfIndex, BeginComesFromTheDuration) {
  EXPECT_EQ(shown_times(index_of({none, 2, 3, 4}, {1, 1, 1, 1})), (Times{1, 2, 3, 4}));
  EXPECT_EQ(shown_times(index_of({none, none, 40, 50}, {7, 3, 10, 10})), (Times{30, 37, 40, 50}));
}

TEST(FrameTimesOfIndex, BeginComesFromTheDistanceOfFrames) {
  EXPECT_EQ(shown_times(index_of({none, 20, 30, 40})), (Times{10, 20, 30, 40}));
  EXPECT_EQ(shown_times(index_of({none, 20, 30, 40}, {0, 5, 5, 5})), (Times{15, 20, 30, 40}))
      << "all durations that are given are the same";
}

TEST(FrameTimesOfIndex, EndsGoOn) {
  EXPECT_EQ(shown_times(index_of({0, 10, none, none}, {10, 10, 10, 10})), (Times{0, 10, 20, 30}));
  EXPECT_EQ(shown_times(index_of({0, 10, none})), (Times{0, 10, 20}));
}

TEST(FrameTimesOfIndex, GapsAreFilled) {
  EXPECT_EQ(shown_times(index_of({0, none, 20, none, none, 50}, Times(6, 10))),
            (Times{0, 10, 20, 30, 40, 50}));
  EXPECT_EQ(shown_times(index_of({0, none, 30}, {10, 20, 5})), (Times{0, 10, 30}));
  EXPECT_EQ(shown_times(index_of({0, none, none, 30})), (Times{0, 10, 20, 30})) << "equal parts";
}

TEST(FrameTimesOfIndex, NothingWhereThereIsNoOneAnswer) {
  EXPECT_TRUE(shown_times(index_of({})).empty());
  EXPECT_TRUE(shown_times(index_of({none, none}, {1, 1})).empty()) << "no time at all";
  EXPECT_TRUE(shown_times(index_of({none, 7})).empty()) << "how long the first one lasts is not known";
  EXPECT_TRUE(shown_times(index_of({none, 10, 20, 35})).empty()) << "distances vary";
  EXPECT_TRUE(shown_times(index_of({none, 10, 20}, {0, 10, 12})).empty()) << "durations vary";
  EXPECT_TRUE(shown_times(index_of({0, none, 20}, {10, 11, 10})).empty()) << "durations do not fill the gap";
  EXPECT_TRUE(shown_times(index_of({0, none, none, 20})).empty()) << "no equal parts";
}

// One packet that is wrong takes the others nothing.
TEST(FrameTimesOfIndex, WhatFallsIsSpread) {
  EXPECT_EQ(shown_times(index_of({3, 3}, {1, 1})), (Times{3, 3}));
  EXPECT_EQ(shown_times(index_of({0, 10, 5, 30, 40}, Times(5, 10))), (Times{0, 10, 20, 30, 40}));
  EXPECT_EQ(shown_times(index_of({0, 10, 900, 30, 40}, Times(5, 10))), (Times{0, 10, 20, 30, 40}));
  EXPECT_EQ(shown_times(index_of({99, 10, 20, 30, 7}, Times(5, 10))), (Times{0, 10, 20, 30, 40}));
  EXPECT_EQ(shown_times(index_of({58982400, 0, 117964800})), (Times{58982400, 88473600, 117964800}));
  EXPECT_EQ(shown_times(index_of({0, none, 20, 3, 40}, Times(5, 10))), (Times{0, 10, 20, 30, 40}));
  EXPECT_EQ(shown_times(index_of({0, 10, 20, 0, 10}, Times(5, 10))), (Times{0, 10, 20, 30, 40}))
      << "a clock that begins anew goes on";
  EXPECT_TRUE(shown_times(index_of({0, none, 0}, {1, 1, 1})).empty());
}

// AVI gives the frames of MPEG-4 that others refer to no time; the first has none before it to go on from.
TEST(FrameTimesOfIndex, OfMpeg4InAvi) {
  LANNER_NEEDS_FFMPEG();
  const TemporaryFolder folder;
  EncoderOptions options;
  options.codec = "mpeg4";
  options.bit_rate = 400'000;
  const auto path = test::make_clip(folder / "a.avi", 30, options);
  const auto index = build_index(open_path(path), {{}, -1, false});
  ASSERT_EQ(index->frames.size(), 30u);
  EXPECT_EQ(index->frames[0].pts, index->frames[1].pts - 1) << "by its duration: the container says nothing";
  const Times times = shown_times(*index);
  ASSERT_EQ(times.size(), 30u);
  for (std::size_t i = 1; i < times.size(); ++i) EXPECT_EQ(times[i], times[i - 1] + 1) << i;
  EXPECT_EQ(times[1], index->frames[1].pts);
}

TEST(FrameTimesOfIndex, NumbersAtTheirLimits) {
  EXPECT_TRUE(shown_times(index_of({INT64_MAX - 1, none}, {5, 5})).empty());
  EXPECT_TRUE(shown_times(index_of({none, INT64_MIN + 2}, {5, 5})).empty());
  EXPECT_TRUE(shown_times(index_of({none, INT64_MIN + 5}, {5, 5})).empty()) << "that is no time";
  EXPECT_TRUE(shown_times(index_of({INT64_MIN + 1, none, INT64_MAX}, {5, 5, 5})).empty());
  EXPECT_TRUE(shown_times(index_of({0, none, none, 9}, {INT64_MAX, INT64_MAX, 1})).empty());
}

} // namespace
} // namespace lanner
