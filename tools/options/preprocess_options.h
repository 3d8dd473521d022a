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
  bool regions = true;  ///< Whether --region may be given.
  GivenOptions options; ///< From the table of preprocessing options.

  bool given() const { return !options.empty(); }
  bool has(std::string_view name) const { return options.has(name); }
};
void add_preprocess_options(Command& command, PreprocessOptions& options);

/// How images enter a network.
struct PictureInput {
  std::string input;
  Preprocess spec;
  /// Where it was declared: `the command line`, `the plan`, `the model's metadata`; for a known family the
  /// evidence.
  std::string source;
  bool known = false;      ///< Implied by the network's family, not requested.
  std::int32_t stride = 1; ///< Sides of the input must be multiples of this.

  /// Whether each image determines the network's input size.
  bool follows_picture() const;
  /// `RGB 0..1, letterbox with gray 114, bilinear: ultralytics' metadata (task, stride, imgsz)`.
  std::string text() const;
};

/// Command line over plan over the model's metadata over what its family implies, also from files in `folder`
/// (empty: a plan). Sizes and type come from the input where they are fixed, the layout where its channels
/// imply it. Throws Error{invalid_argument} that says what to declare; also for missing sizes, unless
/// `open_size`: then both stay 0.
PictureInput resolve_preprocess(const PreprocessOptions& options, const Engine& engine,
                                const std::filesystem::path& folder, const Binding& input,
                                bool open_size = false);
/// Where all images must have one size: pads to the whole target.
void as_one_size(PictureInput& picture);
/// Throws the error for an input whose size is nowhere declared.
void check_size(const PreprocessOptions& options, const Binding& input, const Preprocess& spec);

} // namespace lanner::tool
