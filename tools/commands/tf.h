#pragma once
// The commands below `lanner tf`.

#include "command.h"

namespace lanner::tool {

void add_tf_eval(Command& tf, Action& action);

} // namespace lanner::tool
