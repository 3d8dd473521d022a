#include "device/machine_limits.h"

#include <chrono>
#include <cmath>
#include <map>
#include <sstream>

#include <fmt/format.h>

#include "base/check.h"
#include "base/file/cache_file.h"
#include "base/file/file.h"

namespace lanner {
namespace {

constexpr std::string_view header = "lanner machine limits 2";
constexpr std::size_t max_lines = 256, longest_line = 4096;

using Known = std::map<std::string, MachineLimits>;

/// A line holds the eight numbers and the processor's text.
std::optional<std::pair<std::string, MachineLimits>> parsed(const std::string& line) {
  if (line.size() > longest_line) return std::nullopt;
  std::istringstream fields(line);
  fields.imbue(std::locale::classic());
  MachineLimits limits;
  std::string isa;
  if (!(fields >> limits.operations >> limits.half_operations >> limits.bytes >> limits.cached_bytes >>
        limits.start >> limits.team_start >> limits.copied_bytes >> limits.copy_start))
    return std::nullopt;
  std::getline(fields >> std::ws, isa);
  if (isa.empty() || !plausible(limits, DeviceKind::cpu)) return std::nullopt;
  return std::pair(std::move(isa), limits);
}

Known read(const std::filesystem::path& file) {
  Known known;
  const std::optional<Content> content = read_cache_file(file, max_lines * longest_line);
  if (!content) return known;
  std::istringstream in(
      std::string(reinterpret_cast<const char*>(content->bytes.data()), content->bytes.size()));
  std::string line;
  if (!std::getline(in, line) || line != header) return known;
  while (std::getline(in, line) && known.size() < max_lines)
    if (auto one = parsed(line)) known.insert(std::move(*one));
  return known;
}

} // namespace

bool plausible(const MachineLimits& limits, DeviceKind kind) noexcept {
  const auto within = [](double value, double least, double most) {
    return std::isfinite(value) && value >= least && value <= most;
  };
  return within(limits.operations, 1e7, 1e16) && within(limits.half_operations, 1e7, 1e17) &&
         within(limits.bytes, 1e7, 1e15) && within(limits.cached_bytes, 1e7, 1e16) &&
         within(limits.start, 1e-9, 1) && within(limits.team_start, 0, 1) &&
         within(limits.copied_bytes, kind == DeviceKind::cpu ? 0 : 1e6, 1e14) &&
         within(limits.copy_start, 0, 1);
}

MachineLimits shipped_limits(DeviceKind kind) noexcept {
  if (kind == DeviceKind::cpu)
    return {.operations = 120e9,
            .half_operations = 120e9,
            .bytes = 12e9,
            .cached_bytes = 60e9,
            .start = 5e-7,
            .team_start = 2e-6};
  return {.operations = 25e12,
          .half_operations = 250e12,
          .bytes = 1.5e12,
          .cached_bytes = 3e12,
          .start = 4e-6,
          .team_start = 0,
          .copied_bytes = 20e9, // PCIe x16.
          .copy_start = 1e-5};
}

MachineLimits known_limits(const std::filesystem::path& file, DeviceKind kind, const std::string& isa) {
  if (file.empty()) return shipped_limits(kind);
  const Known known = read(file);
  const auto found = known.find(isa);
  return found == known.end() || !plausible(found->second, kind) ? shipped_limits(kind) : found->second;
}

void keep_limits(const std::filesystem::path& file, const std::string& isa, const MachineLimits& limits) {
  std::error_code unmade; // acquiring the lock reports the failure
  std::filesystem::create_directories(file.parent_path(), unmade);
  std::filesystem::path lock = file;
  lock += ".lock";
  constexpr std::chrono::seconds timeout(10);
  const auto held = FileLock::acquire_within(lock, timeout);
  check(held.has_value(), ErrorCode::io, "{}: another process keeps it locked; end that process first",
        lock.string());
  Known known = read(file);
  known[isa] = limits;
  std::string text = fmt::format("{}\n", header);
  for (const auto& [name, one] : known)
    text += fmt::format("{:.6g} {:.6g} {:.6g} {:.6g} {:.6g} {:.6g} {:.6g} {:.6g} {}\n", one.operations,
                        one.half_operations, one.bytes, one.cached_bytes, one.start, one.team_start,
                        one.copied_bytes, one.copy_start, name);
  check(write_cache_file(file, text), ErrorCode::io,
        "{}: cannot be written; set LANNER_CACHE_DIR to a writable folder", file.string());
}

} // namespace lanner
