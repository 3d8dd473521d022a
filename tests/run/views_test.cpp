// Plans with slices and splits as views. For lowering of them see tests/lowering/cases/lower_parts.ir.

#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "expect_error.h"
#include "graph/parsed.h"
#include "run/step_count.h"

namespace lanner::test {
namespace {

constexpr const char* reference = "tactic(\"reference\", \"reference\", _, 0.0)";
constexpr const char* view = "tactic(\"alias\", \"alias\", _, 0.0)";

std::size_t steps(const std::string& body, const std::string& output = "%y: f32[1, 4, 4, 4]") {
  return step_count(
      parsed(fmt::format("graph @g(%x: f32[1, 8, 4, 4]) -> ({} as \"y\") {{\n{}}}", output, body)));
}

/// Half of %r from `from` on, in this storage, and read.
std::string sliced(const std::string& storage, int from, int axis, int step = 1) {
  return fmt::format("  %r: f32[1, 8, 4, 4] {0} = relu(%x) {1}\n"
                     "  %from: i64[1] = constant() {{value = i64[1]({2})}}\n"
                     "  %to: i64[1] = constant() {{value = i64[1]({3})}}\n"
                     "  %axes: i64[1] = constant() {{value = i64[1]({4})}}\n"
                     "  %steps: i64[1] = constant() {{value = i64[1]({5})}}\n"
                     "  %s: f32[1, 4, 4, 4] {0} = slice(%r, %from, %to, %axes, %steps) {6}\n"
                     "  %y: f32[1, 4, 4, 4] {0} = neg(%s) {1}\n",
                     storage, reference, from, from + 4 * step, axis, step, view);
}

TEST(PartViews, CostNoStep) {
  EXPECT_EQ(steps(sliced("", 4, 1)), 2U);
  EXPECT_EQ(steps(sliced("", 1, 1)), 2U); // 64 bytes on
  EXPECT_EQ(steps(fmt::format("  %r: f32[1, 8, 4, 4] = relu(%x) {0}\n"
                              "  %a: f32[1, 4, 4, 4], %b: f32[1, 4, 4, 4] = split(%r) {{axis = 1}} {1}\n"
                              "  %y: f32[1, 4, 4, 4] = mul(%a, %b) {0}\n",
                              reference, view)),
            2U);
}

TEST(PartViews, AreContiguousSlicesOfMemory) {
  LANNER_EXPECT_ERROR(steps(sliced("", 7, 1, -1)), ErrorCode::bad_data, "not slices of its input's memory");
  const std::string columns =
      fmt::format("  %r: f32[1, 8, 4, 4] = relu(%x) {0}\n"
                  "  %a: f32[1, 8, 2, 4], %b: f32[1, 8, 2, 4] = split(%r) {{axis = 2}} {1}\n"
                  "  %y: f32[1, 8, 2, 4] = mul(%a, %b) {0}\n",
                  reference, view);
  LANNER_EXPECT_ERROR(steps(columns, "%y: f32[1, 8, 2, 4]"), ErrorCode::bad_data,
                      "not slices of its input's memory");
}

/// Columns have many slices, which kernels with stride support read in place.
TEST(PartViews, MayHaveSeveralSlices) {
  const auto columns = [](const std::string& a, const std::string& b) {
    const std::string movement = "tactic(\"cpu\", \"movement\", _, 0.0)";
    return fmt::format("  %r: f32[1, 8, 4, 4] = relu(%x) {2}\n"
                       "  %a: f32[1, 4, 4, 4] {0}, %b: f32[1, 4, 4, 4] {1} = split(%r) {{axis = 1}} {3}\n"
                       "  %c: f32[1, 4, 4, 4] = reorder(%a) {4}\n"
                       "  %y: f32[1, 4, 4, 4] = reorder(%b) {4}\n",
                       a, b, reference, view, movement);
  };
  EXPECT_EQ(steps(columns("@ row within=1:8", "@ row within=1:8")), 3U);
  for (const char* other : {"@ row within=1:7", "@ row within=2:8", "@ acdb within=1:8"})
    LANNER_EXPECT_ERROR(steps(columns("@ row within=1:8", other)), ErrorCode::bad_data,
                        "not slices of its input's memory");
}

/// The parent's memory is larger than the output's.
TEST(PartViews, RejectOutputsOfTheGraph) {
  const std::string body =
      fmt::format("  %r: f32[1, 8, 4, 4] = relu(%x) {0}\n"
                  "  %y: f32[1, 4, 4, 4], %b: f32[1, 4, 4, 4] = split(%r) {{axis = 1}} {1}\n",
                  reference, view);
  LANNER_EXPECT_ERROR(steps(body), ErrorCode::bad_data,
                      "output y is not in the storage that the caller asked for");
}

} // namespace
} // namespace lanner::test
