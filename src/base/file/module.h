#pragma once
// Lanner's own modules: parts that need an external library and are opened at first use.

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lanner {

/// One path where a module was looked for.
struct ModuleAttempt {
  std::string path;
  std::string reason; ///< Why it could not be used; empty when it was.
};

/// The result of opening a module; kept for `lanner doctor`.
struct ModuleResult {
  /// The module's table of functions, or nullptr. It is a struct known to the caller whose first member is
  /// the std::uint32_t version of that struct. It stays valid until the process ends.
  const void* table = nullptr;
  std::string path;   ///< Its path; empty when it was not opened.
  std::string reason; ///< Why there is no table, in one line with the remedy.
  std::vector<ModuleAttempt> attempts;
};

/// Opens `liblanner-<name>.so` at the first call and returns the same result ever after. It is looked for
/// next to the library itself, then in LANNER_MODULE_PATH. The module must define
///
///     extern "C" const void* lanner_<name>_module(); // its table
///
/// with `abi_version` as the table's first member. Safe from any thread; never throws for a module that is
/// missing.
const ModuleResult& load_module(std::string_view name, std::uint32_t abi_version);

/// The search of load_module() in the given folders.
ModuleResult find_module(std::string_view name, std::uint32_t abi_version,
                         std::span<const std::filesystem::path> folders);
/// Why `table` cannot be used; empty when it can.
std::string refuse_table(const void* table, std::uint32_t abi_version);

} // namespace lanner
