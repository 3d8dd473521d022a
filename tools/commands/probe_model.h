#pragma once
// What lanner probe tells of a model or plan.

#include <string>

#include <lanner/model_file.h>

namespace lanner::tool {

/// Nothing is built: the file is read, and what would be taken of it is said. `file` is unset for a plan.
/// Throws Error where it cannot be read.
void print_model(const std::string& path, const ModelFile* file, bool json);

} // namespace lanner::tool
