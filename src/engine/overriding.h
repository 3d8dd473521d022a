#pragma once
// Engines of a model with initialisers as inputs, for runs that override them.

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include <lanner/engine.h>

namespace lanner {

/// Keeps the source and options of an engine's build. Thread-safe.
class Overriding {
public:
  /// `model` must be readable again, when an engine is requested.
  Overriding(SourcePtr model, const BuildOptions& options, std::filesystem::path folder);

  /// The engine with these initialisers as inputs, built by the first call, which concurrent ones wait for.
  /// Recently used engines are kept.
  Engine with(const std::set<std::string>& names, const Control& control) const;

private:
  SourcePtr model_;
  BuildOptions options_;
  std::filesystem::path folder_;
  std::string digest_; ///< Of the model's content, to detect a change.
  mutable std::mutex mutex_;
  mutable std::map<std::set<std::string>, Engine> engines_;
};

} // namespace lanner
