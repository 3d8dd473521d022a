#pragma once
// What builds, loads and contexts share beside the model: operators from outside, and caches.

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <lanner/operator.h>

namespace lanner {

struct EnvironmentState;

/// Given to a build or a load it serves everything of that engine: its tuning, its contexts, its later
/// variants. One that says nothing is the default. Copies share and cost nothing; a change makes the
/// environment that is changed another one, so that an engine keeps what it was given. What its operators
/// point to has to last until the process ends. One thread at a time; copies are apart.
class Environment {
public:
  Environment();

  /// Adds an operator to Lanner's own. Throws Error{invalid_argument} where the table lacks or contradicts
  /// something, or the name is taken.
  void add_operator(const lanner_operator& table);
  /// Opens a library and calls its function
  ///
  ///     lanner_status lanner_plugin(lanner_environment* environment, lanner_error** error);
  ///
  /// (lanner/c.h, docs/plugins.md), whose additions count when it succeeds. The library stays open for as
  /// long as the process lives. Throws Error{not_found} where there is no such library, Error{bad_data} where
  /// it is no plug-in, else what its function failed with.
  void load_plugin(const std::filesystem::path& library);
  /// `acme.scale 1`: name and version of each operator that was added, by name.
  std::vector<std::string> operators() const;

  /// Where builds keep timings, and look first for what was measured of the machine; empty: the folder that
  /// LANNER_CACHE_DIR names, or the user's.
  void set_cache_folder(const std::filesystem::path& folder);

  const EnvironmentState& state() const noexcept { return *state_; }

private:
  EnvironmentState& changed();
  std::shared_ptr<const EnvironmentState> state_;
};

} // namespace lanner

/// What <lanner/c.h> calls an environment.
struct lanner_environment {
  lanner::Environment environment;
};
