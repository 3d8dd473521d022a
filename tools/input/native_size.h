#pragma once
// Networks that leave height and width open, and so run pictures at their own size.

#include <cstdint>
#include <string>
#include <vector>

#include <lanner/preprocess.h>
#include <lanner/task.h>

#include "input/inputs.h"

namespace lanner::tool {

/// Whether the task's answers are as fine as the picture that the network gets, so that no other size is
/// better.
bool has_native_size(TaskKind kind);

/// What the network gets of the first picture or clip whose size can be told before it runs.
struct OwnSize {
  std::int32_t width = 0, height = 0; ///< 0 where none can be told.
  std::string name;                   ///< Whose it is.
  Preprocess spec;                    ///< What is declared, with that size.
  bool several = false;               ///< Others may be of other sizes.
};
/// `spec` is what is declared, with sizes that follow the picture. Clips are opened for it, and the first
/// picture is read; what comes through pipes, or cannot be read, is left out.
OwnSize find_native_size(const std::vector<RunInput>& inputs, const Preprocess& spec);

/// The declared preprocessing with the size that it gives such a picture.
Preprocess with_native_size(const Preprocess& spec, std::int32_t width, std::int32_t height);

/// Why the network does not take a size, with it and the option that sets another; errors that tell of
/// something else stay what they are.
Error about_size(const Error& error, const Preprocess& spec);

} // namespace lanner::tool
