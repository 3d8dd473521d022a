#pragma once
// Environment variables. Nothing else in the library reads them.

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace lanner {

constexpr int max_threads = 4096; ///< The most that can be requested, wherever a number of threads is given.

/// Settings from environment variables, with defaults. An invalid value is ignored and listed in `problems`,
/// for `lanner doctor`: loading the library never fails.
struct Options {
  /// LANNER_CACHE_DIR, else XDG_CACHE_HOME/lanner, else HOME/.cache/lanner; empty when there is none of them.
  std::filesystem::path cache_folder;
  std::vector<std::filesystem::path> module_path; ///< LANNER_MODULE_PATH: folders separated by `:`.
  std::string log;                 ///< LANNER_LOG: `debug`, `info`, `warning` or `off` (default).
  int threads = 0;                 ///< LANNER_THREADS: default of every thread count; 0: not set.
  std::filesystem::path cuda_path; ///< CUDA_PATH, else CUDA_HOME.
  std::vector<std::filesystem::path>
      library_path;        ///< LANNER_LIBRARY_PATH: folders of NVIDIA's libraries, separated by `:`.
  std::string cuda_driver; ///< LANNER_CUDA_DRIVER: the driver's library where it is not libcuda.so.1.
  /// Where font files are: `fonts` in XDG_DATA_HOME (else HOME/.local/share), HOME/.fonts, `fonts` in each of
  /// XDG_DATA_DIRS (else /usr/local/share and /usr/share).
  std::vector<std::filesystem::path> font_folders;
  std::vector<std::string> problems;
};

/// Returns the value of a variable, or nullptr.
using EnvironmentLookup = std::function<const char*(const char* name)>;
Options read_options(const EnvironmentLookup& lookup);

/// LANNER_KERAS_PYTHON, the Python interpreter that exports Keras' files; read at each call, as programs in
/// Python set variables after they loaded the library. Empty: not set.
std::string keras_python();

/// The process's environment, read once at first use.
const Options& options();

} // namespace lanner
