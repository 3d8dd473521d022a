#include "device/cpu.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <fstream>
#include <sstream>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/limits/control_groups.h"
#include "base/text/joined.h"
#include "device/numa.h"

namespace lanner {
namespace {

namespace fs = std::filesystem;

#if defined(__x86_64__)

// Tiles need the kernel's permission, which a process requests before their first use (Linux, "Using XSTATE
// features in user space applications"); requesting it twice is harmless.
bool amx_permitted() {
  constexpr long request_permission = 0x1023, tile_data = 18;
  return ::syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
}

struct Leaf {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Leaf leaf_of(unsigned leaf, unsigned part) {
  Leaf result;
  __get_cpuid_count(leaf, part, &result.eax, &result.ebx, &result.ecx, &result.edx);
  return result;
}

bool bit(unsigned word, int index) {
  return (word >> index) & 1u;
}

/// The register files that the operating system saves (XCR0), 0 when it saves none.
std::uint64_t saved_state() {
  constexpr int osxsave = 27;
  if (!bit(leaf_of(1, 0).ecx, osxsave)) return 0;
  std::uint32_t low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (static_cast<std::uint64_t>(high) << 32) | low;
}

// Bits as in the Intel 64 manual, volume 2, CPUID, leaves 1 and 7.
CpuFeatures detect() {
  constexpr std::uint64_t ymm = 0x6, zmm = 0xe6, tiles = 0x60000;
  const std::uint64_t saved = saved_state();
  const Leaf basic = leaf_of(1, 0), extended = leaf_of(7, 0);
  const Leaf newer = extended.eax >= 1 ? leaf_of(7, 1) : Leaf{};
  CpuFeatures f;
  if ((saved & ymm) == ymm) {
    f.avx2 = bit(extended.ebx, 5);
    f.fma = bit(basic.ecx, 12);
    f.f16c = bit(basic.ecx, 29);
    f.avx_vnni = bit(newer.eax, 4);
  }
  if ((saved & zmm) == zmm) {
    f.avx512f = bit(extended.ebx, 16);
    f.avx512dq = bit(extended.ebx, 17);
    f.avx512bw = bit(extended.ebx, 30);
    f.avx512vl = bit(extended.ebx, 31);
    f.avx512_vnni = bit(extended.ecx, 11);
    f.avx512_bf16 = bit(newer.eax, 5);
    f.avx512_fp16 = bit(extended.edx, 23);
  }
  if ((saved & tiles) == tiles && bit(extended.edx, 24) && amx_permitted()) {
    f.amx_tile = true;
    f.amx_int8 = bit(extended.edx, 25);
    f.amx_bf16 = bit(extended.edx, 22);
  }
  return f;
}

/// CLFLUSHOPT, whose flushes overlap, or else CLFLUSH, which every x86-64 processor has.
void flush_lines(const std::byte* first, const std::byte* end) {
  constexpr std::int64_t line = 64;
  static const bool overlapping = bit(leaf_of(7, 0).ebx, 23);
  if (overlapping)
    for (; first < end; first += line) __asm__ volatile("clflushopt %0" : : "m"(*first) : "memory");
  else
    for (; first < end; first += line) __asm__ volatile("clflush %0" : : "m"(*first) : "memory");
  __asm__ volatile("mfence" : : : "memory");
}

std::string brand() {
  unsigned highest = __get_cpuid_max(0x80000000u, nullptr);
  if (highest < 0x80000004u) return {};
  std::array<unsigned, 12> words{};
  for (unsigned i = 0; i < 3; ++i)
    __get_cpuid(0x80000002u + i, &words[4 * i], &words[4 * i + 1], &words[4 * i + 2], &words[4 * i + 3]);
  std::array<char, sizeof words + 1> text{};
  std::memcpy(text.data(), words.data(), sizeof words);
  return text.data();
}

#else

CpuFeatures detect() {
  return {};
}
void flush_lines(const std::byte*, const std::byte*) {}
std::string brand() {
  return {};
}

#endif

std::string read_text(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

double quota_of_folder(const fs::path& folder, bool second_version) {
  double quota = -1, period = 0;
  if (second_version)
    std::istringstream(read_text(folder / "cpu.max")) >> quota >> period; // "max 100000" leaves quota at 0.
  else {
    std::istringstream(read_text(folder / "cpu.cfs_quota_us")) >> quota;
    std::istringstream(read_text(folder / "cpu.cfs_period_us")) >> period;
  }
  return quota > 0 && period > 0 ? quota / period : 0;
}

CacheSizes read_cache_sizes() {
  CacheSizes sizes;
  const auto take = [](int name, std::uint64_t& size) {
    const long value = ::sysconf(name);
    if (value > 0) size = static_cast<std::uint64_t>(value);
  };
  take(_SC_LEVEL1_DCACHE_SIZE, sizes.l1);
  take(_SC_LEVEL2_CACHE_SIZE, sizes.l2);
  take(_SC_LEVEL3_CACHE_SIZE, sizes.l3);
  return sizes;
}

} // namespace

std::vector<std::string_view> CpuFeatures::names() const {
  const std::pair<bool, std::string_view> all[] = {
      {avx2, "avx2"},
      {fma, "fma"},
      {f16c, "f16c"},
      {avx512f, "avx512f"},
      {avx512bw, "avx512bw"},
      {avx512dq, "avx512dq"},
      {avx512vl, "avx512vl"},
      {avx_vnni, "avx_vnni"},
      {avx512_vnni, "avx512_vnni"},
      {avx512_bf16, "avx512_bf16"},
      {avx512_fp16, "avx512_fp16"},
      {amx_tile, "amx_tile"},
      {amx_int8, "amx_int8"},
      {amx_bf16, "amx_bf16"},
  };
  std::vector<std::string_view> result;
  for (const auto& [there, name] : all)
    if (there) result.push_back(name);
  return result;
}

std::string CpuFeatures::to_string() const {
  const std::vector<std::string_view> there = names();
  return there.empty() ? "baseline" : joined(there, "+");
}

const CpuFeatures& cpu_features() noexcept {
  static const CpuFeatures features = detect();
  return features;
}

std::string cpu_name() {
  std::string name = brand();
  name.erase(0, name.find_first_not_of(' '));
  name.erase(name.find_last_not_of(' ') + 1);
  return name;
}

const CacheSizes& cache_sizes() noexcept {
  static const CacheSizes sizes = read_cache_sizes();
  return sizes;
}

double cgroup_quota(std::string_view groups, const fs::path& mount) {
  double least = 0;
  for (const auto& [path, second_version] : group_folders(groups, mount, "cpu")) {
    const double quota = quota_of_folder(path, second_version);
    if (quota > 0 && (least == 0 || quota < least)) least = quota;
  }
  return least;
}

void evict_from_caches(const void* block, std::uint64_t bytes) noexcept {
  const auto* const first = static_cast<const std::byte*>(block);
  flush_lines(first, first + bytes);
}

int usable_cores() {
  const double quota = cgroup_quota(own_groups(), "/sys/fs/cgroup");
  const int cores = static_cast<int>(allowed_cores().size());
  return quota > 0 ? std::min(cores, static_cast<int>(std::ceil(quota))) : cores;
}

} // namespace lanner
