#include <algorithm>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "expect_error.h"
#include "graph/text/text.h"
#include "ops/interpreter/interpreter.h"
#include "ops/table/table.h"
#include "passes/pipeline.h"
#include "temporary_folder.h"

namespace lanner {

namespace {

// A small network as a channels-last exporter writes it.
constexpr std::string_view network = R"(graph @net(%x: f32[N, 4, 4, 2]) -> (%y) {
  symbol N in [1, 9] = 2
  %w = constant() {value = random(f32[3, 2, 3, 3], seed = 1, std = 0.5)}
  %v = constant() {value = random(f32[3, 3, 1, 1], seed = 2, std = 0.5)}
  %s = constant() {value = f32[3](1.0, 2.0, 0.5)}
  %b = constant() {value = f32[3](0.5, -0.5, 0.0)}
  %m = constant() {value = f32[3](0.25, 0.0, 1.0)}
  %r = constant() {value = f32[3](1.0, 4.0, 0.25)}
  %zero = constant() {value = f32[](0.0)}
  %axes = constant() {value = i64[2](1, 2)}
  %f = constant() {value = random(f32[5, 3], seed = 3, std = 0.5)}
  %1 = transpose(%x) {perm = [0, 3, 1, 2]}
  %2 = conv(%1, %w) {auto_pad = "SAME_UPPER"} source("c1")
  %3 = batch_normalization(%2, %s, %b, %m, %r) source("bn1")
  %4 = transpose(%3) {perm = [0, 2, 3, 1]}
  %5 = max(%4, %zero)
  %6 = transpose(%5) {perm = [0, 3, 1, 2]}
  %7 = conv(%6, %v) source("c2")
  %8 = transpose(%7) {perm = [0, 2, 3, 1]}
  %9 = add(%5, %8)
  %10 = reduce_mean(%9, %axes) {keepdims = 0}
  %y = gemm(%10, %f) {transB = 1} source("fc")
})";

std::vector<std::string> kinds(const Graph& graph) {
  std::vector<std::string> list;
  for (const auto& node : graph.body().nodes()) {
    if (node->kind() != "constant") list.push_back(node->kind());
  }
  return list;
}

std::unique_ptr<Graph> parse(std::string_view text) {
  return parse_graph(text, builtin_op_table());
}

} // namespace

TEST(Pipeline, ReachesTheCanonicalFormAndKeepsTheNumbers) {
  const auto before = parse(network);
  const auto after = before->clone();
  PassOptions options;
  options.verify = true;
  run_passes(*after, options);
  EXPECT_EQ(kinds(*after), (std::vector<std::string>{"transpose", "conv", "relu", "conv", "add",
                                                     "global_average_pool", "reshape", "matmul"}));
  Tensor x = Tensor::allocate(DType::f32, {2, 4, 4, 2});
  float next = -1;
  for (float& value : x.as<float>()) value = next += 0.03f;
  const auto expected = run_reference(*before, std::vector<Item>{x}),
             found = run_reference(*after, std::vector<Item>{x});
  for (std::size_t i = 0; i < 10; ++i)
    EXPECT_NEAR(expected[0].tensor.as<float>()[i], found[0].tensor.as<float>()[i], 1e-5);
  const std::string once = print(*after);
  run_passes(*after, options);
  EXPECT_EQ(print(*after), once);
}

TEST(Pipeline, StopsAfterAPass) {
  const auto graph = parse(network);
  PassOptions options;
  options.stop_after = "simplify_reshapes";
  run_passes(*graph, options);
  EXPECT_EQ(std::ranges::count(kinds(*graph), "batch_normalization"), 1);
  options.stop_after = "fold_batch_normalization";
  run_passes(*graph, options);
  EXPECT_EQ(std::ranges::count(kinds(*graph), "batch_normalization"), 0);
  EXPECT_EQ(std::ranges::count(kinds(*graph), "transpose"), 5);
  options.stop_after = "fold_scale";
  LANNER_EXPECT_ERROR(run_passes(*graph, options), ErrorCode::invalid_argument,
                      "no pass fold_scale; did you mean fold_scales?");
}

TEST(Pipeline, TracesEachPassThatChangedTheGraph) {
  const auto graph = parse(network);
  const TemporaryFolder folder;
  std::vector<std::string> names;
  PassOptions options;
  options.trace_folder = folder.path();
  options.trace = [&](std::string_view pass, const Graph&) { names.emplace_back(pass); };
  run_passes(*graph, options);
  ASSERT_FALSE(names.empty());
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    files += entry.path().extension() == ".ir";
  EXPECT_EQ(files, names.size());
  std::ifstream first(folder.path() / ("01_" + names[0] + ".ir"));
  std::stringstream text;
  text << first.rdbuf();
  EXPECT_TRUE(text.str().starts_with("graph @net("));
}

TEST(Pipeline, CanBeCancelledAndIsBounded) {
  const auto graph = parse(network);
  PassOptions options;
  options.control.cancel = CancelToken::create();
  options.control.cancel.cancel();
  LANNER_EXPECT_ERROR(run_passes(*graph, options), ErrorCode::cancelled, "");
  PassOptions narrow;
  narrow.limits.nodes = 5;
  LANNER_EXPECT_ERROR(run_passes(*graph, narrow), ErrorCode::limit_exceeded, "over the limit nodes of 5");
}

TEST(Pipeline, DoesNotFoldHugeContractions) {
  const auto folded = [](std::string_view equation) {
    const auto graph = parse(fmt::format(R"(graph @main(%x: f32[]) -> (%y) {{
  %a = constant() {{value = random(f32[2000], seed = 1, std = 0.5)}}
  %sum = einsum(%a, %a, %a) {{equation = "{}"}}
  %y = add(%x, %sum)
}})",
                                         equation));
    run_passes(*graph);
    return std::ranges::count(kinds(*graph), "einsum") == 0;
  };
  EXPECT_TRUE(folded("i,i,i->"));
  EXPECT_FALSE(folded("i,j,k->"));
}

// A few bytes may ask for hours of work: a kernel larger than any image, or an image full of kernels.
TEST(Pipeline, DoesNotFoldHugeWindowsAndConvolutions) {
  const auto folded = [](std::string_view node, std::string_view kind) {
    const auto graph = parse(fmt::format(R"(graph @main(%x: f32[]) -> (%y) {{
  %a = constant() {{value = random(f32[1, 1, 600, 600], seed = 1, std = 0.5)}}
  %w = constant() {{value = random(f32[1, 1, 400, 400], seed = 2, std = 0.5)}}
  %v = constant() {{value = random(f32[1, 1, 3, 3], seed = 2, std = 0.5)}}
  %b = constant() {{value = random(f32[1, 1, 8, 8], seed = 2, std = 0.5)}}
  %made = {}
  %y = add(%x, %made)
}})",
                                         node));
    run_passes(*graph);
    return std::ranges::count(kinds(*graph), kind) == 0;
  };
  EXPECT_TRUE(folded("max_pool(%b) {kernel_shape = [3, 3], auto_pad = \"SAME_UPPER\"}", "max_pool"));
  EXPECT_FALSE(folded("max_pool(%b) {kernel_shape = [2147483647, 2147483647], auto_pad = \"SAME_UPPER\"}",
                      "max_pool"));
  EXPECT_TRUE(folded("conv(%a, %v)", "conv"));
  EXPECT_FALSE(folded("conv(%a, %w)", "conv"));
}

// The bound on folding one node does not depend on the model.
TEST(Pipeline, FoldsShortLoopsButNotLongOnes) {
  const auto folded = [](std::string_view turns) {
    const auto graph = parse(fmt::format(R"(graph @main(%x: i64[]) -> (%y) {{
  %n = constant() {{value = i64[]({})}}
  %zero = constant() {{value = i64[](0)}}
  %sum = loop(%n, _, %zero) ((%i: i64[], %go: bool[], %s: i64[]) -> (%go, %next) {{
    %next = add(%s, %i)
  }})
  %y = add(%x, %sum)
}})",
                                         turns));
    run_passes(*graph);
    return std::ranges::count(kinds(*graph), "loop") == 0;
  };
  EXPECT_TRUE(folded("100"));
  EXPECT_FALSE(folded("1000000000000"));
}

} // namespace lanner
