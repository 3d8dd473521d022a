#include "device/cuda/code.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <shared_mutex>

#include "base/check.h"
#include "base/file/cache_file.h"
#include "base/hash.h"
#include "base/options.h"
#include "device/cuda/fatbin.h"
#include "device/cuda/nvrtc.h"

namespace lanner::cuda {
namespace {

// Modules are never unloaded: engines that still live may use their kernels, and drivers are gone before
// static objects are destroyed.
struct Modules {
  struct Entry {
    std::mutex mutex;
    std::unique_ptr<KernelModule> module;
  };
  std::mutex mutex;
  std::map<std::pair<Device, std::string>, Entry> entries;
};

Modules& modules() {
  static auto* all = new Modules;
  return *all;
}

Modules::Entry& entry_of(const Gpu& gpu, const std::string& key) {
  Modules& all = modules();
  const std::lock_guard lock(all.mutex);
  return all.entries[{gpu.device(), key}];
}

/// Different modules are made concurrently: some take a second to compile.
template<typename Make>
const KernelModule& module_of(const Gpu& gpu, const std::string& key, Make&& make) {
  Modules::Entry& entry = entry_of(gpu, key);
  const std::lock_guard lock(entry.mutex);
  if (!entry.module) entry.module = make();
  return *entry.module;
}

const Fatbin* find_fatbin(std::string_view stem) {
  static const auto* all = new std::vector<Fatbin>(embedded_fatbins());
  const auto found = std::ranges::find(*all, stem, &Fatbin::name);
  return found == all->end() ? nullptr : &*found;
}

std::filesystem::path cache_file(const std::string& key) {
  const std::filesystem::path& folder = options().cache_folder;
  return folder.empty() ? folder : folder / "kernels" / (key + ".cubin");
}

/// Machine code from an earlier process. The file's name is the hash of source, architecture and compiler;
/// its last bytes are the hash of the rest, so that a truncated or foreign file is compiled again.
std::string read_cached(const std::filesystem::path& file) {
  constexpr std::uint64_t most = 64 << 20;
  const std::optional<Content> content = read_cache_file(file, most);
  if (!content) return {};
  const std::string bytes(reinterpret_cast<const char*>(content->bytes.data()), content->bytes.size());
  constexpr std::size_t tail = 32;
  const std::string code = bytes.substr(0, bytes.size() - std::min(bytes.size(), tail));
  if (!code.empty() && hash_hex(std::as_bytes(std::span(code))) == bytes.substr(code.size())) return code;
  warn_of_cache_file(file, "it is damaged");
  return {};
}

void write_cached(const std::filesystem::path& file, const std::string& code) {
  // A failed write only means compiling again the next time.
  write_cache_file(file, code + hash_hex(std::as_bytes(std::span(code))));
}

std::string machine_code(const Gpu& gpu, const std::string& source) {
  const std::string text = fmt::format("{}|{}|{}", nvrtc_status().version, gpu.capability(), source);
  const std::filesystem::path file = cache_file(hash_hex(std::as_bytes(std::span(text))));
  if (!file.empty())
    if (std::string kept = read_cached(file); !kept.empty()) return kept;
  std::string code = compile(source, gpu.capability());
  if (!file.empty()) write_cached(file, code);
  return code;
}

/// Functions whose kernels wait inside for earlier work. Never shrinks, as modules are never unloaded.
struct EarlyStarts {
  std::shared_mutex mutex;
  std::set<FunctionHandle> functions;
};

EarlyStarts& early_starts() {
  static auto* all = new EarlyStarts;
  return *all;
}

std::size_t occurrences(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

void check_waits(std::string_view source) {
  lanner::check(occurrences(source, "__global__") == occurrences(source, "wait_for_earlier();"),
                ErrorCode::internal, "cuda: a source has a kernel that does not call wait_for_earlier()");
}

void note_early_start(const Gpu& gpu, FunctionHandle function) {
  constexpr int least_capability = 90;
  if (gpu.capability() < least_capability) return;
  EarlyStarts& all = early_starts();
  const std::unique_lock lock(all.mutex);
  all.functions.insert(function);
}

} // namespace

bool starts_early(FunctionHandle function) {
  EarlyStarts& all = early_starts();
  const std::shared_lock lock(all.mutex);
  return all.functions.contains(function);
}

FunctionHandle embedded_function(const Gpu& gpu, std::string_view stem, const char* name) {
  const std::string key = "embedded " + std::string(stem);
  const KernelModule& module = module_of(gpu, key, [&] {
    const Fatbin* fatbin = find_fatbin(stem);
    lanner::check(fatbin != nullptr, ErrorCode::unsupported,
                  "kernels of {}.cu are not in this build: build Lanner where nvcc is found", stem);
    return std::make_unique<KernelModule>(gpu, fatbin->data.data());
  });
  return module.function(name);
}

bool has_embedded(std::string_view stem) {
  return find_fatbin(stem) != nullptr;
}

FunctionHandle compiled_function(const Gpu& gpu, const std::string& source, const char* name,
                                 unsigned shared_bytes) {
  const KernelModule& module = module_of(gpu, source, [&] {
    check_waits(source);
    const std::string code = machine_code(gpu, source);
    return std::make_unique<KernelModule>(gpu, code.data());
  });
  const FunctionHandle function = module.function(name);
  if (shared_bytes > 0)
    check(driver().function_set_attribute(function, function_attribute_max_dynamic_shared,
                                          static_cast<int>(shared_bytes)),
          "cuFuncSetAttribute");
  note_early_start(gpu, function);
  return function;
}

Grid grid_for(const Gpu& gpu, std::int64_t elements) {
  constexpr unsigned threads = 256, blocks_each = 16;
  const std::int64_t wanted = std::max<std::int64_t>((elements + threads - 1) / threads, 1);
  const auto most = static_cast<std::int64_t>(gpu.multiprocessors()) * blocks_each;
  return {static_cast<unsigned>(std::min(wanted, most)), threads, 0};
}

} // namespace lanner::cuda
