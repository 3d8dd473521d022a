#pragma once
// What a converted model holds, for the files that are made of it.

#include "tf/convert/model_state.h"

namespace lanner::tf {

struct ModelAccess {
  static const ModelState& state(const Model& model) { return *model.state_; }
};

} // namespace lanner::tf
