#include "base/file/module.h"

#include <dlfcn.h>

#include <map>
#include <mutex>
#include <system_error>

#include <fmt/format.h>

#include "base/options.h"

namespace lanner {
namespace {

namespace fs = std::filesystem;

/// The library that contains this code.
fs::path own_file() {
  Dl_info info{};
  if (!::dladdr(reinterpret_cast<const void*>(&load_module), &info) || !info.dli_fname) return {};
  std::error_code error;
  const fs::path file = fs::canonical(info.dli_fname, error);
  return error ? fs::path() : file;
}

/// Modules are linked to one library and carry its name: `liblanner-onednn.so` belongs to `liblanner.so.0.1`,
/// `liblanner-runtime-onednn.so` to `liblanner-runtime.so.0.1`.
std::string module_file(std::string_view name) {
  const std::string own = own_file().filename().string();
  const std::string library = own.substr(0, own.find(".so"));
  return fmt::format("{}-{}.so", library.starts_with("liblanner") ? library : "liblanner", name);
}

std::string last_error() {
  const char* message = ::dlerror();
  return message ? message : "no reason was given";
}

/// oneDNN's OpenMP calls must resolve to the functions that its module defines, whoever else in the process
/// uses libgomp. Sanitizers abort a process that uses the flag.
int open_flags(std::string_view name) {
  const auto runs_under = [](const char* sanitizer) { return ::dlsym(RTLD_DEFAULT, sanitizer) != nullptr; };
  const bool sanitized = runs_under("__asan_init") || runs_under("__tsan_init") || runs_under("__msan_init");
  return RTLD_NOW | RTLD_LOCAL | (name == "onednn" && !sanitized ? RTLD_DEEPBIND : 0);
}

ModuleAttempt open_module(std::string_view name, std::uint32_t abi_version, const fs::path& path,
                          const void*& table) {
  std::error_code error;
  if (!fs::exists(path, error)) return {path.string(), "there is no such file"};
  void* handle = ::dlopen(path.c_str(), open_flags(name));
  if (!handle) return {path.string(), last_error()};
  const std::string symbol = fmt::format("lanner_{}_module", name);
  const auto entry = reinterpret_cast<const void* (*)()>(::dlsym(handle, symbol.c_str()));
  std::string reason = entry ? refuse_table(entry(), abi_version) : last_error();
  if (reason.empty())
    table = entry();
  else
    ::dlclose(handle);
  return {path.string(), std::move(reason)};
}

} // namespace

std::string refuse_table(const void* table, std::uint32_t abi_version) {
  if (!table) return "it offers nothing on this machine";
  const auto found = *static_cast<const std::uint32_t*>(table);
  if (found == abi_version) return {};
  return fmt::format("its interface has version {}, expected {}; it belongs to another build", found,
                     abi_version);
}

ModuleResult find_module(std::string_view name, std::uint32_t abi_version,
                         std::span<const fs::path> folders) {
  ModuleResult result;
  for (const fs::path& folder : folders) {
    const fs::path path = folder / module_file(name);
    result.attempts.push_back(open_module(name, abi_version, path, result.table));
    if (result.table) {
      result.path = path.string();
      return result;
    }
    result.reason += fmt::format("{}{}: {}", result.reason.empty() ? "" : "; ", path.string(),
                                 result.attempts.back().reason);
  }
  result.reason = fmt::format("module {} was not opened: {}; reinstall Lanner or set LANNER_MODULE_PATH",
                              name, folders.empty() ? "no folder to look in" : result.reason);
  return result;
}

const ModuleResult& load_module(std::string_view name, std::uint32_t abi_version) {
  static std::mutex mutex;
  // Leaked on purpose: tables are used while static objects are destroyed.
  static auto* results = new std::map<std::string, ModuleResult, std::less<>>;
  std::lock_guard lock(mutex);
  if (const auto known = results->find(name); known != results->end()) return known->second;
  std::vector<fs::path> folders;
  if (const fs::path own = own_file(); !own.empty()) folders.push_back(own.parent_path());
  folders.insert(folders.end(), options().module_path.begin(), options().module_path.end());
  return results->emplace(std::string(name), find_module(name, abi_version, folders)).first->second;
}

} // namespace lanner
