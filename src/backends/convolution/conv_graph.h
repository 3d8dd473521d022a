#pragma once
// A convolution with its elementwise steps as cuDNN operation graphs, and the engines that run them.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "device/cuda/cudnn.h"

namespace lanner::cuda {

/// A tensor as cuDNN sees it: N, C, then two or three spatial dims.
struct TensorForm {
  std::vector<std::int64_t> dims, strides;
  cudnn::DataType type = cudnn::DataType::float32;
};

/// One pointwise operation on the running result.
struct PointwiseStep {
  cudnn::PointwiseMode mode;
  std::optional<std::size_t> operand; ///< Index into ConvProblem::operands, for binary modes.
  bool per_channel = false;           ///< The operand has one number per channel.
  std::optional<float> upper;         ///< relu: upper bound.
  float slope = 0;                    ///< relu: slope below 0. elu: alpha. swish, softplus: beta.
};

/// The computation: y = steps(conv(x, w)).
struct ConvProblem {
  TensorForm x, w, y;
  std::vector<std::int64_t> pre, post, strides, dilations;
  std::vector<PointwiseStep> steps;
  std::vector<TensorForm> operands;

  std::string text() const; ///< Equal for equal problems.
};

/// How a problem is split into graphs. `sum` is the graph shape for which cuDNN has precompiled kernels
/// without tensor cores: conv, + z, + bias, relu, with z scaled by 0 where there is none.
enum class ConvForm : std::uint8_t { fused, sum, split };
/// The forms that suit a problem, best first.
std::vector<ConvForm> conv_forms(const ConvProblem& problem);
/// Number of graphs of a form; run in order they compute the problem.
std::size_t conv_parts(ConvForm form);

/// What a tensor of a graph is bound to at launch.
enum class TensorRole : std::uint8_t { x, w, y, operand };
struct GraphTensor {
  std::int64_t uid;
  TensorRole role;
  std::size_t operand = 0;
};

/// A finalized operation graph and the descriptors it refers to.
struct OperationGraph {
  std::vector<cudnn::Descriptor> parts;
  cudnn::Descriptor graph;
  std::vector<GraphTensor> tensors;
};
/// Graph `part` of a form. Throws as cudnn::check does.
OperationGraph conv_graph(const ConvProblem& problem, ConvForm form, std::size_t part, cudnn::Handle handle);

/// An engine and its settings.
struct EngineChoice {
  std::int64_t engine = 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> knobs; ///< Type and value.
  std::string knob_text() const;                            ///< `3:1,5:0`.
  /// Throws Error{bad_data}.
  static EngineChoice parse(std::int64_t engine, std::string_view knobs);
  friend bool operator==(const EngineChoice&, const EngineChoice&) = default;
};
/// Numerical rules for engines.
struct EngineRules {
  bool exact = true; ///< f32 operands are not rounded for tensor cores.
  bool deterministic = false;
  bool direct = false; ///< Neither Winograd of any size nor FFT.
};
/// Adds the engines that cuDNN names in one mode and that meet the rules, best first, without duplicates.
/// Whether they work is not known yet.
void add_engines(std::vector<EngineChoice>& choices, const OperationGraph& graph, cudnn::HeuristicsMode mode,
                 const EngineRules& rules);

/// The execution plan of an operation graph for one engine. Immutable. Does not own the graph, which must
/// outlive it.
class GraphPlan {
public:
  /// Throws as cudnn::check does when the engine cannot do it.
  GraphPlan(const OperationGraph& graph, const EngineChoice& choice, cudnn::Handle handle);

  std::size_t workspace() const noexcept { return workspace_; }
  bool keeps(const EngineRules& rules) const;
  cudnn::DescriptorHandle handle() const noexcept { return plan_.handle(); }

private:
  std::vector<cudnn::Descriptor> parts_;
  cudnn::Descriptor plan_;
  std::vector<cudnn::NumericalNote> notes_;
  std::size_t workspace_ = 0;
};

} // namespace lanner::cuda
