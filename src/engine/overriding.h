#pragma once
// Engines of a model in which initialisers are inputs, for runs that give them values.

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include <lanner/engine.h>

namespace lanner {

/// Keeps what an engine was built of. Thread-safe.
class Overriding {
public:
  /// `model` can be read again, which is done when an engine is asked for.
  Overriding(SourcePtr model, const BuildOptions& options, std::filesystem::path folder);

  /// The engine that has these initialisers as inputs, built by the first call that asks for them, which the
  /// others wait for. The sets used last stay.
  Engine with(const std::set<std::string>& names, const Control& control) const;

private:
  SourcePtr model_;
  BuildOptions options_;
  std::filesystem::path folder_;
  std::string digest_; ///< Of the model's content: it may be another one by then.
  mutable std::mutex mutex_;
  mutable std::map<std::set<std::string>, Engine> engines_;
};

} // namespace lanner
