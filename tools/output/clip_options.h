#pragma once
// How annotated clips are written: the options of `lanner transcode`, for `lanner run -o`.

#include <string>
#include <vector>

#include "input/inputs.h"
#include "options/option_rows.h"

namespace lanner::tool {

class ClipOptions {
public:
  /// Declares them; this object must live until the command line was read.
  void add(Command& command);
  /// Sets RunInput::writing of all clips. What excludes each other, what the codecs refuse, and options
  /// without an annotated clip that they could change are errors, before anything runs:
  /// Error{invalid_argument, unsupported}. `output` is -o, and the inputs are those of place_outputs().
  void resolve(const std::string& output, std::vector<RunInput>& inputs) const;

private:
  void check_used(const std::string& output, const std::vector<RunInput>& inputs) const;

  GivenOptions encoder_, clip_; ///< Of the tables of writers and of transcoding.
};

} // namespace lanner::tool
