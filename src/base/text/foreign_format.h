#pragma once
// Model formats that no importer reads, recognised by their content, and how to convert them.

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

namespace lanner {

struct ForeignFormat {
  std::string name;   ///< `a TensorFlow Lite model`.
  std::string remedy; ///< `convert it: python -m ...`.

  std::string text() const { return "is " + name + "; " + remedy; }
};

/// The format of a whole file; `name` is the file's name in remedies. Reads signatures, names in an archive
/// and the first fields of a message, all bounds-checked. Nothing where the format is not recognised.
std::optional<ForeignFormat> foreign_format(std::span<const std::byte> bytes, const std::string& name);
/// Whether it is a model of Keras: a .keras archive, or an HDF5 file with its configuration.
bool is_keras_model(std::span<const std::byte> bytes);
/// The same as foreign_format() for a folder.
std::optional<ForeignFormat> foreign_folder(const std::filesystem::path& folder);

} // namespace lanner
