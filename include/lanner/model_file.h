#pragma once
// Quick identification of a model file by its content. Not in liblanner-runtime, which reads no models.

#include <filesystem>
#include <optional>
#include <string>

#include <lanner/limits.h>

namespace lanner {

/// A file, or a folder, that holds a network.
struct ModelFile {
  std::string format;  ///< `ONNX`, `TensorFlow GraphDef`, `Caffe`; unsupported: `a TensorFlow Lite model`.
  std::string details; ///< `IR 8, opset 17, by pytorch 2.4.0`; empty where the format says no more.
  std::string remedy;  ///< How to convert it to a model for Engine::build; empty where it reads this one.
};

/// Nothing where it is not a recognised model; plans are not models. Throws Error{not_found, io,
/// limit_exceeded, unsupported}.
std::optional<ModelFile> model_file(const std::filesystem::path& path, const Limits& limits = {});

} // namespace lanner
