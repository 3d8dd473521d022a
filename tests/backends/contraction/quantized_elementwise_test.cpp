// quantize_linear and dequantize_linear in elementwise kernels, against their definition.

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include <fmt/format.h>

#include "backends/elementwise/integer_tiles.h"
#include "backends/elementwise/program.h"
#include "backends/tactic_check.h"
#include "device/cpu.h"

namespace lanner {
namespace {

using Random = std::mt19937;

std::string list_of(const std::vector<float>& numbers) {
  std::vector<std::string> texts;
  for (const float number : numbers) texts.push_back(fmt::format("{}", number));
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string constant(std::string_view name, std::string_view type, std::string_view shape,
                     const std::string& numbers) {
  return fmt::format("%{}: {}{} = constant() {{value = {}{}({})}}\n", name, type, shape, type, shape,
                     numbers);
}

/// Halves between two integers, values beyond the range, infinities, NaN, denormals.
std::vector<float> hard_reals(std::size_t count, float scale, Random& random) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float special[] = {
      std::numeric_limits<float>::quiet_NaN(), infinity, -infinity, 0.0F, -0.0F, 1e-42F, -1e-42F, 3e38F};
  std::vector<float> reals(count);
  std::uniform_int_distribution<int> steps(-600, 600), pick(0, 7);
  for (float& real : reals)
    real = pick(random) == 0 ? special[pick(random)] : scale * static_cast<float>(steps(random)) / 2;
  return reals;
}

std::string number_of(std::string_view type, Random& random) {
  const bool is_signed = type[0] == 'i', bytes = type.substr(1) == "8";
  const int most = bytes ? 255 : 65535, least = is_signed ? -(most + 1) / 2 : 0;
  return std::to_string(std::uniform_int_distribution<int>(least, least + most)(random));
}

std::string numbers_of(std::string_view type, std::int64_t count, Random& random) {
  std::vector<std::string> texts;
  for (std::int64_t i = 0; i < count; ++i) texts.push_back(number_of(type, random));
  return fmt::format("{}", fmt::join(texts, ", "));
}

const std::set<std::string> kernels = {"cpu/elementwise"};

class StoredTypes : public testing::TestWithParam<const char*> {};

TEST_P(StoredTypes, quantize_as_defined_at_any_length) {
  const std::string_view type = GetParam();
  Random random(1);
  for (const int count : {1, 2, 7, 8, 15, 31, 33, 64, 100, 511, 512, 513, 1025}) {
    for (const float scale : {0.5F, 0.0123F, 1e-40F, -0.25F}) {
      const auto shape = fmt::format("[{}]", count);
      const std::string body =
          constant("x", "f32", shape, list_of(hard_reals(static_cast<std::size_t>(count), scale, random))) +
          constant("s", "f32", "[]", fmt::format("{}", scale)) +
          constant("z", type, "[1]", number_of(type, random));
      const auto ran = check_tactics(
          fmt::format("graph @g() -> (%y: {}[*] as \"y\") {{\n{}%y: {}[*] = quantize_linear(%x, %s, %z)\n}}",
                      type, body, type));
      EXPECT_TRUE(ran.contains("cpu/elementwise")) << count << " " << scale;
    }
  }
}

TEST_P(StoredTypes, dequantize_as_defined_at_any_length) {
  const std::string_view type = GetParam();
  Random random(2);
  for (const int count : {1, 3, 8, 33, 512, 1025}) {
    for (const char* zero : {"none", "constant", "input"}) {
      const std::string_view given = zero;
      const std::string made =
          given == "constant" ? constant("z", type, "[]", number_of(type, random)) : std::string();
      const auto ran = check_tactics(
          fmt::format("graph @g(%x: {0}[{1}]{2}) -> (%y: f32[*] as \"y\") {{\n{3}{4}"
                      "%y: f32[*] = dequantize_linear(%x, %s{5})\n}}",
                      type, count, given == "input" ? fmt::format(", %z: {}[]", type) : "", made,
                      constant("s", "f32", "[]", "0.0371"), given == "none" ? "" : ", %z"),
          {.tolerance = 0});
      EXPECT_TRUE(ran.contains("cpu/elementwise")) << count << " " << zero;
    }
  }
}

/// Shapes with channels that do not fill blocks, so that layouts are padded.
TEST_P(StoredTypes, take_every_layout_and_parameters_along_each_axis) {
  const std::string_view type = GetParam();
  Random random(3);
  struct Case {
    const char* shape;
    int axis, size;
  };
  for (const Case& c :
       {Case{"[2, 19, 5, 7]", 1, 19}, Case{"[2, 19, 5, 7]", -1, 7}, Case{"[2, 19, 5, 7]", 0, 2},
        Case{"[2, 19, 5, 7]", 2, 5}, Case{"[1, 32, 20, 20]", 1, 32}, Case{"[1, 1, 2, 3]", 1, 1},
        Case{"[1, 1, 2, 3]", 3, 3}, Case{"[3, 700]", 1, 700}, Case{"[11]", 0, 11}}) {
    SCOPED_TRACE(fmt::format("{} axis {}", c.shape, c.axis));
    for (const bool known : {true, false}) {
      const auto size = fmt::format("[{}]", c.size);
      const std::string parameters = known ? "" : fmt::format(", %s: f32{0}, %z: {1}{0}", size, type);
      const std::string made =
          known ? constant("s", "f32", size,
                           list_of(std::vector<float>(static_cast<std::size_t>(c.size), 0.02F))) +
                      constant("z", type, size, numbers_of(type, c.size, random))
                : "";
      const auto quantized =
          check_tactics(fmt::format("graph @g(%x: f32{0}{1}) -> (%y: {2}[*] as \"y\") {{\n{3}"
                                    "%y: {2}[*] = quantize_linear(%x, %s, %z) {{axis = {4}}}\n}}",
                                    c.shape, parameters, type, made, c.axis));
      EXPECT_TRUE(quantized.contains("cpu/elementwise"));
      EXPECT_TRUE(quantized.contains("cpu/elementwise strided"));
      const auto real =
          check_tactics(fmt::format("graph @g(%x: {2}{0}{1}) -> (%y: f32[*] as \"y\") {{\n{3}"
                                    "%y: f32[*] = dequantize_linear(%x, %s, %z) {{axis = {4}}}\n}}",
                                    c.shape, parameters, type, made, c.axis),
                        {.tolerance = 0});
      EXPECT_TRUE(real.contains("cpu/elementwise"));
    }
  }
}

TEST_P(StoredTypes, pass_through_a_group_in_bytes) {
  const std::string_view type = GetParam();
  Random random(4);
  for (const char* shape : {"[2, 19, 5, 7]", "[1, 48, 30, 30]", "[1, 1, 2, 3]", "[1025]", "[]"}) {
    const std::string parameters =
        constant("s", "f32", "[]", "0.031") + constant("z", type, "[]", number_of(type, random)) +
        constant("t", "f32", "[]", "0.0173") + constant("u", type, "[]", number_of(type, random));
    const auto ran = check_tactics(fmt::format(
        "graph @g(%a: {0}{1}, %b: {0}{1}) -> (%y: {0}[*] as \"y\") {{\n"
        "%y: {0}[*] = fused(%a, %b) {{kind = \"t\"}} ((%p: {0}{1}, %q: {0}{1}) -> (%r) {{\n{2}"
        "%v: f32[*] = dequantize_linear(%p, %s, %z)\n%w: f32[*] = dequantize_linear(%q, %t, %u)\n"
        "%c: f32[*] = add(%v, %w)\n%d: f32[*] = relu(%c)\n%r: {0}[*] = quantize_linear(%d, %s, %u)\n}})\n}}",
        type, shape, parameters));
    EXPECT_TRUE(ran.contains("cpu/elementwise")) << shape;
  }
}

/// A quantize followed by a dequantize rounds and clamps in registers, NaN included.
TEST_P(StoredTypes, round_and_clamp_between_operations_of_a_group) {
  const std::string_view type = GetParam();
  Random random(5);
  for (const bool zero : {true, false}) {
    const std::string parameters = constant("s", "f32", "[]", "0.031") +
                                   (zero ? constant("z", type, "[]", number_of(type, random)) : "");
    const auto ran = check_tactics(fmt::format(
        "graph @g() -> (%y: f32[*] as \"y\", %k) {{\n{4}"
        "%y: f32[*], %k: {0}[*] = fused(%x) {{kind = \"t\"}} ((%p: f32[1025]) -> (%r, %q) {{\n{1}"
        "%q: {0}[*] = quantize_linear(%p, %s{2}) {3}\n"
        "%r: f32[*] = dequantize_linear(%q, %s{2})\n}})\n}}",
        type, parameters, zero ? ", %z" : "", zero ? "" : fmt::format("{{output_dtype = {}}}", type),
        constant("x", "f32", "[1025]", list_of(hard_reals(1025, 0.031F, random)))));
    EXPECT_TRUE(ran.contains("cpu/elementwise")) << zero;
  }
}

INSTANTIATE_TEST_SUITE_P(all, StoredTypes, testing::Values("i8", "u8", "i16", "u16"),
                         [](const auto& info) { return std::string(info.param); });

TEST(QuantizedElementwise, dequantizes_sums_of_32_bits) {
  for (const char* scale : {"f32[]", "f32[19]"})
    expect_offered(
        check_tactics(fmt::format("graph @g(%x: i32[2, 19, 5, 7], %s: {}) -> (%y: f32[*] as \"y\") "
                                  "{{\n%y: f32[*] = dequantize_linear(%x, %s)\n}}",
                                  scale)),
        {"cpu/elementwise"});
}

TEST(QuantizedElementwise, reads_one_value_with_two_scales) {
  const auto ran = check_tactics(
      "graph @g(%a: i8[2, 19, 5, 7]) -> (%y: f32[*] as \"y\") {\n"
      "%y: f32[*] = fused(%a) {kind = \"t\"} ((%p: i8[2, 19, 5, 7]) -> (%r) {\n"
      "%s: f32[] = constant() {value = f32[](0.5)}\n%t: f32[] = constant() {value = f32[](0.25)}\n"
      "%v: f32[*] = dequantize_linear(%p, %s)\n%w: f32[*] = dequantize_linear(%p, %t)\n"
      "%r: f32[*] = mul(%v, %w)\n})\n}");
  EXPECT_TRUE(ran.contains("cpu/elementwise"));
}

TEST(QuantizedElementwise, leaves_other_forms_to_the_definition_with_a_reason) {
  struct Case {
    const char *ir, *reason;
  };
  const Case cases[] = {
      {"graph @g(%x: i8[4, 6], %s: f32[4, 2]) -> (%y: f32[*] as \"y\") {\n"
       "%y: f32[*] = dequantize_linear(%x, %s) {block_size = 3}\n}",
       "block_size"},
      {"graph @g(%x: f8e4m3fn[4, 6], %s: f32[]) -> (%y: f32[*] as \"y\") {\n"
       "%y: f32[*] = dequantize_linear(%x, %s)\n}",
       "f8e4m3fn"},
      {"graph @g(%x: f16[4, 6], %s: f16[]) -> (%y: u8[*] as \"y\") {\n%y: u8[*] = quantize_linear(%x, %s)\n}",
       "other than f32"},
      {"graph @g(%x: f32[4, 6], %s: f32[]) -> (%y: u8[*] as \"y\") {\n"
       "%y: u8[*] = quantize_linear(%x, %s) {precision = f16}\n}",
       "other than f32"},
      {"graph @g(%x: i32[4, 6], %s: f32[], %z: i32[]) -> (%y: f32[*] as \"y\") {\n"
       "%y: f32[*] = dequantize_linear(%x, %s, %z)\n}",
       "zero point"}};
  for (const Case& c : cases) {
    EXPECT_FALSE(check_tactics(c.ir).contains("cpu/elementwise")) << c.ir;
    const NodeCase one = make_case(c.ir);
    std::string reason;
    EXPECT_FALSE(compile_elementwise(Group::of(*one.node), reason));
    EXPECT_NE(reason.find(c.reason), std::string::npos) << reason;
  }
}

TEST(IntegerTiles, agree_for_every_instruction_set) {
  std::vector<IntegerTiles> sets{integer_tiles_baseline()};
  if (cpu_features().has_avx2()) sets.push_back(integer_tiles_avx2());
  if (cpu_features().has_avx512()) sets.push_back(integer_tiles_avx512());
  for (const IntegerTiles& tiles : sets)
    for (const DType type : {DType::i8, DType::u8, DType::i16, DType::u16})
      for (std::int64_t count = 0; count < 200; ++count) {
        std::vector<float> reals(static_cast<std::size_t>(count)), back(reals.size() + 1, -7);
        const int least = is_signed(type) ? -100 : 0;
        for (std::size_t i = 0; i < reals.size(); ++i)
          reals[i] = static_cast<float>(least + static_cast<int>(i * 37 % 256) - (is_signed(type) ? 28 : 0));
        std::vector<std::uint16_t> stored(reals.size() + 1, 0xABAB);
        tiles.of(type)->write(reals.data(), stored.data(), count, 0, 1);
        const auto* bytes = reinterpret_cast<const std::uint8_t*>(stored.data());
        EXPECT_EQ(bytes[static_cast<std::size_t>(count) * bit_width(type) / 8], 0xAB) << count;
        tiles.of(type)->read(stored.data(), back.data(), count, 3, 0.5F);
        EXPECT_EQ(back.back(), -7);
        for (std::size_t i = 0; i < reals.size(); ++i) ASSERT_EQ(back[i], (reals[i] - 3) * 0.5F) << i;
      }
}

} // namespace
} // namespace lanner
