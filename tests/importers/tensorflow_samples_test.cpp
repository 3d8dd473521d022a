// Every rule of TensorFlow's operators against TensorFlow's answers, without TensorFlow.

#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "importers/importing.h"
#include "importers/tensorflow/rules/rules.h"
#include "importers/tensorflow_samples.h"
#include "ops/interpreter/interpreter.h"

namespace lanner::test {
namespace {

double tolerance_of(const TensorFlowSample& sample, DType type) {
  if (sample.tolerance > 0) return sample.tolerance;
  switch (type) {
  case DType::f32:
    return 4e-6;
  case DType::f64:
    return 1e-8; // the numbers in the files have nine digits
  case DType::f16:
    return 4e-3;
  case DType::bf16:
    return 3.2e-2;
  default:
    return 0;
  }
}

std::vector<double> as_reals(const Tensor& tensor) {
  Tensor wide = Tensor::allocate(DType::f64, tensor.shape());
  copy_tensor(tensor, wide);
  const auto elements = wide.as<double>();
  return {elements.begin(), elements.end()};
}

void expect_near(const Tensor& got, const Tensor& expected, double relative) {
  ASSERT_EQ(to_string(got.dtype()), to_string(expected.dtype()));
  ASSERT_EQ(got.shape().to_string(), expected.shape().to_string());
  const std::vector<double> ours = as_reals(got), theirs = as_reals(expected);
  double largest = 0;
  for (double one : theirs)
    if (std::isfinite(one)) largest = std::max(largest, std::abs(one));
  for (std::size_t i = 0; i < ours.size(); ++i) {
    if (ours[i] == theirs[i] || (std::isnan(ours[i]) && std::isnan(theirs[i]))) continue;
    EXPECT_LE(std::abs(ours[i] - theirs[i]), relative * std::max(std::abs(theirs[i]), 0.05 * largest))
        << "element " << i << ": " << ours[i] << ", expected " << theirs[i];
  }
}

TEST(TensorFlowSamples, GiveTensorFlowsAnswers) {
  for (const TensorFlowSample& sample : tensorflow_samples()) {
    SCOPED_TRACE(sample.name);
    try {
      const auto graph = imported(graph_def_of(sample));
      const std::vector<Tensor> fed = fed_to(sample);
      const std::vector<Item> results = run_reference(*graph, std::vector<Item>(fed.begin(), fed.end()));
      ASSERT_LE(results.size(), sample.answers.size());
      for (std::size_t i = 0; i < results.size(); ++i) {
        const Tensor expected = tensor_of(sample.answers[i]);
        expect_near(results[i].tensor, expected, tolerance_of(sample, expected.dtype()));
      }
    } catch (const Error& error) {
      ADD_FAILURE() << error.message();
    }
  }
}

/// Their tests are elsewhere: nodes without answers of their own, and those that need a function or each
/// other.
const std::set<std::string>& tested_elsewhere() {
  static const std::set<std::string> names{"Const",
                                           "AccumulateNV2",
                                           "CheckNumericsV2",
                                           "DeepCopy",
                                           "Copy",
                                           "Print",
                                           "_CopyFromHostToGpu",
                                           "_CopyFromGpuToHost",
                                           "PlaceholderWithDefault",
                                           "CheckNumerics",
                                           "EnsureShape",
                                           "If",
                                           "StatelessIf",
                                           "While",
                                           "StatelessWhile",
                                           "Case",
                                           "StatelessCase",
                                           "ReadVariableOp",
                                           "ResourceGather",
                                           "TopK",
                                           "RandomUniform",
                                           "RandomStandardNormal",
                                           "LogicalXor",
                                           "BatchMatrixInverse",
                                           "BatchMatrixDeterminant",
                                           "_FusedBatchNormEx",
                                           "_FusedDepthwiseConv2dNative",
                                           "FusedConv2DBiasActivation"};
  return names;
}

TEST(TensorFlowSamples, CoverEveryRule) {
  std::set<std::string> covered;
  for (const TensorFlowSample& sample : tensorflow_samples()) covered.insert(sample.op);
  for (const auto& [name, rule] : tensorflow::operator_rules()) {
    if (rule.refused || name.starts_with("TensorList") || name.starts_with("TensorArray") ||
        name == "EmptyTensorList")
      continue;
    EXPECT_NE(covered.contains(name), tested_elsewhere().contains(name))
        << name << " needs a case in tests/python/tensorflow, or a test of its own and a line here";
  }
}

} // namespace
} // namespace lanner::test
