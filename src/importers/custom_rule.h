#pragma once
// Source operators that become operators from outside.

#include "graph/op.h"
#include "importers/builder.h"

namespace lanner {

/// Where `ops` has a custom operator of this name, the rule that makes its node: inputs as they are,
/// attributes as one JSON text (lanner/operator.h); else nothing.
Rule custom_rule(const OpTable& ops, const std::string& name);

} // namespace lanner
