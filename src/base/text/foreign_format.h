#pragma once
// Files of networks that no importer reads, told by their content, and what makes of them one that is read.

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

/// Of a whole file; `name` is what remedies call it. Reads signatures, names in an archive and the first
/// fields of a record, all of them checked. Nothing where it is none of the formats that this knows.
std::optional<ForeignFormat> foreign_format(std::span<const std::byte> bytes, const std::string& name);
/// The same of a folder.
std::optional<ForeignFormat> foreign_folder(const std::filesystem::path& folder);

} // namespace lanner
