#pragma once
// The options that say how a model becomes an engine, and the way there.

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <lanner/engine.h>

#include "input/files.h"
#include "options/command_line.h"
#include "options/named_options.h"
#include "options/option_rows.h"
#include "options/preprocess_options.h"

namespace lanner::tool {

/// As given on the command line.
struct EngineOptions : NamedOptions {
  std::string model;
  GivenOptions given; ///< Of the tables of builds and loads.
  std::vector<std::string> plugins, backends;
};

/// Options that every command has that builds or loads an engine, and those of further uses.
void add_engine_options(Command& command, EngineOptions& options, std::initializer_list<OptionUse> uses = {});
BuildOptions build_options(const EngineOptions& options, double default_budget);

/// A model before anything was tuned: names, sizes and what it says of itself.
struct ModelFacts {
  bool plan = false;
  std::filesystem::path folder; ///< Of a model's file, whose neighbours may tell of it; empty of a plan.
  std::vector<Binding> inputs;
  bool open_sizes = false; ///< As Engine::open_sizes.
  std::string graph;       ///< As Engine::graph_json: a model's as it was imported.
  /// Of a plan the plan itself, of a model its imported graph, which cannot run; open_engine takes the
  /// latter.
  std::optional<Engine> engine;
};
/// Opens a plan or reads a model; told apart by content. Throws Error that names the file. Each file that it
/// reads, or that building will read, is declared to `files` before.
ModelFacts inspect(const EngineOptions& options, Files& files);

/// The input that takes pictures: `name`, else of those that are not in `given` the only one of four
/// dimensions, where there is none the only one [3, H, W], and where there is none of these the only row of
/// numbers that are no integers. Throws Error{invalid_argument}.
const Binding& picture_input(const std::vector<Binding>& inputs, const std::string& name,
                             const std::map<std::string, Tensor>& given = {});

/// How long a build took, in seconds, and how much of it went into timing kernels.
struct BuildTimes {
  double seconds = 0, tuning = 0;
};

/// The engine that runs: the plan, or the model built for these options. What `build` says of pictures fixes
/// open sizes of their inputs, `batch` an open first dimension of these; 0 leaves it open where they are
/// taken as pictures, and is 1 elsewhere. `times` are set by a build. A model's imported graph, which holds
/// its weights, is let go before the build: `facts.engine` is empty from then on.
Engine open_engine(ModelFacts& facts, const EngineOptions& options, BuildOptions build, int batch,
                   std::optional<BuildTimes>* times = nullptr);

/// Takes --shape out of the options: the shapes that a plan is tried at, which is built already.
std::map<std::string, Shape> take_plan_shapes(EngineOptions& options);
/// Shapes that a command which is given no pictures tries a network at: those of `known`, and of what stays
/// open ones that fit, which a note tells. `batch`, if not 0, for open first dims.
std::map<std::string, Shape> settled_shapes(const Engine& engine, const std::map<std::string, Shape>& known,
                                            int batch = 0);
/// Says so where runs get kernels that nobody timed.
void note_untimed(const Engine& engine, const EngineOptions& options);
/// An engine whose build was not told sizes times its kernels for settled_shapes(), as a build that is told
/// them does.
void prepare_open(const Engine& engine, const std::map<std::string, Shape>& known = {});

} // namespace lanner::tool
