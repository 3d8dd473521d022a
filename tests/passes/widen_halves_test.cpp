// Networks of 16-bit reals as networks of f32.

#include <gtest/gtest.h>

#include "graph/parsed.h"
#include "graph/text/text.h"
#include "graph/verifier.h"
#include "ir_cases.h"
#include "ops/interpreter/interpreter.h"
#include "passes/int8/int8_nodes.h"
#include "passes/int8/widen_halves.h"
#include "passes/pipeline.h"

namespace lanner::test {
namespace {

constexpr std::string_view network = R"(graph @g(%x: f16[1, 3], %i: i64[2]) -> (%y, %z) {
  %w = constant() {weight = "w", value = f16[3, 2](hex 003c004000bc003800340044)}
  %p = matmul(%x, %w)
  %c = cast(%p) {to = bf16}
  %d = cast(%c) {to = f16}
  %r = relu(%d)
  %o = constant_of_shape(%i) {value = f16[1](hex 003e)}
  %y = add(%r, %o)
  %z = shape(%y)
})";

TEST(WidenHalves, AllButTheInterfaceIsF32) {
  const auto graph = parsed(network);
  const auto before = graph->clone();
  ASSERT_TRUE(passes::widen_halves(*graph));
  verify(*graph);
  for (const auto& node : graph->body().nodes())
    for (const auto& output : node->outputs()) {
      const bool is_wide = output.get() == graph->body().outputs()[0] || output->constant() ||
                           output->type.dtype() != DType::f16;
      EXPECT_TRUE(is_wide) << output->name();
    }
  EXPECT_EQ(graph->body().outputs()[0]->type.dtype(), DType::f16);
  EXPECT_EQ(graph->body().parameter(0)->type.dtype(), DType::f16);
  run_passes(*graph, {});
  EXPECT_EQ(passes::int8_candidates(*graph).size(), 1u) << print(*graph);
  EXPECT_TRUE(passes::int8_candidates(*before).empty());
}

TEST(WidenHalves, AnswersAreThoseOfTheModel) {
  const auto graph = parsed(network);
  const auto before = graph->clone();
  ASSERT_TRUE(passes::widen_halves(*graph));
  std::vector<Item> inputs = random_inputs(*before);
  inputs[1] = Item(Tensor::from<std::int64_t>(std::vector<std::int64_t>{1, 2}, Shape{2}));
  const auto expected = run_reference(*before, inputs), found = run_reference(*graph, inputs);
  for (std::size_t i = 0; i < expected.size(); ++i) expect_equal(expected[i], found[i], 2e-2);
}

TEST(WidenHalves, RegionsAndTheirConstantsToo) {
  const auto graph = parsed(R"(graph @g(%p: bool[], %x: bf16[3]) -> (%y) {
  %y = if(%p; %x) ((%a) -> (%b) { %k = constant() {value = bf16[3](hex 803f00408040)} %b = mul(%a, %k) },
                   (%c) -> (%d) { %d = neg(%c) })
})");
  ASSERT_TRUE(passes::widen_halves(*graph));
  verify(*graph);
  EXPECT_EQ(print(*graph).find("mul(%a, %k)"), std::string::npos) << print(*graph);
}

TEST(WidenHalves, NothingIsDoneWithoutHalvesOrWhereTheirBitsAreRead) {
  const auto plain = parsed("graph @g(%x: f32[3]) -> (%y) { %y = neg(%x) }");
  EXPECT_FALSE(passes::widen_halves(*plain));
  const auto bits = parsed("graph @g(%x: f16[3]) -> (%y) { %n = neg(%x) %y = bit_cast(%n) {to = i16} }");
  const std::string before = print(*bits);
  EXPECT_FALSE(passes::widen_halves(*bits));
  EXPECT_EQ(print(*bits), before);
}

} // namespace
} // namespace lanner::test
