#pragma once
// Networks as in builds, at the sizes of a sweep.

#include <memory>

#include <lanner/cancel.h>

#include "graph/graph.h"
#include "tactics/problems.h"
#include "tactics/settings.h"

namespace lanner::sweep {

/// A model, canonical, with open sizes.
std::unique_ptr<Graph> import_network(const std::string& path);
/// Whether an input's first dim is open.
bool has_open_batch(const Graph& network);
/// The network at a batch size: every open first dim is `batch`, other open dims have their size of
/// `settings` or else 1.
std::unique_ptr<Graph> network_at(const Graph& network, std::int64_t batch, const Settings& settings,
                                  const Control& control);

/// Adds the problems of a graph of concrete shapes with all offers for them.
void add_all(Problems& problems, std::unique_ptr<Graph> graph, const Origin& origin, const Control& control);
/// Builds within `budget` seconds; adds problems with the chosen tactic and the runner-up.
void add_chosen(Problems& problems, std::unique_ptr<Graph> graph, const Origin& origin, double budget,
                const Control& control);

} // namespace lanner::sweep
