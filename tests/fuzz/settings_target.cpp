#include <unistd.h>

#include <filesystem>

#include <fmt/format.h>

#include <lanner/error.h>
#include <lanner/known_preprocess.h>

#include "base/file/cache_file.h"
#include "fuzz/targets.h"

namespace lanner::fuzz {

/// Preprocessing settings: our JSON, and each file format that exporters write next to a model.
void read_settings(std::span<const std::byte> input) {
  static constexpr const char* names[] = {"preprocessor_config.json", "processor_config.json", "config.json",
                                          "inference.yml"};
  try {
    Preprocess::from_json(as_text(input));
  } catch (const Error& error) {
    if (error.code() == ErrorCode::internal) throw;
  }
  const auto folder = std::filesystem::temp_directory_path() / fmt::format("lanner-settings-{}", ::getpid());
  ModelSigns model;
  model.folder = folder;
  model.input = {1, 3, 224, 224};
  model.metadata = {{"names", std::string(as_text(input))}, {"stride", "32"}, {"task", "detect"}};
  for (const char* name : names) {
    write_cache_file(folder / name, as_text(input));
    std::string why_not;
    known_preprocess(model, &why_not);
    model.metadata.clear();
    std::filesystem::remove_all(folder);
  }
}

} // namespace lanner::fuzz
