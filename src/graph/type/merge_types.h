#pragma once
// What two statements about one value's type amount to.

#include "graph/type/type.h"

namespace lanner {

/// `inferred` with the more exact parts of `declared`; a default-constructed `declared` says nothing. Symbols
/// in `fresh` were invented by this inference and give way. Throws Error{invalid_argument} on contradiction.
Type merge_types(const Type& inferred, const Type& declared, const Symbols& symbols,
                 const std::set<std::string>& fresh);

} // namespace lanner
