#include <gtest/gtest.h>

#include <fmt/format.h>

#include "backends/tactic_check.h"

namespace lanner {
namespace {

struct Row {
  std::string input, parameter;
  int axis;
};
void PrintTo(const Row& c, std::ostream* out) {
  *out << c.input << " from axis " << c.axis;
}

class Normalization : public testing::TestWithParam<Row> {
protected:
  static std::string constants() {
    return fmt::format("%w = constant() {{value = random(f32{0}, seed = 1, std = 0.5)}}\n"
                       "%b = constant() {{value = random(f32{0}, seed = 2, std = 0.5)}}\n",
                       GetParam().parameter);
  }
  static std::string call(const char* kind, const char* x, const char* w, const char* b) {
    return fmt::format("{}({}, {}{}{}) {{axis = {}}}", kind, x, w, *b ? ", " : "", b, GetParam().axis);
  }
};

TEST_P(Normalization, AgreesWithTheReference) {
  for (const auto& text :
       {call("layer_normalization", "%x", "%w", "%b"), call("layer_normalization", "%x", "%w", "_"),
        call("rms_normalization", "%x", "%w", "")}) {
    const auto ran =
        check_tactics(fmt::format("graph @g(%x: f32{}) -> (%y: f32[*] as \"y\") {{\n{}%y: f32[*] = {}\n}}",
                                  GetParam().input, constants(), text));
    EXPECT_TRUE(ran.contains("cpu/normalization")) << text;
  }
}

TEST_P(Normalization, StoresBf16) {
  const auto ran = check_tactics(
      fmt::format(
          "graph @g(%x: f32{0}, %r: f32{0}) -> (%y, %z: f32{0}) {{\n{1}"
          "%y: f32{0}, %z: f32{0} = fused(%x, %r, %w, %b) {{kind = \"add+norm\"}} ((%p: f32{0}, %q: f32{0}, "
          "%v: f32{2}, %c: f32{2}) -> (%n, %s) {{\n%s: f32{0} = add(%p, %q)\n%n: f32{0} = {3}\n}})\n}}",
          GetParam().input, constants(), GetParam().parameter, call("layer_normalization", "%s", "%v", "%c")),
      storing_bf16());
  const bool fits_stack = GetParam().parameter != "[100003]";
  EXPECT_EQ(ran.contains("cpu/normalization"), fits_stack);
}

TEST_P(Normalization, FusesThePrecedingSumEvenWithOtherReaders) {
  for (const char* kind : {"layer_normalization", "rms_normalization"})
    for (const bool shared : {false, true}) {
      const bool layer = std::string_view(kind) == "layer_normalization";
      const auto ran = check_tactics(
          fmt::format("graph @g(%x: f32{0}, %r: f32{0}) -> ({4}) {{\n{1}"
                      "%y: f32{0}{5} = fused(%x, %r, %w, %b) {{kind = \"add+norm\"}} ((%p: f32{0}, %q: "
                      "f32{0}, %v: f32{2}, "
                      "%c: f32{2}) -> (%n{6}) {{\n%s: f32{0} = add(%p, %q)\n%n: f32{0} = {3}\n}})\n}}",
                      GetParam().input, constants(), GetParam().parameter,
                      call(kind, "%s", "%v", layer ? "%c" : ""), shared ? "%y, %z" : "%y",
                      shared ? fmt::format(", %z: f32{}", GetParam().input) : "", shared ? ", %s" : ""));
      EXPECT_TRUE(ran.contains("cpu/normalization")) << kind << (shared ? ", read again" : "");
    }
}

const Row rows[] = {
    {"[7, 1]", "[1]", -1},           {"[3, 5]", "[5]", 1},
    {"[4, 16]", "[16]", -1},         {"[2, 9, 63]", "[63]", -1},
    {"[1, 197, 768]", "[768]", -1},  {"[2, 3, 4, 5]", "[4, 5]", 2},
    {"[2, 3, 7]", "[3, 7]", -2},     {"[11]", "[11]", 0},
    {"[3, 100003]", "[100003]", -1},
};
INSTANTIATE_TEST_SUITE_P(cases, Normalization, testing::ValuesIn(rows));

struct Channels {
  std::string input;
  int channels, groups;
};
void PrintTo(const Channels& c, std::ostream* out) {
  *out << c.input << " in " << c.groups << " groups";
}

class ChannelNormalization : public testing::TestWithParam<Channels> {};

TEST_P(ChannelNormalization, AgreesWithTheReference) {
  const auto [input, channels, groups] = GetParam();
  for (const auto& call : {fmt::format("group_normalization(%x, %w, %b) {{num_groups = {}}}", groups),
                           std::string("instance_normalization(%x, %w, %b) {epsilon = 0.001}")}) {
    const auto ran =
        check_tactics(fmt::format("graph @g(%x: f32{}, %w: f32[{}], %b: f32[{}]) -> (%y: f32[*] as "
                                  "\"y\") {{\n%y: f32[*] = {}\n}}",
                                  input, channels, channels, call));
    EXPECT_TRUE(ran.contains("cpu/normalization")) << call;
  }
}

const Channels channels[] = {
    {"[2, 6, 5, 7]", 6, 3}, {"[1, 32, 56, 56]", 32, 1}, {"[3, 4, 9]", 4, 4},
    {"[2, 8]", 8, 2},       {"[1, 5, 2, 3, 4]", 5, 5},  {"[1, 3, 300, 301]", 3, 1},
};
INSTANTIATE_TEST_SUITE_P(cases, ChannelNormalization, testing::ValuesIn(channels));

std::set<std::string> run(const std::string& parameters, const std::string& call) {
  return check_tactics(fmt::format(
      "graph @g(%x: f32[4, 6]{}) -> (%y: f32[*] as \"y\") {{\n%y: f32[*] = {}\n}}", parameters, call));
}

TEST(NormalizationKernels, RejectParametersThatAreNotAsLongAsTheRow) {
  const std::string kernel = "cpu/normalization";
  EXPECT_FALSE(run(", %w: f32[1]", "layer_normalization(%x, %w, _)").contains(kernel));
  EXPECT_FALSE(run(", %w: f32[4, 6]", "layer_normalization(%x, %w, _)").contains(kernel));
  EXPECT_TRUE(run(", %w: f32[6]", "layer_normalization(%x, %w, _)").contains(kernel));
}

} // namespace
} // namespace lanner
