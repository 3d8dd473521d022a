#pragma once
// The exact type of an existing value.

#include "graph/op.h"
#include "graph/type/type.h"

namespace lanner {

/// The exact type of an item; parts that an empty list or an absent optional leaves open are as `declared`.
Type type_of(const Item& item, const Type& declared);

} // namespace lanner
