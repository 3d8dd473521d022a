#pragma once
// Which tiles a product or a convolution on tensor cores is tried with.

#include <string_view>
#include <vector>

#include "backends/product/matrix_source.h"

namespace lanner::cuda {

/// Of a GPU that plans run on.
struct MatrixMachine {
  int capability = 90, multiprocessors = 132;
};

/// Shared memory that a block may ask for, in bytes.
std::int64_t most_shared_bytes(int capability);

/// Whether a GPU of this compute capability has the instructions and the memory that a plan needs.
bool runs_on(const MatrixPlan& plan, int capability);

struct EstimatedPlan {
  MatrixPlan plan;
  double seconds = 0; ///< A guess: by waves of blocks, and by what they read and write.
};
/// A few plans, the one that is expected to be the fastest first.
std::vector<EstimatedPlan> matrix_plans(const MatrixProblem& problem, const MatrixMachine& machine);

/// The tile of the list that has this name; nothing where there is none.
std::optional<MatrixTile> matrix_tile(std::string_view name);

} // namespace lanner::cuda
