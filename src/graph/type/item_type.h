#pragma once
// What a value that is there says of its type.

#include "graph/op.h"
#include "graph/type/type.h"

namespace lanner {

/// The exact type of an item; what it does not say, of an empty list or an absent optional, is as `declared`.
Type type_of(const Item& item, const Type& declared);

} // namespace lanner
