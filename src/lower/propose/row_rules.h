#pragma once
// Which operators give, row by row, what they give for all rows.

#include <optional>

#include "graph/graph.h"

namespace lanner {

/// The count of a value's rows: its first size, where that is known only while running and all others are
/// known before. Nothing for any other value.
std::optional<Dim> row_count(const Value& value);

/// The count along which `node` works row by row on a device: each row of its one output follows from that
/// row of those inputs that have as many rows, and from inputs of sizes known before running, which all rows
/// share. Nothing where that does not hold or is not known of the operator, or does not pay there.
std::optional<Dim> works_by_rows(const Node& node, Device device);

/// Whether it is worth a program: products and convolutions.
bool is_heavy(const Node& node);

} // namespace lanner
