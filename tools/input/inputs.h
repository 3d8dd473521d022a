#pragma once
// Resolves -i to images and clips.

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <lanner/cancel.h>
#include <lanner/error.h>
#include <lanner/source.h>
#include <lanner/transcode.h>

namespace lanner::tool {

/// The output of one input.
enum class OutputForm {
  none,
  picture,
  clip,
  numbered, ///< Images of a clip's frames: the path has a number in it.
};

/// An image or a clip.
struct RunInput {
  std::string path; ///< Its name in answers and messages.
  bool still = false;
  std::string output; ///< A path, or - for standard output; empty where there is no output.
  OutputForm form = OutputForm::none;
  std::string format;                              ///< The output's container; empty: from its extension.
  std::shared_ptr<const TranscodeOptions> writing; ///< How an annotated clip is written; not its format.
  SourcePtr source; ///< An input that cannot be opened a second time; null for files.
  bool piped_mp4 = false;
  CancelToken stop; ///< Ends a read that is waiting for a pipe.
};

/// The readable inputs.
struct FoundInputs {
  std::vector<RunInput> inputs;
  std::size_t failed = 0; ///< Each was reported in a line of its own.
};

/// Files, folders, patterns, numbered images, lists, pipes and standard input, in their order. What cannot be
/// read is reported on stderr, and is an error where it is the only input; files of folders and patterns that
/// are neither image nor clip are skipped, and counted in a line. `model` is for examples of command lines.
FoundInputs find_inputs(const std::vector<std::string>& given, const std::string& model);

/// Whether an error concerns this input only, not the program or the machine, so that others may still be
/// read.
bool is_of_input(const Error& error);

} // namespace lanner::tool
