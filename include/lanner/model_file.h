#pragma once
// What a file of a network is, told in a moment by its content. Not in liblanner-runtime, which reads no
// models.

#include <filesystem>
#include <optional>
#include <string>

#include <lanner/limits.h>

namespace lanner {

/// A file, or a folder, that holds a network.
struct ModelFile {
  std::string format;  ///< `ONNX`, `TensorFlow GraphDef`, `Caffe`; of others `a TensorFlow Lite model`.
  std::string details; ///< `IR 8, opset 17, by pytorch 2.4.0`; empty where the format says no more.
  std::string remedy;  ///< What makes of it a model that Engine::build reads; empty where it reads this one.
};

/// Nothing where it is no network that this knows. Plans are not models: they are none either. Throws
/// Error{not_found, io, limit_exceeded, unsupported}.
std::optional<ModelFile> model_file(const std::filesystem::path& path, const Limits& limits = {});

} // namespace lanner
