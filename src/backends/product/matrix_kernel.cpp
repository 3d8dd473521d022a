#include "backends/product/matrix_kernel.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "backends/config_text.h"
#include "backends/cuda/launch_cache.h"
#include "backends/cuda/storage.h"
#include "backends/product/matrix_tiles.h"
#include "base/check.h"
#include "device/cuda/code.h"
#include "device/cuda/nvrtc.h"
#include "device/cuda/tensor_map.h"

namespace lanner::cuda {
namespace {

constexpr int least_capability = 80;

/// What a bulk plan's tensor maps describe, and the inputs that they are made of.
struct MappedInput {
  TensorBoxes boxes;
  std::size_t input = 0;
};

std::vector<MappedInput> mapped_inputs(const MatrixPlan& plan, const std::vector<std::size_t>& inputs) {
  if (!plan.tile.bulk) return {};
  std::vector<MappedInput> mapped{{boxes_of_a(plan), inputs[0]}, {boxes_of_b(plan), inputs[1]}};
  const auto staged = staged_step(plan);
  if (!staged) return mapped;
  const auto with_operand = [](const MatrixStep& step) { return step.operand.has_value(); };
  const auto before = std::ranges::count_if(std::span(plan.problem.steps).first(*staged), with_operand);
  const bool zero = plan.problem.bytes && plan.problem.bytes->zero_type;
  mapped.push_back({boxes_of_staged(plan), inputs[(zero ? 3 : 2) + static_cast<std::size_t>(before)]});
  return mapped;
}

class MatrixKernel final : public Kernel {
public:
  MatrixKernel(const Gpu& gpu, const MatrixPlan& plan, std::vector<std::size_t> inputs,
               std::vector<Tensor> columns)
      : inputs_(std::move(inputs)), columns_(std::move(columns)), numbers_(matrix_numbers(plan.problem)),
        mapped_(mapped_inputs(plan, inputs_)),
        workspace_(plan.workspace()), grid_{static_cast<unsigned>(plan.blocks(gpu.multiprocessors())),
                                            static_cast<unsigned>(plan.tile.threads()),
                                            static_cast<unsigned>(plan.shared_bytes())},
        join_grid_{static_cast<unsigned>(plan.join_blocks()), MatrixPlan::join_threads, 0} {
    const std::string source = matrix_source(plan);
    matrix_ = compiled_function(gpu, source, "matrix", grid_.shared_bytes);
    if (workspace_ > 0) join_ = compiled_function(gpu, source, "join_sums");
  }

  std::size_t workspace() const override { return workspace_; }
  bool on_stream() const override { return true; }

  /// Parameters are a and b, or tensor maps; the partial sums, if any; then those of the finish (values of
  /// columns, the steps' operands, numbers, the result), which with the partial sums are also the second
  /// kernel's.
  void launch(const Launch& launch) const override {
    std::array<const void*, most_matrix_operands + 6> pointers;
    std::array<TensorMap, 3> maps;
    std::array<void*, most_matrix_operands + 8> arguments;
    std::size_t head = 0, count = 2; // Of pointers, a and b are the first two.
    const auto aligned = [&](std::size_t input) {
      check_aligned(launch.inputs[input], "product");
      return launch.inputs[input];
    };
    for (const auto& [boxes, input] : mapped_) {
      maps[head] = tensor_map(boxes, aligned(input));
      arguments[head] = &maps[head];
      ++head;
    }
    for (; head < 2; ++head) {
      pointers[head] = aligned(inputs_[head]);
      arguments[head] = &pointers[head];
    }
    if (join_) pointers[count++] = launch.workspace;
    for (const Tensor& column : columns_) pointers[count++] = column.data();
    for (std::size_t i = 2; i < inputs_.size(); ++i) pointers[count++] = launch.inputs[inputs_[i]];
    const std::size_t behind = head + count - 2;
    for (std::size_t i = 2; i < count; ++i) arguments[head + i - 2] = &pointers[i];
    if (!numbers_.empty()) arguments[behind] = const_cast<float*>(numbers_.data());
    pointers[count] = launch.outputs[0];
    arguments[numbers_.empty() ? behind : behind + 1] = &pointers[count];
    queue(matrix_, grid_, launch, arguments.data());
    if (join_) queue(join_, join_grid_, launch, arguments.data() + head);
  }

private:
  static void queue(FunctionHandle function, const Grid& grid, const Launch& launch, void** arguments) {
    check(driver().launch(function, grid.blocks, 1, 1, grid.threads, 1, 1, grid.shared_bytes,
                          static_cast<StreamHandle>(launch.stream.handle), arguments, nullptr),
          "cuLaunchKernel");
  }

  std::vector<std::size_t> inputs_;
  std::vector<Tensor> columns_;
  std::vector<float> numbers_;      ///< Passed by value.
  std::vector<MappedInput> mapped_; ///< Empty without tensor maps.
  std::size_t workspace_;
  Grid grid_, join_grid_;
  FunctionHandle matrix_ = nullptr, join_ = nullptr;
};

} // namespace

std::string matrix_missing(const Target& target) {
  if (!nvrtc_status().found) return "NVRTC is not available: " + nvrtc_status().reason;
  if (Gpu::get(target.device).capability() < least_capability) return "needs a GPU of compute capability 8.0";
  return {};
}

bool takes_steps(const Operand& bias, const Epilogue& epilogue, std::string& reason) {
  if (epilogue.size() >= most_matrix_operands) {
    reason = fmt::format("the epilogue has {} steps, at most {} are supported", epilogue.size(),
                         most_matrix_operands - 1);
    return false;
  }
  const auto takes = [](const Operand& operand) { return operand.is_input() && is_real(operand.dtype()); };
  if ((bias && !takes(bias)) || std::ranges::any_of(epilogue, [&](const EpilogueStep& step) {
        return step.binary && !takes(step.operand);
      })) {
    reason = "the bias and the epilogue's operands must be f32, f16 or bf16 inputs "
             "of the group";
    return false;
  }
  return true;
}

Storage step_storage(const EpilogueStep& step, const Storage& full, const Target& target) {
  return step.spread == Spread::full ? full : on_device(target, Layout{});
}

std::int64_t leading_of(const Storage& storage, std::int64_t columns) {
  return storage.within.axis == 1 ? storage.within.size : columns;
}

std::vector<std::size_t> add_steps(MatrixProblem& problem, const Operand& bias, const Epilogue& epilogue,
                                   const Tactic& tactic) {
  std::vector<std::size_t> inputs;
  const std::int64_t columns = problem.columns * (problem.side_by_side ? problem.batch : 1);
  const auto operand_of = [&](const Operand& operand, Spread spread) {
    const Storage& storage = tactic.inputs.at(operand.index);
    inputs.push_back(operand.index);
    return MatrixOperand{storage.dtype.value_or(operand.dtype()), spread,
                         spread == Spread::full ? leading_of(storage, columns) : 0};
  };
  if (bias) problem.steps.push_back({&formula_of(BinaryKind::add), {}, operand_of(bias, Spread::channel)});
  for (const EpilogueStep& step : epilogue) {
    if (step.binary)
      problem.steps.push_back({&formula_of(*step.binary), {}, operand_of(step.operand, step.spread)});
    else
      problem.steps.push_back({step.activation.formula, {step.activation.alpha, step.activation.beta}, {}});
  }
  return inputs;
}

void offer_plans(TacticList& list, const MatrixProblem& problem, const Tactic& tactic, const Target& target) {
  const Gpu& gpu = Gpu::get(target.device);
  for (const EstimatedPlan& estimated : matrix_plans(problem, {gpu.capability(), gpu.multiprocessors()})) {
    Tactic one = tactic;
    ConfigText config;
    config.set("tile", estimated.plan.tile.name());
    config.set("split", estimated.plan.split);
    one.config = config.bytes();
    one.estimate = estimated.seconds;
    one.accumulates = problem.bytes ? DType::i32 : DType::f32;
    list.tactics.push_back(std::move(one));
  }
}

std::unique_ptr<Kernel> matrix_kernel(const Preparation& preparation, const MatrixProblem& problem,
                                      std::vector<std::size_t> inputs, std::vector<Tensor> columns) {
  const Gpu& gpu = Gpu::get(preparation.target.device);
  const ConfigText config(preparation.tactic.config);
  const auto tile = matrix_tile(config.text("tile"));
  const std::int64_t split = config.integer("split"),
                     tiles = tile ? (problem.depth + tile->depth - 1) / tile->depth : 0;
  lanner::check(tile && split >= 1 && split <= tiles && split <= 64, ErrorCode::bad_data,
                "cuda: own products have no tile {} in {} parts: build the plan again", config.text("tile"),
                split);
  MatrixPlan plan{problem, *tile, split};
  plan.problem.constant_b = preparation.constants[inputs.at(1)] != nullptr;
  lanner::check(runs_on(plan, gpu.capability()), ErrorCode::unsupported,
                "cuda: own products: tile {} does not fit this GPU: build the plan again", tile->name());
  return std::make_unique<MatrixKernel>(gpu, plan, std::move(inputs), std::move(columns));
}

} // namespace lanner::cuda
