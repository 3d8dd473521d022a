#pragma once
// Engines of a model with initialisers as inputs, for runs that override them.

#include <condition_variable>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include <lanner/engine.h>

namespace lanner {

/// Keeps the source and options of an engine's build. Thread-safe.
class Overriding {
public:
  /// `model` must be readable again, when an engine is requested.
  Overriding(SourcePtr model, const BuildOptions& options, std::filesystem::path folder);

  /// The engine with these initialisers as inputs, built by the first call. One is built at a time, as all
  /// read the same calibration data: calls that need another wait until `control` or the thread's deadline
  /// ends the wait. Recently used engines are kept. Throws Error{invalid_argument} where the progress
  /// callback of a build requests one that has to be built.
  Engine with(const std::set<std::string>& names, const Control& control) const;

private:
  class Building;
  Engine built(const std::set<std::string>& names, const Control& control) const;

  SourcePtr model_;
  BuildOptions options_;
  std::filesystem::path folder_;
  std::string digest_;                              ///< Of the model's content, to detect a change.
  mutable std::mutex mutex_;                        ///< Not held while an engine is built.
  mutable std::condition_variable changed_;         ///< Notified when a build is done or has failed.
  mutable std::optional<std::thread::id> building_; ///< The thread that builds one.
  mutable std::map<std::set<std::string>, Engine> engines_;
};

} // namespace lanner
