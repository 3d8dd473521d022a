// Plans with values stored within others. For lowering of concatenations see
// tests/lowering/cases/lower_joins.ir.

#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "expect_error.h"
#include "graph/parsed.h"
#include "run/step_count.h"

namespace lanner::test {
namespace {

constexpr const char* reference = "tactic(\"reference\", \"reference\", _, 0.0)";

std::size_t steps(const std::string& body) {
  return step_count(
      parsed("graph @g(%x: f32[1, 4, 4, 4], %z: f32[1, 8, 4, 4]) -> (%y: f32[1, 12, 4, 4] as \"y\") {\n" +
             body + "}"));
}

/// Two parts with these storages, joined by a node with this tactic, and read.
std::string joined(const std::string& a, const std::string& b,
                   const std::string& tactic = "tactic(\"alias\", \"alias\", _, 0.0)") {
  return fmt::format("  %a: f32[1, 4, 4, 4] {0} = relu(%x) {3}\n"
                     "  %b: f32[1, 8, 4, 4] {1} = relu(%z) {3}\n"
                     "  %c: f32[1, 12, 4, 4] = concat(%a, %b) {{axis = 1}} {2}\n"
                     "  %y: f32[1, 12, 4, 4] = neg(%c) {3}\n",
                     a, b, tactic, reference);
}

TEST(Joins, CostNoStep) {
  EXPECT_EQ(steps(joined("@ row in=%c", "@ row in=%c+256")), 3U);
}

TEST(Joins, RequirePartsAtTheirOffsetInTheResult) {
  for (const char* b : {"@ row in=%c", "@ row in=%c+255", "@ row in=%c+192", ""})
    LANNER_EXPECT_ERROR(steps(joined("@ row in=%c", b)), ErrorCode::bad_data,
                        "input 1 is not stored at its part of the result");
  LANNER_EXPECT_ERROR(steps(joined("", "")), ErrorCode::bad_data, "input 0 is not stored at its part");
  LANNER_EXPECT_ERROR(steps(joined("@ acdb in=%c", "@ row in=%c+256")), ErrorCode::bad_data,
                      "is not stored at its part");
}

TEST(Joins, RequireAConcatenation) {
  LANNER_EXPECT_ERROR(steps(joined("@ row in=%c", "@ row in=%c+256", reference)), ErrorCode::bad_data,
                      "value a is stored in c, which is not a concatenation of it");
  LANNER_EXPECT_ERROR(steps(joined("@ row in=%b", "@ row in=%c+256")), ErrorCode::bad_data,
                      "value a is stored in b, which is not a concatenation of it");
}

/// A value that no kernel writes cannot be placed elsewhere.
TEST(Joins, RequirePartsWrittenByKernels) {
  const std::string view =
      "  %r: f32[1, 4, 4, 4] = relu(%x) " + std::string(reference) +
      "\n  %n: i64[4] = constant() {value = i64[4](1, 4, 4, 4)}\n"
      "  %a: f32[1, 4, 4, 4] @ row in=%c = reshape(%r, %n) tactic(\"alias\", \"alias\", _, "
      "0.0)\n";
  const std::string whole = joined("@ row in=%c", "@ row in=%c+256");
  LANNER_EXPECT_ERROR(steps(view + whole.substr(whole.find('\n') + 1)), ErrorCode::bad_data,
                      "value a is stored in c, which is not a concatenation of it");
}

/// Only kernels that support it may read and write parts of larger values.
TEST(Joins, RequireKernelsThatSupportStrides) {
  LANNER_EXPECT_ERROR(steps(joined("@ row within=1:12 in=%c", "@ row in=%c+256")), ErrorCode::unsupported,
                      "node relu %a: no backend here offers kernel reference:reference");
}

/// With two images each part has two slices.
TEST(Joins, RequireTheStridesOfTheResult) {
  const auto moved = [](const std::string& a, const std::string& b) {
    const std::string movement = "tactic(\"cpu\", \"movement\", _, 0.0)";
    return step_count(parsed(fmt::format(
        "graph @g(%x: f32[2, 4, 4, 4], %z: f32[2, 8, 4, 4]) -> (%y: f32[2, 12, 4, 4] as \"y\") {{\n"
        "  %a: f32[2, 4, 4, 4] {0} = reorder(%x) {2}\n"
        "  %b: f32[2, 8, 4, 4] {1} = reorder(%z) {2}\n"
        "  %y: f32[2, 12, 4, 4] = concat(%a, %b) {{axis = 1}} tactic(\"alias\", \"alias\", _, "
        "0.0)\n}}",
        a, b, movement)));
  };
  const std::string a = "@ row within=1:12 in=%y", b = "@ row within=1:12 in=%y+256";
  EXPECT_EQ(moved(a, b), 2U);
  for (const char* other : {"@ row within=1:12 in=%y+128", "@ row within=1:12 in=%y"})
    LANNER_EXPECT_ERROR(moved(a, other), ErrorCode::bad_data, "input 1 is not stored at its part");
  LANNER_EXPECT_ERROR(moved(a, "@ row in=%y+256"), ErrorCode::bad_data, "is not stored at its part");
  LANNER_EXPECT_ERROR(moved("@ row within=1:8 in=%y", b), ErrorCode::bad_data,
                      "input 0 is not stored at its part");
  LANNER_EXPECT_ERROR(moved("@ row within=2:12 in=%y", b), ErrorCode::bad_data,
                      "input 0 is not stored at its part");
  LANNER_EXPECT_ERROR(moved("@ acdb within=1:12 in=%y", b), ErrorCode::bad_data,
                      "input 0 is not stored at its part");
  LANNER_EXPECT_ERROR(moved("@ row within=1:12", b), ErrorCode::bad_data,
                      "input 0 is not stored at its part");
}

/// Values not written by kernels must be whole.
TEST(Joins, RejectInputsAndConstantsAsParts) {
  const auto program = [](const std::string& body) { return step_count(parsed("graph @g" + body)); };
  LANNER_EXPECT_ERROR(
      program("(%x: f32[2, 4] @ row within=1:8) -> (%y: f32[2, 4] as \"y\") {\n  %y: f32[2, 4] = relu(%x) " +
              std::string(reference) + "\n}"),
      ErrorCode::bad_data, "input x is part of a larger value");
  LANNER_EXPECT_ERROR(
      program(
          "(%x: f32[2, 4]) -> (%y: f32[2, 4] as \"y\") {\n"
          "  %c: f32[2, 4] @ row within=1:8 = constant() {value = random(f32[2, 4], seed = 1, std = 1.0)}\n"
          "  %y: f32[2, 4] = add(%x, %c) " +
          std::string(reference) + "\n}"),
      ErrorCode::bad_data, "constant c is part of a larger value");
}

/// An output's memory has the size of the part only.
TEST(Joins, RejectOutputsOfTheGraphAsParts) {
  auto graph = parsed("graph @g(%x: f32[1, 4, 4, 4], %z: f32[1, 8, 4, 4]) -> (%a: f32[1, 4, 4, 4] as "
                      "\"a\", %y: f32[1, 12, 4, 4] as \"y\") {\n" +
                      joined("@ row in=%c", "@ row in=%c+256") + "}");
  LANNER_EXPECT_ERROR(step_count(std::move(graph)), ErrorCode::bad_data,
                      "output a is not in the storage that the caller asked for");
}

} // namespace
} // namespace lanner::test
