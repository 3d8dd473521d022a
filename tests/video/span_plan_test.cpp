// How a stream falls apart.

#include "video/index/span_plan.h"

#include <gtest/gtest.h>

namespace lanner {
namespace {

/// A packet by its time and how decoding may begin there.
PacketEntry packet(std::int64_t pts, EntryPoint start = EntryPoint::none) {
  PacketEntry entry;
  entry.pts = entry.dts = pts;
  entry.duration = 1;
  entry.start = start;
  return entry;
}

ContentPtr content(std::vector<PacketEntry> packets) {
  return content_of(*predicted_index(0, {1, 25}, std::move(packets), {}));
}

std::vector<std::pair<std::int64_t, std::int64_t>> spans(const SpanPlan& plan) {
  std::vector<std::pair<std::int64_t, std::int64_t>> result;
  for (std::size_t i = 0; i < plan.size(); ++i) result.emplace_back(plan[i].ordinal, plan[i].first);
  return result;
}
using Spans = std::vector<std::pair<std::int64_t, std::int64_t>>;

TEST(SpanPlan, ClosedGroups) {
  const auto index = content({packet(0, EntryPoint::clean), packet(2), packet(1),
                              packet(3, EntryPoint::clean), packet(5), packet(4)});
  const SpanPlan plan(*index);
  EXPECT_EQ(spans(plan), (Spans{{0, 0}, {3, 3}}));
  EXPECT_EQ(plan.span_of(2), 0u);
  EXPECT_EQ(plan.span_of(3), 1u);
  EXPECT_EQ(plan.end_of(0), 3);
  EXPECT_EQ(plan.end_of(1), 6);
}

TEST(SpanPlan, LeadingPicturesBelongToTheSpanBefore) {
  // I0 P3 B1 B2 | I6 B4 B5 P7: B4 and B5 need P3.
  const auto index = content({packet(0, EntryPoint::clean), packet(3), packet(1), packet(2),
                              packet(6, EntryPoint::open), packet(4), packet(5), packet(7)});
  const SpanPlan plan(*index);
  EXPECT_EQ(spans(plan), (Spans{{0, 0}, {4, 6}}));
  EXPECT_TRUE(plan[1].open);
  const auto jobs = jobs_for(*index, plan, {5, 6});
  ASSERT_EQ(jobs.size(), 2u);
  EXPECT_EQ(jobs[0].last, 6) << "frame 5 lies behind the next entry";
  EXPECT_EQ(jobs[1].last, 4);
}

TEST(SpanPlan, OpenEntryWithoutLeadingPictures) {
  const auto index = content({packet(0, EntryPoint::clean), packet(1), packet(2, EntryPoint::recovery)});
  const SpanPlan plan(*index);
  EXPECT_EQ(spans(plan), (Spans{{0, 0}, {2, 2}}));
  EXPECT_FALSE(plan[1].open);
}

TEST(SpanPlan, LeadingPicturesOfACleanEntryAreItsOwn) {
  // IDR with RADL: shown before it, decoded from it.
  const auto index =
      content({packet(0, EntryPoint::clean), packet(1), packet(4, EntryPoint::clean), packet(2), packet(3)});
  EXPECT_EQ(spans(SpanPlan(*index)), (Spans{{0, 0}, {2, 2}}));
}

TEST(SpanPlan, PlacesThatAreNotUsed) {
  PacketEntry delayed = packet(3, EntryPoint::open);
  delayed.delayed = true;
  // An inexact one, a delayed one, and one behind whose packets an earlier decoded frame is shown.
  const auto index = content({packet(0, EntryPoint::clean), packet(1, EntryPoint::inexact), packet(2),
                              delayed, packet(9), packet(5, EntryPoint::clean), packet(6)});
  EXPECT_EQ(spans(SpanPlan(*index)), (Spans{{0, 0}}));
}

TEST(SpanPlan, FramesThatNoPacketNames) {
  std::vector<PacketEntry> packets{packet(0, EntryPoint::clean), packet(1, EntryPoint::clean)};
  const auto index =
      content_of(*settled_index(0, {1, 25}, packets, {{0, 0, 1}, {0, 1, 1}}, DeviceKind::cpu, {}));
  EXPECT_FALSE(index->named);
  EXPECT_EQ(spans(SpanPlan(*index)), (Spans{{0, 0}}));
}

TEST(SpanPlan, JobsCoverEveryFrameOnce) {
  std::vector<PacketEntry> packets;
  for (int i = 0; i < 500; ++i)
    packets.push_back(packet(i, i % 10 == 0 ? EntryPoint::clean : EntryPoint::none));
  const auto index = content(packets);
  const SpanPlan plan(*index);
  EXPECT_EQ(plan.size(), 50u);
  std::int64_t next = 123;
  for (const SpanJob& job : jobs_from(*index, plan, 123)) {
    EXPECT_EQ(job.begin, next);
    EXPECT_LE(plan[job.span].first, job.begin);
    EXPECT_GE(job.last, job.end - 1);
    next = job.end;
  }
  EXPECT_EQ(next, 500);
  EXPECT_TRUE(jobs_from(*index, plan, 500).empty());
}

} // namespace
} // namespace lanner
