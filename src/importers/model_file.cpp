#include <lanner/model_file.h>

#include <system_error>

#include <lanner/error.h>
#include <lanner/model_folder.h>
#include <lanner/source.h>

#include "base/text/foreign_format.h"
#include "importers/importer.h"
#include "importers/onnx/onnx_summary.h"

namespace lanner {

std::optional<ModelFile> model_file(const std::filesystem::path& path, const Limits& limits) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored) && model_path(path) == path) {
    const auto foreign = foreign_folder(path);
    return foreign ? std::optional(ModelFile{foreign->name, {}, foreign->remedy}) : std::nullopt;
  }
  const Content content = read_all(open_path(path, limits), limits);
  if (const auto foreign = foreign_format(content.bytes, path.string()))
    return ModelFile{foreign->name, {}, foreign->remedy};
  const auto format = format_of(content.bytes);
  if (!format) return std::nullopt;
  return ModelFile{
      std::string(*format), *format == "ONNX" ? onnx::summary(content.bytes) : std::string(), {}};
}

} // namespace lanner
