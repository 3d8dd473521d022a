#pragma once
// The options that say how a model becomes an engine, and the functions that do it.

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <lanner/engine.h>
#include <lanner/keras.h>

#include "input/files.h"
#include "options/command_line.h"
#include "options/named_options.h"
#include "options/option_rows.h"
#include "options/preprocess_options.h"

namespace lanner::tool {

/// As given on the command line.
struct EngineOptions : NamedOptions {
  std::string model;
  GivenOptions given; ///< From the tables of build and load options.
  std::vector<std::string> plugins, backends;
};

/// Options of every command that builds or loads an engine, and those of `uses`.
void add_engine_options(Command& command, EngineOptions& options, std::initializer_list<OptionUse> uses = {});
BuildOptions build_options(const EngineOptions& options, double default_budget);

/// A model before any tuning: names, sizes and its metadata.
struct ModelFacts {
  bool plan = false;
  std::filesystem::path folder; ///< The model file's, whose other files may describe it; empty for a plan.
  std::vector<Binding> inputs;
  bool open_sizes = false;             ///< As Engine::open_sizes.
  std::string graph;                   ///< Engine::graph_json() of the model as it was imported.
  std::optional<KerasExport> exported; ///< Of a Keras file: kept, so that a build does not export it again.
  /// The plan itself, or the model's imported graph, which cannot run; open_engine takes the
  /// latter.
  std::optional<Engine> engine;
};
/// Opens a plan or reads a model, distinguished by content. Throws Error that names the file. Each file that
/// it reads, or that building will read, is first declared to `files`.
ModelFacts inspect(const EngineOptions& options, Files& files);

/// The input that takes images: `name`, else, among inputs not in `given`, the only one with four dimensions;
/// without any of these the only [3, H, W]; without any of these the only row of numbers that are no
/// integers. Throws Error{invalid_argument}.
const Binding& picture_input(const std::vector<Binding>& inputs, const std::string& name,
                             const std::map<std::string, Tensor>& given = {});

/// Seconds that a build took, and the part of it spent timing kernels.
struct BuildTimes {
  double seconds = 0, tuning = 0;
};

/// The engine to run: the plan, or the model built with these options. `build`'s image options fix open sizes
/// of their inputs, `batch` an open first dimension of these; with 0 it stays open for inputs that take
/// images, and is 1 otherwise. A build sets `times`. A model's imported graph, which holds its weights, is
/// freed before the build: `facts.engine` is empty afterwards.
Engine open_engine(ModelFacts& facts, const EngineOptions& options, BuildOptions build, int batch,
                   std::optional<BuildTimes>* times = nullptr);

/// Removes --shape from the options: for a plan, which is already built, they are the shapes to run at.
std::map<std::string, Shape> take_plan_shapes(EngineOptions& options);
/// Shapes for commands that run a network without images: those of `known`, and for other open sizes ones
/// that fit, which a note names. `batch`, if not 0, is for open first dims.
std::map<std::string, Shape> settled_shapes(const Engine& engine, const std::map<std::string, Shape>& known,
                                            int batch = 0);
/// Prints a note where kernels were chosen without timing.
void note_untimed(const Engine& engine, const EngineOptions& options);
/// Times kernels at settled_shapes() for an engine built with open sizes, as a build with those shapes does.
void prepare_open(const Engine& engine, const std::map<std::string, Shape>& known = {});

} // namespace lanner::tool
