#include <unistd.h>

#include <filesystem>
#include <stdexcept>

#include <fmt/format.h>

#include "base/file/cache_file.h"
#include "device/machine_limits.h"
#include "fuzz/targets.h"
#include "lower/measure/timing_cache.h"

namespace lanner::fuzz {
namespace {

/// A folder for this process, in memory where the system has one.
class Folder {
public:
  Folder() {
    const std::filesystem::path memory = "/dev/shm";
    const auto parent = std::filesystem::exists(memory) ? memory : std::filesystem::temp_directory_path();
    path_ = parent / fmt::format("lanner-fuzz-{}", ::getpid());
    std::filesystem::create_directories(path_);
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::filesystem::path operator/(const char* name) const { return path_ / name; }

private:
  std::filesystem::path path_;
};

} // namespace

/// Timings and a machine's limits as another process may have written them; an added timing must be found
/// again.
void read_cache(std::span<const std::byte> input) {
  static const Folder folder;
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
