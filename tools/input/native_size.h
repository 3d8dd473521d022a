#pragma once
// Networks with open height and width run images at the images' native size.

#include <cstdint>
#include <string>
#include <vector>

#include <lanner/preprocess.h>
#include <lanner/task.h>

#include "input/inputs.h"

namespace lanner::tool {

/// Whether the task's answers have the resolution of the network's input, so that no other size is
/// better.
bool has_native_size(TaskKind kind);

/// Input size of the first image or clip whose size is known before the run.
struct NativeSize {
  std::int32_t width = 0, height = 0; ///< 0 where no size is known.
  std::string name;                   ///< Its source.
  Preprocess spec;                    ///< The declared preprocessing with that size.
  bool several = false;               ///< Other inputs may have other sizes.
};
/// `spec`: the declared preprocessing, with sizes that follow the image. Opens clips and reads the first
/// image; skips pipes and files that cannot be read.
NativeSize find_native_size(const std::vector<RunInput>& inputs, const Preprocess& spec);

/// The declared preprocessing with the size that it gives such a picture.
Preprocess with_native_size(const Preprocess& spec, std::int32_t width, std::int32_t height);

/// Adds to an error about the network's input size that size and the option that sets another; other errors
/// are returned unchanged.
Error about_size(const Error& error, const Preprocess& spec);

} // namespace lanner::tool
