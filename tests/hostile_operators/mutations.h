#pragma once
// Changes that turn a valid node into a hostile one.

#include <functional>
#include <string>
#include <vector>

#include "graph/op.h"
#include "hostile_operators/seed.h"

namespace lanner::hostile {

struct Mutation {
  std::string name; ///< `operand 1: f16`; shown with a finding.
  std::function<void(Seed&)> apply;
};

/// In a fixed order: each element type, rank, size, count and value of every operand, and each kind, length
/// and value of every attribute of the operator. A mutation may be applied to a seed that others have
/// changed.
std::vector<Mutation> mutations_of(const Seed& seed, const OpDef& op);

} // namespace lanner::hostile
