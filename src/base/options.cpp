#include "base/options.h"

#include <charconv>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

namespace lanner {
namespace {

std::string_view value_of(const EnvironmentLookup& lookup, const char* name) {
  const char* value = lookup(name);
  return value ? std::string_view(value) : std::string_view();
}

std::filesystem::path cache_folder(const EnvironmentLookup& lookup) {
  if (const auto own = value_of(lookup, "LANNER_CACHE_DIR"); !own.empty()) return own;
  // The XDG base directory specification has relative paths ignored.
  const std::filesystem::path shared = value_of(lookup, "XDG_CACHE_HOME");
  if (shared.is_absolute()) return shared / "lanner";
  const std::filesystem::path home = value_of(lookup, "HOME");
  return home.is_absolute() ? home / ".cache" / "lanner" : std::filesystem::path();
}

std::vector<std::filesystem::path> split_path(std::string_view text) {
  std::vector<std::filesystem::path> folders;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(':'), text.size());
    if (end > 0) folders.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return folders;
}

// The XDG base directory specification has relative paths ignored.
std::vector<std::filesystem::path> font_folders(const EnvironmentLookup& lookup) {
  const std::filesystem::path own = value_of(lookup, "XDG_DATA_HOME"), home = value_of(lookup, "HOME");
  std::vector<std::filesystem::path> folders;
  if (own.is_absolute())
    folders.push_back(own / "fonts");
  else if (home.is_absolute())
    folders.push_back(home / ".local" / "share" / "fonts");
  if (home.is_absolute()) folders.push_back(home / ".fonts");
  const std::string_view shared = value_of(lookup, "XDG_DATA_DIRS");
  for (const auto& folder : split_path(shared.empty() ? "/usr/local/share:/usr/share" : shared))
    if (folder.is_absolute()) folders.push_back(folder / "fonts");
  return folders;
}

int thread_count(const EnvironmentLookup& lookup, std::vector<std::string>& problems) {
  const std::string_view text = value_of(lookup, "LANNER_THREADS");
  if (text.empty()) return 0;
  int value = 0;
  const auto [stop, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = status == std::errc() && stop == text.data() + text.size();
  if (whole && value >= 1 && value <= max_threads) return value;
  problems.push_back(
      fmt::format("LANNER_THREADS=\"{}\" is ignored: expected a number from 1 to {}", text, max_threads));
  return 0;
}

std::string log_level(const EnvironmentLookup& lookup, std::vector<std::string>& problems) {
  const std::string_view text = value_of(lookup, "LANNER_LOG");
  if (text == "debug" || text == "info" || text == "warning") return std::string(text);
  if (!text.empty() && text != "off")
    problems.push_back(
        fmt::format("LANNER_LOG=\"{}\" is ignored: expected debug, info, warning or off", text));
  return "off";
}

} // namespace

Options read_options(const EnvironmentLookup& lookup) {
  Options result;
  result.cache_folder = cache_folder(lookup);
  result.module_path = split_path(value_of(lookup, "LANNER_MODULE_PATH"));
  result.log = log_level(lookup, result.problems);
  result.threads = thread_count(lookup, result.problems);
  const std::string_view cuda = value_of(lookup, "CUDA_PATH");
  result.cuda_path = cuda.empty() ? value_of(lookup, "CUDA_HOME") : cuda;
  result.library_path = split_path(value_of(lookup, "LANNER_LIBRARY_PATH"));
  result.cuda_driver = value_of(lookup, "LANNER_CUDA_DRIVER");
  result.font_folders = font_folders(lookup);
  return result;
}

std::string keras_python() {
  return std::string(value_of([](const char* name) { return ::secure_getenv(name); }, "LANNER_KERAS_PYTHON"));
}

const Options& options() {
  // secure_getenv: a program with raised rights must not load modules that its caller chose.
  static const Options result = read_options([](const char* name) { return ::secure_getenv(name); });
  return result;
}

} // namespace lanner
