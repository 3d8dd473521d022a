#pragma once
// Combines two statements about a value's type.

#include "graph/type/type.h"

namespace lanner {

/// `inferred` with the more exact parts of `declared`; a default-constructed `declared` says nothing. Symbols
/// in `fresh` were created by this inference and are replaced. Throws Error{invalid_argument} on
/// contradiction.
Type merge_types(const Type& inferred, const Type& declared, const Symbols& symbols,
                 const std::set<std::string>& fresh);

} // namespace lanner
