#pragma once
// Tactics and kernels of matrix_source.h.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/epilogue.h"
#include "backends/family.h"
#include "backends/product/matrix_source.h"
#include "device/cuda/gpu.h"

namespace lanner::cuda {

/// Operands of steps that a launch has room for.
inline constexpr std::size_t most_matrix_operands = 16;

/// Why such kernels cannot run here; empty where they can.
std::string matrix_missing(const Target& target);

/// Whether the kernels support these steps: floating-point operands that are inputs of the group, few enough
/// for a launch.
bool takes_steps(const Operand& bias, const Epilogue& epilogue, std::string& reason);

/// Storage of a step's operand: `full` for one of the result's shape, row-major in its own type for others.
Storage step_storage(const EpilogueStep& step, const Storage& full, const Target& target);

/// Elements between rows of a matrix with so many columns: rows of a matrix, or pixels of channels-last
/// images, that may lie within a larger value along axis 1.
std::int64_t leading_of(const Storage& storage, std::int64_t columns);

/// Adds the bias and the steps, stored as `tactic` says. Returns the inputs that they read, in order.
std::vector<std::size_t> add_steps(MatrixProblem& problem, const Operand& bias, const Epilogue& epilogue,
                                   const Tactic& tactic);

/// Offers `tactic` with each of the plans that suit the problem.
void offer_plans(TacticList& list, const MatrixProblem& problem, const Tactic& tactic, const Target& target);

/// The kernel for the plan that the tactic's configuration names. `inputs` are those of a, b and the steps,
/// before which that of a's zero point stands, if it is a value of the run. `columns`: the values of each
/// column that a product of bytes begins its steps with, on the device.
std::unique_ptr<Kernel> matrix_kernel(const Preparation& preparation, const MatrixProblem& problem,
                                      std::vector<std::size_t> inputs, std::vector<Tensor> columns = {});

} // namespace lanner::cuda
