#pragma once
// A second network in one run, on what the boxes of the first cover.

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
  std::vector<std::string> models; ///< One, or none.
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
/// The files that the options name, but the model. Throws Error{invalid_argument} for options without a
/// model.
void declare_second_network(const SecondNetworkOptions& options, Files& files);

/// What is known of it before anything runs.
class SecondNetwork {
public:
  /// Reads the model. `engine` is what the command line says of the first network: device, threads, plug-ins
  /// and how kernels are chosen are the second's too. `first` is the first one's task. Throws Error where the
  /// second cannot follow it.
  SecondNetwork(const SecondNetworkOptions& options, const EngineOptions& engine, const lanner::Task& first,
                Files& files);

  /// Builds it, or takes the plan; `budget` in seconds, where the command line says none.
  CropRunner open(double budget);

  const std::string& model() const { return engine_options_.model; }
  const ModelFacts& facts() const { return facts_; }
  const PictureInput& picture() const { return picture_; }
  const ResolvedTask& task() const { return task_; }
  const std::optional<Engine>& engine() const { return engine_; } ///< Once it is open.
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
