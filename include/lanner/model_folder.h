#pragma once
// Models that are a folder, and the folders of models that are files.

#include <filesystem>

namespace lanner {

/// The file to open for a model: in the folder of a TensorFlow SavedModel `saved_model.pb` or
/// `saved_model.pbtxt`; else `model` itself.
std::filesystem::path model_path(const std::filesystem::path& model);

/// The folder beneath which a model's further files are looked for: that of model_path().
std::filesystem::path model_folder(const std::filesystem::path& model);

} // namespace lanner
