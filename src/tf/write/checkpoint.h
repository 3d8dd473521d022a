#pragma once
// TensorFlow's checkpoints, format V2 (tensor_bundle.proto): an index and one file of tensors.

#include <filesystem>
#include <map>
#include <string>

#include <lanner/tensor.h>

namespace lanner::tf {

/// Writes `prefix`.data-00000-of-00001 and then `prefix`.index, of none or more tensors by their keys
/// (`w/.ATTRIBUTES/VARIABLE_VALUE`). The folder is made where it is missing. Throws Error{io,
/// invalid_argument}, and Error{unsupported} for types that TensorFlow does not have.
void write_checkpoint(const std::filesystem::path& prefix, const std::map<std::string, Tensor>& tensors);

} // namespace lanner::tf
