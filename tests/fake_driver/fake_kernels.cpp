#include "fake_driver/fake_kernels.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>

#include "emulated_gpu/embedded_rows.h"
#include "fake_driver/fake_world.h"

namespace lanner::fake {
namespace {

bool is_fatbin(const void* image) {
  constexpr unsigned magic = 0xba55ed50;
  return std::memcmp(image, &magic, sizeof magic) == 0;
}

const emulated::KernelRow* embedded_row(std::string_view name) {
  for (const emulated::KernelRow* const* rows = emulated::embedded_rows; *rows; ++rows)
    for (const emulated::KernelRow* row = *rows; row->name; ++row)
      if (row->name == name) return row;
  return nullptr;
}

/// Reports on stderr, for tests that see only a status.
void tell(const std::string& kernel, const char* what) {
  std::fprintf(stderr, "fake GPU: kernel %s: %s\n", kernel.c_str(), what);
}

/// Compiles the source of the function's module if needed.
bool make_ready(Function& function) {
  Module& module = *function.module;
  const std::lock_guard lock(module.mutex);
  if (function.row) return true;
  try {
    if (!module.library) module.library = emulated::compile_for_host({module.source}, LANNER_HOST_KERNELS);
  } catch (const std::exception& error) {
    tell(function.name, error.what());
    return false;
  }
  const auto& rows = module.library->kernels.front();
  const auto row = std::ranges::find(rows, std::string_view(function.name), &emulated::KernelRow::name);
  if (row != rows.end()) function.row = &*row;
  return function.row != nullptr;
}

/// Arguments of a launch.
struct Kept {
  explicit Kept(unsigned bytes)
      : memory(static_cast<unsigned char*>(std::aligned_alloc(64, (bytes + 64) / 64 * 64))) {}
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;
  ~Kept() { std::free(memory); }
  unsigned char* memory;
};

} // namespace

Module* load_module(const void* image, int device) {
  auto* module = new Module;
  module->device = device;
  if (!is_fatbin(image)) module->source = static_cast<const char*>(image);
  return module;
}

Function* find_function(Module& module, const char* name) {
  const std::lock_guard lock(module.mutex);
  const auto found = std::ranges::find(module.functions, name, &Function::name);
  if (found != module.functions.end()) return &*found;
  Function function{name, &module};
  if (module.source.empty()) {
    function.row = embedded_row(name);
    if (!function.row) return nullptr;
  } else {
    const std::vector<std::string> names = emulated::kernel_names(module.source);
    if (std::ranges::find(names, name) == names.end()) return nullptr;
  }
  return &module.functions.emplace_back(std::move(function));
}

int bind_launch(Function& function, const emulated::Launch& asked, void** arguments, Work& work) {
  if (!make_ready(function)) return no_binary;
  const emulated::KernelRow& row = *function.row;
  for (unsigned i = 0; row.pointers >> i; ++i)
    if (row.pointers >> i & 1 && !reaches(*static_cast<const void**>(arguments[i]))) return illegal_address;
  auto kept = std::make_shared<Kept>(row.bytes);
  row.keep(arguments, kept->memory);
  emulated::Launch launch = asked;
  if (function.module->library) launch.shared = function.module->library->shared;
  work = [launch, kept, &function] {
    emulated::Launch now = launch;
    now.reversed = world().reversed;
    const std::string wrong = emulated::run_blocks(now, [&] { function.row->call(kept->memory); });
    if (wrong.empty()) return;
    tell(function.name, wrong.c_str());
    world().fault = launch_failed;
  };
  return success;
}

} // namespace lanner::fake
