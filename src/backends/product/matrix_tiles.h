#pragma once
// Selection of tiles for a product or convolution.

#include <string_view>
#include <vector>

#include "backends/product/matrix_source.h"

namespace lanner::cuda {

/// The GPU that plans run on.
struct MatrixMachine {
  int capability = 90, multiprocessors = 132;
};

/// Maximum shared memory of a block, in bytes.
std::int64_t most_shared_bytes(int capability);

/// Whether a GPU of this compute capability has the instructions and shared memory for a plan.
bool runs_on(const MatrixPlan& plan, int capability);

struct EstimatedPlan {
  MatrixPlan plan;
  double seconds = 0; ///< Estimated from waves of blocks and from bytes read and written.
};
/// A few plans, the fastest by estimate first.
std::vector<EstimatedPlan> matrix_plans(const MatrixProblem& problem, const MatrixMachine& machine);

/// The listed tile of this name; nothing where there is none.
std::optional<MatrixTile> matrix_tile(std::string_view name);

} // namespace lanner::cuda
