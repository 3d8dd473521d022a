#pragma once
// The log of a sweep: JSON lines, one for each tactic, problem and build that was tried.

#include <filesystem>
#include <set>
#include <string>

#include <nlohmann/json.hpp>

#include "tactics/problems.h"
#include "tactics/tactic_run.h"

namespace lanner::sweep {

using Row = nlohmann::json;

/// What rows of one machine share: the device's name and the versions of what runs on it.
struct Machine {
  std::string device, libraries;
};
Machine machine_of(const Target& target);

/// Tells a tactic apart on every machine of the same libraries.
std::string key_of(const Problem& problem, const Offer& offer, const Machine& machine, const Target& target);
/// Tells a whole problem, with all its tactics, or a build apart likewise.
std::string key_of(const std::string& problem, const Machine& machine, const Target& target);

/// Rows without verdicts: what is about to be tried.
Row tactic_row(const Problem& problem, const Offer& offer, const Machine& machine, const std::string& key);
Row problem_row(const Problem& problem, const Machine& machine, const std::string& key);
Row build_row(const Origin& origin, std::int64_t batch, const Machine& machine, const std::string& key);

/// Puts what was found into a row. `verdict` is `right`, `wrong` or `untried`, `reason` says why.
void conclude(Row& row, const Finding& finding, double seconds);

/// Keys of rows in a log, which need not exist. Throws Error{bad_data} that names the line.
std::set<std::string> keys_in(const std::filesystem::path& log);

} // namespace lanner::sweep
