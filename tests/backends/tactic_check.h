#pragma once
// Runs every tactic that the backends offer for a node against the operators' reference kernels.

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <lanner/tensor.h>

#include "graph/backend.h"
#include "graph/graph.h"

namespace lanner {

struct TacticCheck {
  int threads = 2;
  double tolerance = 2e-5; ///< Relative to the largest magnitude of the reference result; for f32.
  Device device = {};
  std::vector<DType> precisions = {DType::f32};
  std::set<std::string> without = {}; ///< Kernels whose tactics are skipped.
  bool narrow_only = false;           ///< Only tactics that store a value of f32 as f16 or bf16.
};

/// The tactics of a CPU with AVX512-BF16 that store values as bf16. Our own kernels run on every CPU.
TacticCheck storing_bf16();
/// Why oneDNN's kernels cannot multiply bf16 here; empty where they can.
std::string missing_bf16_products();

/// Parses `ir` (result types may be `f32[*]`), runs the last node of the body, and expects of each tactic:
/// the reference result in the declared storage, zero padding, unchanged inputs (except one used in place);
/// and the same where values that it takes strided lie within larger ones, whose other bytes are unchanged.
/// Returns `backend/kernel` of every tactic that ran, plus `backend/kernel strided`, and `backend/kernel
/// late` for those with data-dependent sizes. Weights and data are random from a fixed seed. If nothing is
/// offered nothing is checked: see expect_offered().
[[nodiscard]] std::set<std::string> check_tactics(std::string_view ir, const TacticCheck& check = {});

/// Why a backend is unavailable on this machine; empty where it is available.
std::string missing_backend(std::string_view name);
/// Expects each of `kernels` (`backend/kernel`) among those that check_tactics() ran. Where one is missing
/// because its backend is unavailable, the test is skipped with the reason.
void expect_offered(const std::set<std::string>& ran, const std::vector<std::string>& kernels);
/// Expects none of them; likewise skipped where their backend is unavailable.
void expect_refused(const std::set<std::string>& ran, const std::vector<std::string>& kernels);

/// A parsed graph with one node to run.
struct NodeCase {
  std::unique_ptr<Graph> graph;
  Node* node = nullptr;
  std::vector<Tensor> inputs;  ///< Row-major; undefined where absent.
  std::vector<Tensor> results; ///< By the reference.
};
/// `given`: values of the graph's inputs where they are not to be drawn.
NodeCase make_case(std::string_view ir, const std::vector<Tensor>& given = {});

/// A tactic made ready with packed inputs and outputs.
struct ReadyTactic {
  std::unique_ptr<Kernel> kernel;
  std::vector<Tensor> inputs, outputs; ///< On the tactic's device.
  Tensor workspace;
  Device device;

  void launch();
};
ReadyTactic make_ready(const NodeCase& node_case, const Backend& backend, const Tactic& tactic,
                       const Target& target);

} // namespace lanner
