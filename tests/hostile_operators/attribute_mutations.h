#pragma once
// Attributes with wrong kinds, lengths and values.

#include "hostile_operators/mutations.h"

namespace lanner::hostile {

void add_attribute_mutations(std::vector<Mutation>& list, const Seed& seed, const OpDef& op);

} // namespace lanner::hostile
