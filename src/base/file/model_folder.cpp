#include <lanner/model_folder.h>

#include <system_error>

namespace lanner {

std::filesystem::path model_path(const std::filesystem::path& model) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(model, ignored)) return model;
  for (const char* name : {"saved_model.pb", "saved_model.pbtxt"})
    if (std::filesystem::exists(model / name, ignored)) return model / name;
  return model;
}

std::filesystem::path model_folder(const std::filesystem::path& model) {
  const std::filesystem::path file = model_path(model);
  return file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
}

} // namespace lanner
