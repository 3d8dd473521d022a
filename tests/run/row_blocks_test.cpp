// Nodes with a data-dependent row count, run block by block, compared with their definitions.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "engine/plan_file/plan_parts.h"
#include "engine/state.h"
#include "expect_error.h"
#include "program/row_blocks.h"
#include "run/lowered_text.h"
#include "temporary_folder.h"

namespace lanner::test {
namespace {

/// Rows of `x` that are above 0 in column 0, through products whose weights and a shared operand do not
/// depend on the count.
constexpr std::string_view network_text = R"(
graph @main(%flags: f32[200], %x: f32[200, 3, 4], %shared: f32[1, 5]) -> (%y as "y", %z as "z") {
  %hits: i64[*] = non_zero(%flags)
  %minus: i64[1] = constant() {value = i64[1](-1)}
  %which: i64[*] = reshape(%hits, %minus)
  %rows: f32[*] = gather(%x, %which) {axis = 0}
  %count: i64[3] = shape(%rows)
  %zero: i64[1] = constant() {value = i64[1](0)}
  %first: i64[1] = gather(%count, %zero)
  %twelve: i64[1] = constant() {value = i64[1](12)}
  %sizes: i64[2] = concat(%first, %twelve) {axis = 0}
  %flat: f32[*] = reshape(%rows, %sizes)
  %w = constant() {value = random(f32[12, 5], seed = 3, std = 0.3)}
  %p: f32[*] = matmul(%flat, %w)
  %q: f32[*] = add(%p, %shared)
  %r: f32[*] = relu(%q)
  %axes: i64[1] = constant() {value = i64[1](1)}
  %sum: f32[*] = reduce_sum(%r, %axes) {keepdims = 1}
  %all: i64[1] = constant() {value = i64[1](0)}
  %total: f32[1, 1] = reduce_max(%sum, %all) {keepdims = 1}
  %y: f32[*] = sub(%r, %total)
  %z: f32[*] = softmax(%q) {axis = -1}
})";

Tensor flags(std::int64_t count, std::int64_t of) {
  Tensor tensor = Tensor::zeros(DType::f32, {of});
  for (std::int64_t i = 0; i < count; ++i) tensor.as<float>()[static_cast<std::size_t>(i * 7 % of)] = 1;
  return tensor;
}

std::vector<Item> inputs_of(std::int64_t count) {
  return {flags(count, 200), waves({200, 3, 4}), waves({1, 5}, 3)};
}

TEST(RowBlocks, AgreeWithTheDefinitionForAnyCount) {
  const Engine engine = engine_of(network_text);
  const Graph& graph = lowered(engine);
  EXPECT_TRUE(any_node(graph.body(), "row_blocks", "program")) << print(graph);
  EXPECT_FALSE(any_node(graph.body(), "matmul", "interpreter")) << print(graph);
  for (const std::int64_t count : {1, 2, 3, 7, 8, 9, 15, 16, 57, 63, 64, 65, 130, 200})
    expect_as_defined(engine, inputs_of(count));
}

TEST(RowBlocks, NoVariantIsMadePerCount) {
  const Engine engine = engine_of(network_text);
  expect_as_defined(engine, inputs_of(7));
  const std::size_t made = state_of(engine).variants().list().size();
  for (std::int64_t count = 1; count <= 199; count += 2) expect_as_defined(engine, inputs_of(count));
  EXPECT_EQ(state_of(engine).variants().list().size(), made);
}

TEST(RowBlocks, ZeroRowsRunNoBlock) {
  constexpr std::string_view text = R"(
graph @main(%flags: f32[20], %x: f32[20, 4]) -> (%y as "y") {
  %hits: i64[*] = non_zero(%flags)
  %minus: i64[1] = constant() {value = i64[1](-1)}
  %which: i64[*] = reshape(%hits, %minus)
  %rows: f32[*] = gather(%x, %which) {axis = 0}
  %w = constant() {value = random(f32[4, 5], seed = 3, std = 0.3)}
  %y: f32[*] = matmul(%rows, %w)
})";
  const Engine engine = engine_of(text);
  EXPECT_TRUE(any_node(lowered(engine).body(), "row_blocks", "program"));
  for (const std::int64_t count : {0, 1, 20}) expect_as_defined(engine, {flags(count, 20), waves({20, 4})});
}

// The only member of its set: its reader has another count.
TEST(RowBlocks, SingleProductIsASet) {
  constexpr std::string_view text = R"(
graph @main(%flags: f32[20], %x: f32[20, 4]) -> (%y as "y", %z as "z") {
  %chosen: bool[20] = cast(%flags) {to = bool}
  %rows: f32[*] = compress(%x, %chosen) {axis = 0}
  %w = constant() {value = random(f32[4, 5], seed = 3, std = 0.3)}
  %y: f32[*] = matmul(%rows, %w)
  %z: f32[*] = transpose(%y) {perm = [1, 0]}
})";
  const Engine engine = engine_of(text);
  EXPECT_TRUE(any_node(lowered(engine).body(), "row_blocks", "program"));
  for (const std::int64_t count : {0, 1, 20}) expect_as_defined(engine, {flags(count, 20), waves({20, 4})});
}

TEST(RowBlocks, AreKeptInPlans) {
  const TemporaryFolder folder;
  const Engine engine = engine_of(network_text);
  engine.save(folder / "rows.plan");
  const Engine loaded = Engine::load(folder / "rows.plan");
  EXPECT_TRUE(state_of(loaded).notes.empty());
  EXPECT_EQ(loaded.lowered_ir(), engine.lowered_ir());
  expect_as_defined(loaded, inputs_of(77));
  EXPECT_TRUE(loaded.verify().right());
}

TEST(RowBlocks, PlansWithTheFormerNameOfTheOperatorLoad) {
  const TemporaryFolder folder;
  const Engine engine = engine_of(network_text);
  engine.save(folder / "rows.plan");
  Parts parts(folder / "rows.plan");
  parts.rename_operator("row_blocks", "by_rows");
  parts.write(folder / "former.plan");
  const Engine loaded = Engine::load(folder / "former.plan");
  EXPECT_TRUE(state_of(loaded).notes.empty());
  EXPECT_EQ(loaded.lowered_ir(), engine.lowered_ir());
  expect_as_defined(loaded, inputs_of(77));
}

TEST(RowBlocks, ConvolutionsRunByBlocks) {
  constexpr std::string_view text = R"(
graph @main(%flags: f32[40], %x: f32[40, 3, 6, 6]) -> (%y as "y") {
  %hits: i64[*] = non_zero(%flags)
  %minus: i64[1] = constant() {value = i64[1](-1)}
  %which: i64[*] = reshape(%hits, %minus)
  %rows: f32[*] = gather(%x, %which) {axis = 0}
  %w = constant() {value = random(f32[4, 3, 3, 3], seed = 3, std = 0.3)}
  %c: f32[*] = conv(%rows, %w, _)
  %r: f32[*] = relu(%c)
  %m: f32[*] = max_pool(%r) {kernel_shape = [2, 2], strides = [2, 2]}
  %turned: f32[*] = transpose(%m) {perm = [0, 2, 3, 1]}
  %y: f32[*] = concat(%turned, %turned) {axis = 1}
})";
  const Engine engine = engine_of(text, 2);
  EXPECT_TRUE(any_node(lowered(engine).body(), "row_blocks", "program"));
  for (const std::int64_t count : {1, 5, 13, 40})
    expect_as_defined(engine, {flags(count, 40), waves({40, 3, 6, 6})});
}

// Operators across rows stay outside of the set.
TEST(RowBlocks, SumsOverRowsStayOutside) {
  constexpr std::string_view text = R"(
graph @main(%flags: f32[20], %x: f32[20, 4]) -> (%y as "y") {
  %hits: i64[*] = non_zero(%flags)
  %minus: i64[1] = constant() {value = i64[1](-1)}
  %which: i64[*] = reshape(%hits, %minus)
  %rows: f32[*] = gather(%x, %which) {axis = 0}
  %turned: f32[*] = transpose(%rows) {perm = [1, 0]}
  %y: f32[*] = matmul(%turned, %rows)
})";
  const Engine engine = engine_of(text);
  EXPECT_FALSE(any_node(lowered(engine).body(), "row_blocks", "program"));
  expect_as_defined(engine, {flags(6, 20), waves({20, 4})});
}

TEST(BlockChoice, ChoosesTheCheapestBlocks) {
  // Blocks of equal cost: one that is too large beats several.
  const BlockChoice flat({1, 8, 64}, {1, 1, 1});
  EXPECT_EQ(flat.next(1), 0u);
  EXPECT_EQ(flat.next(8), 1u);
  EXPECT_EQ(flat.next(9), 2u);
  EXPECT_EQ(flat.next(200), 2u);
  // Cost proportional to rows.
  const BlockChoice steep({1, 8, 64}, {1, 8, 64});
  EXPECT_EQ(steep.next(7), 0u);
  const BlockChoice between({1, 8, 64}, {1, 4, 16});
  EXPECT_EQ(between.next(3), 0u);
  EXPECT_EQ(between.next(6), 1u);
  EXPECT_EQ(between.next(60), 2u);
}

} // namespace
} // namespace lanner::test
