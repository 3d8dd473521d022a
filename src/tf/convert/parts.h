#pragma once
// Makes the parts of a converted model.

#include <filesystem>

#include "tf/convert/model_state.h"

namespace lanner::tf {

bool wants_int8(const BuildOptions& build);

/// Makes the parts of the state's division, native ones and the caches of others. `plans`: the folder of a
/// saved model, whose plans are taken; empty: there is none.
void build_parts(ModelState& state, const std::filesystem::path& plans);

} // namespace lanner::tf
