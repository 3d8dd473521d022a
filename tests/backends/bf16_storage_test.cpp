// Values of f32 that the CPU's own kernels store as bf16.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "backends/cpu/bf16.h"
#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/stored_types.h"
#include "backends/tactic_check.h"
#include "device/cpu.h"
#include "tensor/float16.h"

namespace lanner {
namespace {

std::vector<Bf16Functions> all_functions() {
  std::vector<Bf16Functions> all{bf16_baseline()};
  if (cpu_features().has_avx2()) all.push_back(bf16_avx2());
  if (cpu_features().has_avx512()) all.push_back(bf16_avx512());
  return all;
}

/// Each upper half, with lower halves around those that round up.
std::vector<float> many_floats() {
  std::vector<float> list;
  for (std::uint32_t upper = 0; upper < 0x10000; ++upper)
    for (const std::uint32_t lower : {0x0000U, 0x0001U, 0x7fffU, 0x8000U, 0x8001U, 0xffffU})
      list.push_back(std::bit_cast<float>(upper << 16U | lower));
  return list;
}

TEST(Bf16Functions, round_as_the_definition) {
  const std::vector<float> from = many_floats();
  for (const Bf16Functions& functions : all_functions())
    for (const std::size_t first : {0U, 5U}) { // the second leaves a part of a vector
      std::vector<Bf16> got(from.size() - first);
      functions.write(from.data() + first, got.data(), static_cast<std::int64_t>(got.size()));
      for (std::size_t i = 0; i < got.size(); ++i)
        ASSERT_EQ(got[i].bits, float_to_bfloat16(from[first + i])) << from[first + i];
    }
}

TEST(Bf16Functions, read_every_number) {
  std::vector<Bf16> from(0x10000 + 3);
  for (std::size_t i = 0; i < from.size(); ++i) from[i].bits = static_cast<std::uint16_t>(i);
  for (const Bf16Functions& functions : all_functions()) {
    std::vector<float> got(from.size());
    functions.read(from.data(), got.data(), static_cast<std::int64_t>(got.size()));
    for (std::size_t i = 0; i < got.size(); ++i)
      ASSERT_EQ(std::bit_cast<std::uint32_t>(got[i]), std::uint32_t{from[i].bits} << 16U);
  }
}

TEST(StoredTypes, are_bf16_where_it_is_allowed_and_multiplied) {
  Target target;
  target.isa = "avx2+avx512f+avx512_bf16";
  EXPECT_EQ(stored_types(DType::f32, target).size(), 1U);
  target.precision = {DType::bf16};
  EXPECT_EQ(stored_types(DType::f32, target).size(), 2U);
  EXPECT_EQ(stored_types(DType::f64, target).size(), 1U);
  EXPECT_EQ(stored_types(DType::bf16, target).size(), 1U);
  target.isa = "avx2+avx512f";
  EXPECT_EQ(stored_types(DType::f32, target).size(), 1U);
}

struct Graph16 {
  const char* kernel;
  const char* text;
};
void PrintTo(const Graph16& c, std::ostream* out) {
  *out << c.text;
}

class StoringBf16 : public testing::TestWithParam<Graph16> {};

TEST_P(StoringBf16, agrees_with_the_definition) {
  const auto ran = check_tactics(GetParam().text, storing_bf16());
  EXPECT_TRUE(ran.contains(GetParam().kernel));
}

const Graph16 graphs[] = {
    {"cpu/elementwise", "graph @g(%x: f32[3, 700]) -> (%y) {\n%y: f32[3, 700] = gelu(%x)\n}"},
    {"cpu/elementwise", "graph @g(%x: f32[2, 19, 5, 7], %z: f32[2, 19, 5, 7]) -> (%y) {\n"
                        "%y: f32[2, 19, 5, 7] = add(%x, %z)\n}"},
    {"cpu/elementwise", "graph @g(%x: f32[2, 19, 5, 7], %z: f32[2, 19, 1, 1]) -> (%y) {\n"
                        "%y: f32[2, 19, 5, 7] = mul(%x, %z)\n}"},
    {"cpu/elementwise",
     "graph @g(%x: f32[4, 600], %z: f32[600]) -> (%y) {\n%y: f32[4, 600] = sub(%z, %x)\n}"},
    {"cpu/elementwise",
     "graph @g(%x: f32[4, 600], %z: f32[4, 1]) -> (%y) {\n%y: f32[4, 600] = max(%z, %x)\n}"},
    {"cpu/elementwise", "graph @g(%x: f32[2, 30]) -> (%a, %b) {\n"
                        "%c: f32[30] = constant() {value = random(f32[30], seed = 3, std = 1.0)}\n"
                        "%a: f32[2, 30], %b: f32[2, 30] = fused(%x, %c) {kind = \"t\"} ((%p: f32[2, 30], %q: "
                        "f32[30]) -> (%r, %s) {\n"
                        "%r: f32[2, 30] = add(%p, %q)\n%s: f32[2, 30] = relu(%r)\n})\n}"},
    {"cpu/movement", "graph @g(%x: f32[2, 3, 5, 8]) -> (%y) {\n"
                     "%y: f32[2, 5, 3, 8] = transpose(%x) {perm = [0, 2, 1, 3]}\n}"},
    {"cpu/movement", "graph @g(%x: f32[2, 3, 5, 7], %z: f32[2, 4, 5, 7]) -> (%y) {\n"
                     "%y: f32[2, 7, 5, 7] = concat(%x, %z) {axis = 1}\n}"},
    {"cpu/movement", "graph @g(%x: f32[2, 12, 5]) -> (%a, %b) {\n"
                     "%s = constant() {value = i64[2](4, 8)}\n"
                     "%a: f32[2, 4, 5], %b: f32[2, 8, 5] = split(%x, %s) {axis = 1}\n}"},
    {"cpu/movement", "graph @g(%x: f32[2, 3, 5, 7]) -> (%y) {\n"
                     "%p = constant() {value = i64[8](0, 0, 1, 1, 0, 0, 1, 1)}\n"
                     "%y: f32[2, 3, 7, 9] = pad(%x, %p) {mode = \"constant\"}\n}"},
    {"cpu/softmax", "graph @g(%x: f32[3, 40]) -> (%y) {\n%y: f32[3, 40] = log_softmax(%x) {axis = 1}\n}"},
    {"cpu/convert", "graph @g(%x: f32[2, 40, 7, 64]) -> (%y: f32[2, 40, 7, 64] as \"y\") {\n"
                    "%y: f32[2, 40, 7, 64] @ bf16 row = reorder(%x)\n}"},
    {"cpu/movement", "graph @g(%x: f32[2, 40, 7, 64] @ bf16 row) -> (%y: f32[2, 40, 7, 64] as \"y\") {\n"
                     "%y: f32[2, 40, 7, 64] @ bf16 acdb = reorder(%x)\n}"},
};
INSTANTIATE_TEST_SUITE_P(graphs, StoringBf16, testing::ValuesIn(graphs));

TEST(StoringBf16Alone, is_not_offered_without_the_instructions) {
  const NodeCase c = make_case("graph @g(%x: f32[3, 700]) -> (%y) {\n%y: f32[3, 700] = gelu(%x)\n}");
  Target target;
  target.isa = "avx2";
  target.precision = {DType::bf16};
  for (const Tactic& tactic : cpu_backend().tactics(*c.node, target).tactics)
    EXPECT_FALSE(tactic.outputs[0].dtype);
}

} // namespace
} // namespace lanner
