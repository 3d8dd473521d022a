// Environments of the C interface.

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <dlfcn.h>

#include <lanner/option_table.h>
#include <lanner/threads.h>

#include "boundary.h"
#include "handles.h"

namespace lanner {
namespace {

/// The names in `cpu,onednn`; none in a null.
std::vector<std::string> names_in(const char* text) {
  std::vector<std::string> names;
  if (!text) return names;
  for (std::string_view rest = text;;) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    names.emplace_back(rest.substr(0, comma));
    if (comma == rest.size()) return names;
    rest.remove_prefix(comma + 1);
  }
}

/// dlopen's error message.
std::string loader_says() {
  const char* said = dlerror();
  return said ? said : "it gives no reason";
}

} // namespace

// Defined here, as plug-ins use the C interface.
void Environment::load_plugin(const std::filesystem::path& library) {
  const std::string name = library.string();
  errors::check(std::filesystem::exists(library), ErrorCode::not_found, "plug-in {}: there is no such file",
                name);
  // A bare name would be looked for in the loader's folders.
  void* opened = dlopen(std::filesystem::absolute(library).c_str(), RTLD_NOW | RTLD_LOCAL);
  errors::check(opened != nullptr, ErrorCode::bad_data, "plug-in {}: {}", name, loader_says());
  using Entry = lanner_status (*)(lanner_environment*, lanner_error**);
  const auto entry = reinterpret_cast<Entry>(dlsym(opened, "lanner_plugin"));
  errors::check(entry != nullptr, ErrorCode::bad_data,
                "plug-in {}: it has no function lanner_plugin; see docs/plugins.md", name);
  lanner_environment tried{*this};
  lanner_error* error = nullptr;
  const lanner_status status = entry(&tried, &error);
  const std::unique_ptr<lanner_error, void (*)(lanner_error*)> held(error, &lanner_error_destroy);
  if (status == LANNER_OK) {
    *this = std::move(tried.environment);
    return;
  }
  const std::string_view said = lanner_error_message(error);
  const bool known = status >= LANNER_INVALID_ARGUMENT && status <= LANNER_INTERNAL;
  errors::fail(known ? static_cast<ErrorCode>(status - 1) : ErrorCode::internal, "plug-in {}: {}", name,
               said.empty() ? fmt::format("lanner_plugin failed with status {}", status) : std::string(said));
}

} // namespace lanner

using namespace lanner;

lanner_status lanner_environment_create(lanner_environment** environment, lanner_error** error) noexcept {
  return c::guarded(error, [&] {
    c::required(environment, "environment") = nullptr;
    *environment = new lanner_environment;
  });
}

void lanner_environment_destroy(lanner_environment* environment) noexcept {
  delete environment;
}

lanner_status lanner_environment_add_operator(lanner_environment* environment, const lanner_operator* op,
                                              lanner_error** error) noexcept {
  return c::guarded(error, [&] {
    lanner_operator known = c::read_options(&c::required(op, "op"));
    known.struct_size = sizeof known;
    c::required(environment, "environment").environment.add_operator(known);
  });
}

lanner_status lanner_environment_load_plugin(lanner_environment* environment, const char* path,
                                             lanner_error** error) noexcept {
  return c::guarded(
      error, [&] { c::required(environment, "environment").environment.load_plugin(c::text(path, "path")); });
}

lanner_status lanner_environment_set_cache_folder(lanner_environment* environment, const char* path,
                                                  lanner_error** error) noexcept {
  return c::guarded(
      error, [&] { c::required(environment, "environment").environment.set_cache_folder(path ? path : ""); });
}

lanner_status lanner_environment_set_backends(lanner_environment* environment, const char* names,
                                              lanner_error** error) noexcept {
  return c::guarded(
      error, [&] { c::required(environment, "environment").environment.set_backends(names_in(names)); });
}

lanner_status lanner_environment_set_log(lanner_environment* environment, lanner_log log, void* user,
                                         lanner_error** error) noexcept {
  return c::guarded(error, [&] {
    LogCallback callback;
    if (log)
      callback = [log, user](LogLevel level, std::string_view message) {
        log(user, static_cast<int32_t>(level), std::string(message).c_str());
      };
    c::required(environment, "environment").environment.set_log_callback(std::move(callback));
  });
}

lanner_status lanner_environment_set_allocator(lanner_environment* environment,
                                               const lanner_allocator* allocator,
                                               lanner_error** error) noexcept {
  return c::guarded(error,
                    [&] { c::required(environment, "environment").environment.set_allocator(allocator); });
}

lanner_status lanner_environment_set_executor(lanner_environment* environment,
                                              const lanner_executor* executor,
                                              lanner_error** error) noexcept {
  return c::guarded(error, [&] {
    Environment& changed = c::required(environment, "environment").environment;
    if (!executor) return changed.set_executor(nullptr);
    changed.set_executor(std::make_shared<const Executor>(Executor{executor->user, executor->run}));
  });
}

lanner_status lanner_environment_set_threads(lanner_environment* environment, int32_t count,
                                             lanner_error** error) noexcept {
  return c::guarded(error, [&] { c::required(environment, "environment").environment.set_threads(count); });
}

lanner_status lanner_environment_set_limits(lanner_environment* environment, const char* limits,
                                            lanner_error** error) noexcept {
  return c::guarded(error, [&] {
    c::required(environment, "environment").environment.set_limits(parse_limits(limits ? limits : ""));
  });
}
