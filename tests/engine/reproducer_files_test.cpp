// Reproducers of common operators. tests/python/engine/test_verify.py sets a folder for them in the
// environment and runs them in onnxruntime.

#include <cstdlib>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "builder/network_inputs.h"
#include "builder/reproducer.h"
#include "graph/parsed.h"
#include "ops/interpreter/interpreter.h"
#include "temporary_folder.h"
#include "tensor/safetensors.h"

namespace lanner {
namespace {

struct NodeText {
  const char *name, *inputs, *nodes; ///< The last node is %y.
};

void PrintTo(const NodeText& one, std::ostream* out) {
  *out << one.name;
}

constexpr NodeText usual[] = {
    {"conv", "%x: f32[1, 4, 6, 6]",
     "%w = constant() {value = random(f32[8, 2, 3, 3], seed = 1, std = 0.3)}\n"
     "%b = constant() {value = random(f32[8], seed = 2, std = 1.0)}\n"
     "%y = conv(%x, %w, %b) {group = 2, pads = [1, 1, 1, 1], strides = [2, 2]}"},
    {"conv_transpose", "%x: f32[1, 2, 4, 4]",
     "%w = constant() {value = random(f32[2, 3, 3, 3], seed = 1, std = 0.3)}\n"
     "%y = conv_transpose(%x, %w, _) {strides = [2, 2]}"},
    {"fused", "%x: f32[1, 2, 4, 4], %r: f32[1, 3, 4, 4]",
     "%w = constant() {value = random(f32[3, 2, 1, 1], seed = 1, std = 0.3)}\n"
     "%y: f32[1, 3, 4, 4] = fused(%x, %w, %r) {kind = \"conv+add+relu\"} "
     "((%p: f32[1, 2, 4, 4], %q: f32[3, 2, 1, 1], %s: f32[1, 3, 4, 4]) -> (%v) {\n"
     "  %t: f32[1, 3, 4, 4] = conv(%p, %q, _)\n"
     "  %u: f32[1, 3, 4, 4] = add(%t, %s)\n"
     "  %v: f32[1, 3, 4, 4] = relu(%u)\n"
     "})"},
    {"matmul", "%a: f32[2, 3, 4], %b: f32[4, 5]", "%y = matmul(%a, %b)"},
    {"gemm", "%a: f32[3, 4], %b: f32[5, 4]", "%y = gemm(%a, %b) {alpha = 0.5, transB = 1}"},
    {"max_pool", "%x: f32[1, 2, 7, 7]", "%y = max_pool(%x) {kernel_shape = [3, 3], strides = [2, 2]}"},
    {"average_pool", "%x: f32[1, 2, 6, 6]",
     "%y = average_pool(%x) {kernel_shape = [2, 2], strides = [2, 2]}"},
    {"global_average_pool", "%x: f32[1, 2, 6, 6]", "%y = global_average_pool(%x)"},
    {"batch_normalization", "%x: f32[2, 3, 4]",
     "%s = constant() {value = random(f32[3], seed = 1, std = 1.0)}\n"
     "%v = constant() {value = f32[3](1.0, 2.0, 0.5)}\n"
     "%y = batch_normalization(%x, %s, %s, %s, %v) {epsilon = 0.001}"},
    {"layer_normalization", "%x: f32[2, 3, 8], %s: f32[8], %b: f32[8]",
     "%y = layer_normalization(%x, %s, %b)"},
    {"softmax", "%x: f32[2, 5]", "%y = softmax(%x) {axis = 1}"},
    {"gelu", "%x: f32[2, 5]", "%y = gelu(%x) {approximate = \"tanh\"}"},
    {"hard_swish", "%x: f32[2, 5]", "%y = hard_swish(%x)"},
    {"prelu", "%x: f32[2, 5], %s: f32[5]", "%y = prelu(%x, %s)"},
    {"clip", "%x: f32[2, 5]",
     "%l = constant() {value = f32[](-0.5)}\n%h = constant() {value = f32[](1.0)}\n%y = clip(%x, %l, %h)"},
    {"reduce_mean", "%x: f32[2, 3, 4]",
     "%a = constant() {value = i64[1](1)}\n%y = reduce_mean(%x, %a) {keepdims = 0}"},
    {"arg_max", "%x: f32[2, 5]", "%y = arg_max(%x) {axis = 1}"},
    {"transpose", "%x: f32[2, 3, 4]", "%y = transpose(%x) {perm = [2, 0, 1]}"},
    {"concat", "%a: f32[2, 3], %b: f32[2, 1]", "%y = concat(%a, %b) {axis = 1}"},
    {"cast", "%x: f32[2, 5]", "%y = cast(%x) {to = f16}"},
    {"halves", "%a: f16[2, 5], %b: f16[2, 5]", "%y = add(%a, %b)"},
    {"where", "%c: bool[2, 5], %a: f32[2, 5], %b: f32[5]", "%y = where(%c, %a, %b)"},
    {"gather", "%i: i64[4]",
     "%w = constant() {value = random(f32[6, 3], seed = 1, std = 1.0)}\n%y = gather(%w, %i) {axis = 0}"},
    {"resize", "%x: f32[1, 2, 4, 4]",
     "%s = constant() {value = f32[4](1.0, 1.0, 2.0, 2.0)}\n%y = resize(%x, _, %s) {mode = \"linear\"}"},
    {"pad", "%x: f32[2, 3]",
     "%p = constant() {value = i64[4](0, 1, 0, 2)}\n%y = pad(%x, %p) {mode = \"reflect\"}"},
    {"same_twice", "%x: f32[2, 3]", "%y = mul(%x, %x)"},
    {"equal", "%a: i64[7], %b: i64[7]", "%y = equal(%a, %b)"},
    {"swish", "%x: f32[2, 5]", "%y = swish(%x)"},
    {"top_k", "%x: f32[2, 7]", "%k = constant() {value = i64[1](3)}\n%y, %i = top_k(%x, %k)"},
    {"split", "%x: f32[2, 6]", "%s = constant() {value = i64[2](2, 4)}\n%y, %z = split(%x, %s) {axis = 1}"},
    {"slice", "%x: f32[4, 6]",
     "%b = constant() {value = i64[2](1, 5)}\n%e = constant() {value = i64[2](4, -7)}\n"
     "%a = constant() {value = i64[2](0, 1)}\n%s = constant() {value = i64[2](1, -2)}\n"
     "%y = slice(%x, %b, %e, %a, %s)"},
    {"lstm", "%x: f32[3, 1, 2], %w: f32[1, 12, 2], %r: f32[1, 12, 3]",
     "%y, %h, %c = lstm(%x, %w, %r) {hidden_size = 3}"},
    {"quantize_linear", "%x: f32[2, 3]",
     "%s = constant() {value = f32[](0.05)}\n%z = constant() {value = u8[](128)}\n%y = quantize_linear(%x, "
     "%s, %z)"},
    {"dequantize_linear", "%x: i8[2, 3]",
     "%s = constant() {value = f32[](0.05)}\n%z = constant() {value = i8[](3)}\n"
     "%y = dequantize_linear(%x, %s, %z)"},
    {"rms_normalization", "%x: f32[2, 8], %s: f32[8]", "%y = rms_normalization(%x, %s)"},
    {"random", "%x: f32[2, 8]", "%y = random_uniform_like(%x) {low = 1.0, seed = 3.0, high = 1.00001}"},
};

class ReproducerFiles : public testing::TestWithParam<NodeText> {
protected:
  /// The caller's folder, else a temporary one.
  std::filesystem::path folder() const {
    const char* given = std::getenv("LANNER_REPRODUCERS");
    return given ? std::filesystem::path(given) : own_ / "";
  }

private:
  TemporaryFolder own_;
};

TEST_P(ReproducerFiles, ComputeTheSameAsTheNode) {
  const auto graph =
      test::parsed(fmt::format("graph @g({}) -> (%y) {{\n{}\n}}\n", GetParam().inputs, GetParam().nodes));
  const std::vector<Item> inputs = network_inputs(*graph, {}, {.seed = 5});
  const Node& node = *graph->body().nodes().back();
  DifferingNode found{&node, {}};
  for (const Value* input : node.inputs()) {
    if (!input)
      found.operands.emplace_back();
    else
      found.operands.push_back(input->constant() ? *input->constant() : inputs.at(input->index()).tensor);
  }
  const std::filesystem::path model = folder() / fmt::format("{}.onnx", GetParam().name);
  write_reproducer(found, "it is wrong", model);

  BuildOptions options;
  options.budget = 0;
  options.deterministic = true;
  const Engine engine = Engine::build(model, options);
  Context context = engine.create_context();
  const Safetensors operands = Safetensors::open(open_path(operands_path(model)));
  EXPECT_EQ(operands.entries().size(), engine.inputs().size());
  for (const Binding& input : engine.inputs()) context.bind(input.name, Item(operands.tensor(input.name)));
  context.run();
  const Item want = run_reference(*graph, inputs).at(0);
  const Tensor got = context.output("y").tensor;
  ASSERT_EQ(got.dtype(), want.tensor.dtype());
  ASSERT_EQ(got.shape(), want.tensor.shape());
  Tensor a = Tensor::allocate(DType::f64, got.shape()), b = Tensor::allocate(DType::f64, got.shape());
  copy_tensor(got, a);
  copy_tensor(want.tensor, b);
  for (std::size_t i = 0; i < a.as<double>().size(); ++i)
    ASSERT_NEAR(a.as<double>()[i], b.as<double>()[i], 1e-4) << i;
}

INSTANTIATE_TEST_SUITE_P(Usual, ReproducerFiles, testing::ValuesIn(usual),
                         [](const auto& info) { return std::string(info.param.name); });

} // namespace
} // namespace lanner
