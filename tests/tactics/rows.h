#pragma once
// The log of a sweep: JSON lines, one for each tested tactic, problem and build.

#include <filesystem>
#include <set>
#include <string>

#include <nlohmann/json.hpp>

#include "tactics/problems.h"
#include "tactics/tactic_run.h"

namespace lanner::sweep {

using Row = nlohmann::json;

/// Shared by rows of one machine: the device's name and the versions of libraries.
struct Machine {
  std::string device, libraries;
};
Machine machine_of(const Target& target);

/// Key of a tactic, equal on machines with the same libraries.
std::string key_of(const Problem& problem, const Offer& offer, const Machine& machine, const Target& target);
/// The same for a whole problem, with all its tactics, or a build.
std::string key_of(const std::string& problem, const Machine& machine, const Target& target);

/// A row without a verdict, for a tactic about to be tested.
Row tactic_row(const Problem& problem, const Offer& offer, const Machine& machine, const std::string& key);
Row problem_row(const Problem& problem, const Machine& machine, const std::string& key);
Row build_row(const Origin& origin, std::int64_t batch, const Machine& machine, const std::string& key);

/// Writes the finding into a row. `verdict` is `right`, `wrong` or `untried`, `reason` says why.
void conclude(Row& row, const Finding& finding, double seconds);

/// Keys of rows in a log, which need not exist. Throws Error{bad_data} that names the line.
std::set<std::string> keys_in(const std::filesystem::path& log);

} // namespace lanner::sweep
