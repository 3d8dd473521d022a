#pragma once
// Verifies every node of a lowered network on operands computed by the interpreter.

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <lanner/engine.h>
#include <lanner/item.h>

#include "engine/state.h"

namespace lanner {

/// The variant under test, and its engine.
struct VerifiedNetwork {
  const EngineState& state;
  const MadeVariant& made;
};

/// How each node is tested.
struct NodeTrials {
  std::size_t runs = 10;
  std::size_t contexts = 2; ///< Concurrent trials of one kernel.
};

/// A node that differs, with its operands: one tensor per input, row-major on the host and of the inputs'
/// types; undefined for an absent one.
struct DifferingNode {
  const Node* node = nullptr;
  std::vector<Tensor> operands;
};

/// Result of verifying all nodes.
struct NodeFindings {
  std::size_t nodes = 0, defined = 0, skipped = 0; ///< As in Verification.
  std::vector<NodeDifference> differences;         ///< In execution order.
  std::optional<DifferingNode> first;              ///< The first of them.
};

/// The definition of a node failed on values computed by definitions.
class DefinitionFailed : public Error {
public:
  using Error::Error;
};

/// Runs the network by its definitions, node by node, and each node's kernel from the program on the same
/// operands. `inputs` has one item per input of the graph, on the host. Reports progress in nodes. Throws
/// DefinitionFailed, and Error{cancelled}.
NodeFindings verify_nodes(const VerifiedNetwork& network, std::span<const Item> inputs,
                          const NodeTrials& trials, const Control& control);

/// Whether two runs of a node, or of one within it, may differ: random numbers without a seed.
bool draws_anew(const Node& node);

/// As Engine::verify.
Verification verify_engine(const Engine& engine, const VerifyOptions& options);

} // namespace lanner
