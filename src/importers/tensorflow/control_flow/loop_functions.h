#pragma once
// Loops whose condition and body are functions.

#include "importers/import_graph.h"

namespace lanner::tensorflow {

/// Gives each node While of the model and of its functions the bodies of the functions that it names as
/// graphs, so that lists that its iterations fill are recognised (take_written_lists). Loops inside of loops
/// and functions with attributes of their own stay as they are.
void embed_loop_functions(ImportModel& model);

} // namespace lanner::tensorflow
