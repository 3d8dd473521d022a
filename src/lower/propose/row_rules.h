#pragma once
// Which operators can be computed row by row.

#include <optional>

#include "graph/graph.h"

namespace lanner {

/// The row count of a value: its first dim, where that is data-dependent and all others are known before.
/// Nothing for any other value.
std::optional<Dim> row_count(const Value& value);

/// The row count along which `node` works row by row on a device: each row of its one output depends on that
/// row of the inputs with as many rows, and on inputs of static size, which all rows share. Nothing where
/// that does not hold, is not known of the operator, or does not pay on the device.
std::optional<Dim> works_by_rows(const Node& node, Device device);

/// Whether it is worth a program: products and convolutions.
bool is_heavy(const Node& node);

} // namespace lanner
