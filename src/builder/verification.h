#pragma once
// Every node of a lowered network on what the interpreter gives it.

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <lanner/engine.h>
#include <lanner/item.h>

#include "engine/state.h"

namespace lanner {

/// The variant that is verified, and the engine that it belongs to.
struct VerifiedNetwork {
  const EngineState& state;
  const MadeVariant& made;
};

/// How each node is tried.
struct NodeTrials {
  std::size_t runs = 10;
  std::size_t contexts = 2; ///< Trials of one kernel side by side.
};

/// A node that differs with what it read: one tensor for each of its inputs, row-major on the host and of the
/// inputs' types; undefined for an absent one.
struct DifferingNode {
  const Node* node = nullptr;
  std::vector<Tensor> operands;
};

/// What a walk through the network found.
struct NodeFindings {
  std::size_t nodes = 0, defined = 0, skipped = 0; ///< As in Verification.
  std::vector<NodeDifference> differences;         ///< In execution order.
  std::optional<DifferingNode> first;              ///< Of the first of them.
};

/// The definition of a node failed on values that no kernel has touched.
class DefinitionFailed : public Error {
public:
  using Error::Error;
};

/// Runs the network by its definitions, node by node, and each node's kernel, as the program has it, on the
/// same operands. `inputs` has one item for each of the graph's, on the host. Reports progress in nodes.
/// Throws DefinitionFailed, and Error{cancelled}.
NodeFindings verify_nodes(const VerifiedNetwork& network, std::span<const Item> inputs,
                          const NodeTrials& trials, const Control& control);

/// Whether two runs of a node, or of one within it, may differ: random numbers without a seed.
bool draws_anew(const Node& node);

/// As Engine::verify.
Verification verify_engine(const Engine& engine, const VerifyOptions& options);

} // namespace lanner
