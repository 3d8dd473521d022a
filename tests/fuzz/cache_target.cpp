#include <filesystem>
#include <stdexcept>

#include "base/file/cache_file.h"
#include "device/machine_limits.h"
#include "fuzz/folder.h"
#include "fuzz/targets.h"
#include "lower/measure/timing_cache.h"

namespace lanner::fuzz {
/// Timings and a machine's limits as another process may have written them; an added timing must be found
/// again.
void read_cache(std::span<const std::byte> input) {
  static const Folder folder("cache");
  const std::filesystem::path file = folder / "file";
  if (!write_cache_file(file, as_text(input))) throw std::logic_error("the file was not written");
  known_limits(file, DeviceKind::cpu, "cpu");
  const std::string key(32, 'a');
  TimingCache cache(file);
  cache.set_timing(key, {1, 0});
  cache.save();
  if (!TimingCache(file).timing(key)) throw std::logic_error("a stored timing is lost");
}

} // namespace lanner::fuzz
