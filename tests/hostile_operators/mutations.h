#pragma once
// What is done to a valid node so that it is one that nobody sends with good intent.

#include <functional>
#include <string>
#include <vector>

#include "graph/op.h"
#include "hostile_operators/seed.h"

namespace lanner::hostile {

struct Mutation {
  std::string name; ///< `operand 1: f16`; what is told of a finding.
  std::function<void(Seed&)> apply;
};

/// In a fixed order: each element type, rank, size, count and value of every operand, and each kind, length
/// and value of every attribute that the operator has. One changes a seed that others have changed, too.
std::vector<Mutation> mutations_of(const Seed& seed, const OpDef& op);

} // namespace lanner::hostile
