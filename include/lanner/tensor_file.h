#pragma once
// Files of named tensors.

#include <filesystem>
#include <map>
#include <string>

#include <lanner/limits.h>
#include <lanner/tensor.h>

namespace lanner {

/// Copies of all tensors of a safetensors file by name, row-major on the host. The file is treated as
/// untrusted. Throws Error{not_found, io, bad_data, limit_exceeded, unsupported} that names the file.
std::map<std::string, Tensor> load_tensors(const std::filesystem::path& path, const Limits& limits = {});

} // namespace lanner
