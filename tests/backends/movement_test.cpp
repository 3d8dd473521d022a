#include <gtest/gtest.h>

#include <fmt/format.h>

#include "backends/backends.h"
#include "backends/tactic_check.h"
#include "expect_error.h"

namespace lanner {
namespace {

struct MoveCase {
  std::string input, call, constants;
};
void PrintTo(const MoveCase& c, std::ostream* out) {
  *out << c.input << " -> " << c.call;
}

std::string integers(const char* name, std::vector<int> values) {
  std::string list;
  for (int value : values) list += (list.empty() ? "" : ", ") + std::to_string(value);
  return fmt::format("%{}: i64[{}] = constant() {{value = i64[{}]({})}}\n", name, values.size(),
                     values.size(), list);
}

class Moves : public testing::TestWithParam<MoveCase> {};

TEST_P(Moves, agree_with_the_reference) {
  const MoveCase& c = GetParam();
  for (const char* type : {"f32", "i64", "u8", "f16"}) {
    const auto ran =
        check_tactics(fmt::format("graph @g(%x: {0}{1}) -> (%y: {0}[*] as \"y\") {{\n{2}%y: {0}[*] = {3}\n}}",
                                  type, c.input, c.constants, c.call));
    EXPECT_TRUE(ran.contains("cpu/movement")) << type;
    EXPECT_TRUE(ran.contains("cpu/movement strided")) << type;
  }
}

const MoveCase cases[] = {
    {"[5, 7]", "transpose(%x)", ""},
    {"[2, 3, 20, 33]", "transpose(%x) {perm = [0, 2, 3, 1]}", ""},
    {"[2, 20, 33, 3]", "transpose(%x) {perm = [0, 3, 1, 2]}", ""},
    {"[2, 9, 12, 8]", "transpose(%x) {perm = [0, 2, 1, 3]}", ""},
    {"[3, 4, 5, 6]", "transpose(%x) {perm = [3, 1, 0, 2]}", ""},
    {"[200, 300]", "transpose(%x) {perm = [1, 0]}", ""},
    {"[2, 8, 9, 10]", "slice(%x, %s, %e, %a, %t)",
     integers("s", {1, -1, 3}) + integers("e", {7, -100, 100}) + integers("a", {1, 2, 3}) +
         integers("t", {2, -1, 3})},
    {"[10, 4]", "slice(%x, %s, %e)", integers("s", {2}) + integers("e", {8})},
    {"[1, 5, 6, 7]", "pad(%x, %p)", integers("p", {0, 0, 1, 2, 0, 0, 3, 1})},
    {"[1, 5, 6, 7]", "pad(%x, %p, _, %a)", integers("p", {1, -1, 2, -2}) + integers("a", {1, 3})},
    {"[1, 5, 1, 7]", "expand(%x, %s)", integers("s", {2, 1, 5, 3, 7})},
    {"[2, 3, 4]", "tile(%x, %r)", integers("r", {1, 2, 3})},
    {"[2, 12, 3, 5]", "depth_to_space(%x) {blocksize = 2}", ""},
    {"[2, 12, 3, 5]", "depth_to_space(%x) {blocksize = 2, mode = \"CRD\"}", ""},
    {"[2, 3, 6, 8]", "space_to_depth(%x) {blocksize = 2}", ""},
};
INSTANTIATE_TEST_SUITE_P(cases, Moves, testing::ValuesIn(cases));

TEST(Movement, concat_and_split_agree) {
  for (int axis : {0, 1, 3}) {
    const std::string shape = "[2, 6, 4, 8]";
    EXPECT_TRUE(
        check_tactics(fmt::format("graph @g(%a: f32{0}, %b: f32{0}, %c: f32{0}) -> (%y: f32[*] as \"y\") {{\n"
                                  "%y: f32[*] = concat(%a, %b, %c) {{axis = {1}}}\n}}",
                                  shape, axis))
            .contains("cpu/movement"));
    EXPECT_TRUE(
        check_tactics(fmt::format("graph @g(%a: f32{0}) -> (%y: f32[*] as \"y\", %z: f32[*] as \"z\") {{\n"
                                  "%y: f32[*], %z: f32[*] = split(%a) {{axis = {1}, num_outputs = 2}}\n}}",
                                  shape, axis))
            .contains("cpu/movement"));
  }
}

TEST(Movement, pads_with_a_value) {
  EXPECT_TRUE(check_tactics("graph @g(%x: f32[3, 4], %v: f32[]) -> (%y: f32[*] as \"y\") {\n" +
                            integers("p", {1, 0, 0, 2}) + "%y: f32[*] = pad(%x, %p, %v)\n}")
                  .contains("cpu/movement"));
}

struct Padding {
  std::string input;
  std::vector<int> pads, axes; ///< No axes: all.
};

TEST(Movement, pads_by_repeated_elements) {
  const Padding paddings[] = {
      {"[7]", {2, 3}, {}},
      {"[1]", {2, 3}, {}},
      {"[5, 9]", {1, 4, 2, 0}, {}},
      {"[3, 7, 9]", {0, 6, 2, 0, 6, 8}, {}},
      {"[2, 5, 6, 7]", {0, 0, 1, 1, 0, 0, 1, 1}, {}},
      {"[2, 3, 6, 7]", {1, 0, 3, 2, 0, 2, 0, 6}, {}},
      {"[2, 5, 6, 37]", {1, 12, 2, 36}, {-2, 3}},
      {"[2, 3, 4, 2, 3]", {1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, {}},
      {"[2, 3, 3, 5]", {7, 9}, {2}},            // More than once around.
      {"[1, 5, 6, 7]", {1, -1, 2, -2}, {1, 3}}, // Crops.
      {"[2, 5, 9, 11]",
       {0, 0, -2, 3, 0, 0, 4, -5},
       {}}, // Crops at one side, pads at the other with what is left.
      {"[2, 4, 6, 7]", {0, -1, -2, 0, 0, -1, 0, -3}, {}},
  };
  for (const Padding& p : paddings)
    for (const char* mode : {"reflect", "edge", "wrap"})
      for (const char* type : {"f32", "i64", "u8", "f16"}) {
        const std::string call =
            fmt::format("pad(%x, %p{}) {{mode = \"{}\"}}", p.axes.empty() ? "" : ", _, %a", mode);
        const auto ran = check_tactics(
            fmt::format("graph @g(%x: {0}{1}) -> (%y: {0}[*] as \"y\") {{\n{2}{3}%y: {0}[*] = {4}\n}}", type,
                        p.input, integers("p", p.pads), p.axes.empty() ? "" : integers("a", p.axes), call));
        EXPECT_TRUE(ran.contains("cpu/movement")) << type << p.input << mode;
        EXPECT_TRUE(ran.contains("cpu/movement strided")) << type << p.input << mode;
      }
}

// Each repetition of a small axis would be a box.
TEST(Movement, rejects_axes_repeated_hundreds_of_times) {
  const auto ran =
      check_tactics("graph @g(%x: f32[2, 3]) -> (%y: f32[*] as \"y\") {\n" + integers("p", {0, 900, 0, 900}) +
                    "%y: f32[*] = pad(%x, %p) {mode = \"wrap\"}\n}");
  EXPECT_FALSE(ran.contains("cpu/movement"));
  EXPECT_TRUE(ran.contains("reference/reference"));
}

TEST(Movement, pads_images_in_two_layouts) {
  for (const char* mode : {"reflect", "edge", "wrap"}) {
    const NodeCase node_case = make_case("graph @g(%x: f32[2, 8, 9, 7]) -> (%y: f32[*] as \"y\") {\n" +
                                         integers("p", {0, 0, 1, 1, 0, 0, 1, 1}) +
                                         fmt::format("%y: f32[*] = pad(%x, %p) {{mode = \"{}\"}}\n}}", mode));
    const Target target;
    std::set<std::string> layouts;
    for (const Backend* backend : backends_for(target))
      for (const Tactic& tactic : backend->tactics(*node_case.node, target).tactics)
        if (tactic.kernel == "movement") layouts.insert(tactic.outputs[0].layout.to_string());
    EXPECT_EQ(layouts.size(), 2U) << mode;
  }
}

TEST(Movement, gathers_rows_by_runtime_indices) {
  const std::pair<const char*, int> sources[] = {
      {"[40, 3, 7]", 0}, {"[2, 41, 300]", 1}, {"[3, 50]", -1}, {"[40]", 0}};
  for (const char* type : {"f32", "i64", "u8", "f16"})
    for (const char* indices : {"i64[5]", "i32[2, 3]", "i64[]", "i64[700]"})
      for (const auto& [data, axis] : sources) {
        const auto ran =
            check_tactics(fmt::format("graph @g(%x: {0}{1}, %i: {2}) -> (%y: {0}[*] as \"y\") {{\n"
                                      "%y: {0}[*] = gather(%x, %i) {{axis = {3}}}\n}}",
                                      type, data, indices, axis));
        EXPECT_TRUE(ran.contains("cpu/gather")) << type << data << indices;
      }
}

TEST(Movement, gathers_rows_by_constants) {
  EXPECT_TRUE(check_tactics("graph @g(%x: f32[3, 20, 30]) -> (%y: f32[*] as \"y\") {\n" +
                            integers("i", {2, -2, 0}) + "%y: f32[*] = gather(%x, %i) {axis = 0}\n}")
                  .contains("cpu/gather"));
}

TEST(Movement, rejects_gather_indices_out_of_range) {
  NodeCase node_case = make_case("graph @g(%x: f32[40, 4], %i: i64[1]) -> (%y: f32[1, 4] as \"y\") {\n"
                                 "%y: f32[1, 4] = gather(%x, %i)\n}");
  Target target;
  for (const Backend* backend : backends_for(target))
    for (const Tactic& tactic : backend->tactics(*node_case.node, target).tactics)
      for (const std::int64_t index : {40, -41}) {
        node_case.inputs[1] = Tensor::from<std::int64_t>(std::vector{index}, {1});
        ReadyTactic ready = make_ready(node_case, *backend, tactic, target);
        LANNER_EXPECT_ERROR(ready.launch(), ErrorCode::invalid_argument,
                            fmt::format("index {} out of range for size 40", index));
      }
}

// A channels-last image is read in place.
TEST(Movement, transposes_by_storage) {
  const NodeCase node_case = make_case("graph @g(%x: f32[1, 8, 9, 3]) -> (%y: f32[*] as \"y\") {\n"
                                       "%y: f32[*] = transpose(%x) {perm = [0, 3, 1, 2]}\n}");
  const Target target;
  int free = 0;
  for (const Backend* backend : backends_for(target))
    for (const Tactic& tactic : backend->tactics(*node_case.node, target).tactics)
      free += tactic.in_place == 0 && tactic.outputs[0].layout == Layout::parse("acdb");
  EXPECT_EQ(free, 1);
}

} // namespace
} // namespace lanner
