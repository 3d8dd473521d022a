#pragma once
// Declared preprocessing: from flags, a plan or a model's metadata, never guessed.

#include <cstdint>
#include <filesystem>
#include <string>

#include <lanner/engine.h>

#include "options/command_line.h"
#include "options/named_options.h"
#include "options/option_rows.h"

namespace lanner::tool {

/// As given on the command line.
struct PreprocessOptions : NamedOptions {
  bool regions = true;  ///< Whether a part of the picture can be named.
  GivenOptions options; ///< Of the table of preprocessing.

  bool given() const { return !options.empty(); }
  bool has(std::string_view name) const { return options.has(name); }
};
void add_preprocess_options(Command& command, PreprocessOptions& options);

/// How pictures enter a network.
struct PictureInput {
  std::string input;
  Preprocess spec;
  /// Who declared it: `the command line`, `the plan`, `the model's metadata`; of a known family what it is
  /// known by.
  std::string source;
  bool known = false;      ///< Taken for the network's family, without being asked.
  std::int32_t stride = 1; ///< Sides of the input have to be multiples of this.

  /// Whether each picture gives the network a size of its own.
  bool follows_picture() const;
  /// `RGB 0..1, letterbox with gray 114, bilinear: ultralytics' metadata (task, stride, imgsz)`.
  std::string text() const;
};

/// Command line over plan over the model's metadata over what its family is known by, from files in `folder`
/// too (empty: of a plan); sizes and type from the input where they are fixed, the layout where its channels
/// tell. Throws Error{invalid_argument} that says what to declare; of sizes that nobody says too, unless
/// `open_size`: then both stay 0.
PictureInput resolve_preprocess(const PreprocessOptions& options, const Engine& engine,
                                const std::filesystem::path& folder, const Binding& input,
                                bool open_size = false);
/// Where all pictures have to be of one size: pads to the whole target.
void as_one_size(PictureInput& picture);
/// Throws the error for an input whose size nobody says.
void check_size(const PreprocessOptions& options, const Binding& input, const Preprocess& spec);

} // namespace lanner::tool
