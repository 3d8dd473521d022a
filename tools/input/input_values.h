#pragma once
// Values of inputs that take no images, from the command line.

#include <map>
#include <string>
#include <vector>

#include <lanner/engine.h>

#include "input/files.h"

namespace lanner::tool {

/// Declares the files that the values name.
void declare_input_values(const std::vector<std::string>& texts, Files& files);

/// By input name, from --inputs: `NAME=VALUE`, where VALUE is a number, a list or a safetensors file with one
/// tensor; or a safetensors file with a tensor for each name. Numbers are converted to the input's type; a
/// single one fills its shape, with 1 for open sizes. Throws Error for names that are no inputs, and for
/// types and shapes that are not the input's.
std::map<std::string, Tensor> read_input_values(const std::vector<std::string>& texts, const Engine& engine);

/// Throws Error{invalid_argument} where an input other than `picture` has no value; states keep theirs.
void check_all_given(const Engine& engine, const std::string& picture,
                     const std::map<std::string, Tensor>& given);

} // namespace lanner::tool
