#pragma once
// Values of inputs that take no pictures, from the command line.

#include <map>
#include <string>
#include <vector>

#include <lanner/engine.h>

#include "input/files.h"

namespace lanner::tool {

/// Declares the files that the values name.
void declare_input_values(const std::vector<std::string>& texts, Files& files);

/// By input name, of what --inputs gives: `NAME=VALUE`, where VALUE is a number, a list or a safetensors file
/// with one tensor, or a safetensors file with a tensor of each name. Numbers become the input's type, and
/// one alone fills its shape, with 1 for sizes that are open. Throws Error for names that the model has not,
/// and for types and shapes that are not the input's.
std::map<std::string, Tensor> read_input_values(const std::vector<std::string>& texts, const Engine& engine);

/// Throws Error{invalid_argument} where an input but `picture` has no value; states keep theirs.
void check_all_given(const Engine& engine, const std::string& picture,
                     const std::map<std::string, Tensor>& given);

} // namespace lanner::tool
