#pragma once
// What -i leads to.

#include <cstddef>
#include <string>
#include <vector>

#include <lanner/cancel.h>
#include <lanner/error.h>
#include <lanner/source.h>

namespace lanner::tool {

/// Where the marked form of one input goes.
enum class OutputForm {
  none,
  picture,
  clip,
  numbered, ///< Pictures of a clip's frames: the path has a number in it.
};

/// A picture or a clip.
struct RunInput {
  std::string path; ///< What answers and messages call it.
  bool still = false;
  std::string output; ///< A path, or - for standard output; empty where the form is none.
  OutputForm form = OutputForm::none;
  std::string format; ///< Of the output's container; empty: by its ending.
  SourcePtr source;   ///< What cannot be opened a second time; null for files.
  bool piped_mp4 = false;
  CancelToken stop; ///< Ends a read that waits for a pipe.
};

/// What could be read of what was named.
struct FoundInputs {
  std::vector<RunInput> inputs;
  std::size_t failed = 0; ///< Each was told in a line of its own.
};

/// Files, folders, patterns, numbered pictures, lists, pipes and standard input, in their order. What cannot
/// be read is told on stderr, and an error where it is the only one; what is neither a picture nor a clip is
/// skipped, and counted in a line, where it was not named itself. `model` is for examples of command lines.
FoundInputs find_inputs(const std::vector<std::string>& given, const std::string& model);

/// Whether an error tells of an input, not of this program or the machine: others may do.
bool is_of_input(const Error& error);

} // namespace lanner::tool
