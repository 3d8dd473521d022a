#pragma once
// What lanner probe shows of a model or plan.

#include <string>

#include <lanner/model_file.h>

namespace lanner::tool {

/// Builds nothing: reads the file and says how it would be used. `file` is unset for a plan. Throws Error
/// where it cannot be read.
void print_model(const std::string& path, const ModelFile* file, bool json);

} // namespace lanner::tool
