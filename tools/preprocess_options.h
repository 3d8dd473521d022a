#pragma once
// Declared preprocessing: from flags, a plan or a model's metadata, never guessed.

#include <string>

#include <lanner/engine.h>

#include "command_line.h"
#include "named_options.h"

namespace lanner::tool {

/// As given on the command line; empty where not.
struct PreprocessOptions : NamedOptions {
  bool regions = true; ///< Whether a part of the picture can be named.
  std::string preset, layout, channels, resize, fit, mean, std, range, size, pad, region, turns;

  bool given() const;
};
void add_preprocess_options(Command& command, PreprocessOptions& options);

/// How pictures enter a network.
struct PictureInput {
  std::string input;
  Preprocess spec;
  std::string source; ///< Who declared it: `the command line`, `the plan`, `the model's metadata`.
};

/// Command line over plan over the model's metadata; sizes and type from the input where they are fixed.
/// Throws Error{invalid_argument} that says what to declare; of sizes that nobody says too, unless
/// `open_size`: then both stay 0.
PictureInput resolve_preprocess(const PreprocessOptions& options, const Engine& engine, const Binding& input,
                                bool open_size = false);
/// Throws the error for an input whose size nobody says.
void check_size(const PreprocessOptions& options, const Binding& input, const Preprocess& spec);

} // namespace lanner::tool
