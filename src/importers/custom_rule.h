#pragma once
// Source operators that map to custom operators.

#include "graph/op.h"
#include "importers/builder.h"

namespace lanner {

/// Where `ops` has a custom operator of this name, the rule that makes its node: inputs unchanged, attributes
/// as one JSON text (lanner/operator.h); else an empty function.
Rule custom_rule(const OpTable& ops, const std::string& name);

} // namespace lanner
