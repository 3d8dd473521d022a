#pragma once
// A second network in one run, on the regions of the first network's boxes.

#include <optional>
#include <string>
#include <vector>

#include <lanner/crop_runner.h>
#include <lanner/task.h>

#include "input/files.h"
#include "options/command_line.h"
#include "options/engine_options.h"
#include "options/preprocess_options.h"
#include "output/task.h"

namespace lanner::tool {

/// As given on the command line.
struct SecondNetworkOptions {
  std::vector<std::string> models; ///< At most one.
  GivenOptions engine;             ///< `precision` and `weights` of its build.
  std::vector<std::string> classes;
  double margin = 0;
  int max_boxes = 0, batch = 0; ///< 0: not given.
  TaskOptions task;
  PreprocessOptions preprocess;

  SecondNetworkOptions();
  bool given() const { return !models.empty(); }
  const std::string& model() const { return models[0]; }
};
void add_second_network_options(Command& command, SecondNetworkOptions& options);
/// Declares the files that the options name, except the model. Throws Error{invalid_argument} for options
/// without a
/// model.
void declare_second_network(const SecondNetworkOptions& options, Files& files);

/// What is known of it before anything runs.
class SecondNetwork {
public:
  /// Reads the model. `engine`: the first network's options, of which device, threads, plug-ins and how
  /// kernels are chosen apply to the second too. `first`: the first network's task. Throws Error where the
  /// second cannot follow it.
  SecondNetwork(const SecondNetworkOptions& options, const EngineOptions& engine, const lanner::Task& first,
                Files& files);

  /// Builds it, or loads the plan; `budget` in seconds, where the command line gives none.
  CropRunner open(double budget);

  const std::string& model() const { return engine_options_.model; }
  const ModelFacts& facts() const { return facts_; }
  const PictureInput& picture() const { return picture_; }
  const ResolvedTask& task() const { return task_; }
  const std::optional<Engine>& engine() const { return engine_; } ///< Set once it is open.
  const std::optional<BuildTimes>& times() const { return times_; }

private:
  EngineOptions engine_options_;
  CropOptions crops_;
  ModelFacts facts_;
  PictureInput picture_;
  ResolvedTask task_;
  std::optional<Engine> engine_;
  std::optional<BuildTimes> times_;
};

} // namespace lanner::tool
