// Rules of operands and attributes: every operator has them, and they are enforced.

#include <cmath>

#include <gtest/gtest.h>

#include "expect_error.h"
#include "graph/op.h"
#include "ops/node_run.h"
#include "ops/table/table.h"

namespace lanner::test {

/// The result of inference, without the node's name.
static std::string inference(const NodeSpec& spec) {
  const std::string text = inferred(spec), node = "error: node " + spec.op + " %y: ";
  return text.starts_with(node) ? "error: " + text.substr(node.size()) : text;
}

TEST(OperandRules, EveryOperatorHasRules) {
  const OpTable table = builtin_ops();
  for (const std::string& name : table.names()) {
    const OpDef& op = table.get(name);
    const auto count = static_cast<int>(op.operands.size());
    if (op.max_inputs == OpDef::any)
      EXPECT_GE(count, 1) << name;
    else
      EXPECT_EQ(count, op.max_inputs) << name;
    for (const OperandSpec& operand : op.operands) {
      EXPECT_FALSE(operand.name.empty()) << name;
      EXPECT_FALSE(operand.types.empty()) << name << ": " << operand.name;
    }
    for (const AttributeSpec& attribute : op.attributes)
      EXPECT_TRUE(attribute.rule.stated) << name << ": " << attribute.name;
  }
}

TEST(OperandRules, TypesAreRangesInText) {
  EXPECT_EQ(DTypeSet({DType::f32, DType::f64, DType::i8, DType::u8, DType::i16, DType::string}).to_string(),
            "f32, f64, i8 to i16 or string");
  EXPECT_EQ(DTypeSet(DType::boolean).to_string(), "bool");
}

TEST(OperandRules, MismatchedTypesAreRefused) {
  EXPECT_EQ(inference({"conv", {"f32[1, 3, 8, 8]", "f16[4, 3, 3, 3]"}}),
            "error: input 1 (weights) is f16, expected f32 as input 0 (x) is; cast one of them");
  EXPECT_EQ(inference({"conv", {"f32[1, 3, 8, 8]", "bool[4, 3, 3, 3]"}}),
            "error: input 1 (weights) is bool, expected f32 to bf16");
  EXPECT_EQ(inference({"conv", {"f32[1, 3, 8, 8]", "f32[4, 3, 3, 3]", "f32[5]"}}),
            "error: input 2 (bias) has 5 in axis 0, expected 4 as axis 0 of input 1 (weights)");
  EXPECT_EQ(inference({"relu", {"seq(f32[2])"}}), "error: input 0 (x) is seq(f32[2]), expected a tensor");
  EXPECT_EQ(inference({"sequence_length", {"f32[2]"}}),
            "error: input 0 (sequence) is f32[2], expected a sequence");
}

TEST(OperandRules, MismatchedShapesAreRefused) {
  EXPECT_EQ(inference({"det", {"f32[2, 3, 4]"}}),
            "error: input 0 (x) has 4 in axis 2, expected 3 as axis 1 of input 0 (x)");
  EXPECT_EQ(inference({"average_pool", {"f32[1, 3]"}, attributes({{"kernel_shape", ints({2})}})}),
            "error: input 0 (x) is f32[1, 3], expected rank 3 or more as of [N, C, _, ...]");
  EXPECT_EQ(inference({"swi_glu", {"f32[16, 4]", "f32[2, 4]"}}),
            "error: the operands are f32[16, 4] and f32[2, 4], expected equal shapes");
  EXPECT_EQ(inference({"swi_glu", {"f32[N, 4]", "f32[2, 4]"}}), "f32[N, 4]");
  EXPECT_EQ(inference({"clip", {"f32[3]", "f32[2]"}}),
            "error: input 1 (min) is f32[2], expected one element");
}

TEST(OperandRules, AttributesHaveRanges) {
  const auto lrn = [](std::int64_t size, double alpha) {
    return inference({"lrn", {"f32[1, 3, 4]"}, attributes({{"size", size}, {"alpha", alpha}})});
  };
  EXPECT_EQ(lrn(3, 1e-4), "f32[1, 3, 4]");
  EXPECT_EQ(lrn(0, 1e-4), "error: attribute size holds 0, expected 1 to 2147483647");
  EXPECT_EQ(lrn(3, std::nan("")), "error: attribute alpha holds nan, expected a finite number");
  EXPECT_EQ(inference({"pad", {"f32[3]", i64s({1, 1})}, attributes({{"mode", std::string("odd")}})}),
            "error: attribute mode holds \"odd\", expected constant, reflect, edge, wrap");
  EXPECT_EQ(inference({"lrn", {"f32[1, 3, 4]"}}), "error: attribute size is missing");
  EXPECT_EQ(inference({"lrn", {"f32[1, 3, 4]"}, attributes({{"size", 3.0}})}),
            "error: attribute size: expected integer, got real");
  EXPECT_EQ(inference({"resize",
                       {"f32[1, 1, 4, 4]", std::nullopt, std::nullopt, "i64[0]"},
                       attributes({{"axes", ints({})}})}),
            "error: attribute axes has 0 entries, expected 1 to 64");
}

TEST(OperandRules, NegativeSizesAreRefused) {
  EXPECT_EQ(inference({"expand", {"f32[N]", i64s({-3})}}),
            "error: expand: the result would be f32[-3], expected no size below 0");
}

TEST(OperandRules, TruthValuesAreTwo) {
  const Tensor stored = tensor<std::uint8_t>({0, 1, 2, 255}, {4});
  const Tensor truths = run({"bit_cast", {stored}, attributes({{"to", DType::boolean}})});
  const auto* bytes = static_cast<const std::uint8_t*>(truths.data());
  EXPECT_EQ(std::vector<std::uint8_t>(bytes, bytes + 4), (std::vector<std::uint8_t>{0, 1, 1, 1}));
}

TEST(OperandRules, TooSmallOperandsAreRefusedBeforeAKernelRuns) {
  const Tensor x = tensor<std::uint8_t>({1, 2, 3, 4}, {1, 1, 4}),
               w = tensor<std::uint8_t>({1, 1, 1}, {3, 1, 1});
  const Tensor scale = f32s({1}), zero = tensor<std::uint8_t>({0}, {1});
  const Tensor bias = tensor<std::int32_t>({1}, {1});
  LANNER_EXPECT_ERROR(run({"q_linear_conv", {x, scale, zero, w, scale, zero, scale, zero, bias}}),
                      ErrorCode::invalid_argument, "input 8 (bias) has 1 in axis 0, expected 3");
  LANNER_EXPECT_ERROR(
      run({"attention", {f32s({1}, {1, 1, 1, 1}), f32s({}, {1, 0, 1, 1}), f32s({}, {1, 0, 1, 1})}}),
      ErrorCode::invalid_argument, "the key has no heads");
  LANNER_EXPECT_ERROR(
      run({"resize",
           {f32s({1, 2, 3, 4}, {1, 1, 2, 2}), f32s({0, 1}), std::nullopt, i64s({1, 1, 3, 3})},
           attributes({{"coordinate_transformation_mode", std::string("tf_crop_and_resize")}})}),
      ErrorCode::invalid_argument, "roi has 2 values, expected 8");
}

} // namespace lanner::test
