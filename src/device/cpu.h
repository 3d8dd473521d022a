#pragma once
// The processor's features and caches, and how many of its cores this process may use.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace lanner {

/// Instruction sets that both the processor and the operating system support. All false on other
/// architectures.
struct CpuFeatures {
  bool avx2 = false, fma = false, f16c = false;
  bool avx512f = false, avx512bw = false, avx512dq = false, avx512vl = false;
  bool avx_vnni = false, avx512_vnni = false, avx512_bf16 = false, avx512_fp16 = false;
  bool amx_tile = false, amx_int8 = false, amx_bf16 = false;

  /// Names of the available ones (`avx2`, `avx512_vnni`).
  std::vector<std::string_view> names() const;
  /// The names joined by `+`, or `baseline`: part of timing keys.
  std::string to_string() const;
  /// Whether kernels compiled for AVX2 and for AVX-512 can run (see cmake/LannerSources.cmake).
  bool has_avx2() const noexcept { return avx2 && fma && f16c; }
  bool has_avx512() const noexcept { return has_avx2() && avx512f && avx512bw && avx512dq && avx512vl; }
};
const CpuFeatures& cpu_features() noexcept;

/// The processor's model name (`AMD EPYC 9654 96-Core Processor`), empty when it has none.
std::string cpu_name();

/// Data caches of one core, in bytes; typical sizes where the system does not report them.
struct CacheSizes {
  std::uint64_t l1 = 32u << 10, l2 = 512u << 10, l3 = 4u << 20;
};
const CacheSizes& cache_sizes() noexcept;

/// Removes the block from all caches of all cores, so that who reads it next waits for memory. Does nothing
/// where the processor has no instruction for it.
void evict_from_caches(const void* block, std::uint64_t bytes) noexcept;

/// Cores that this process may use now: those of its affinity mask, at most its cgroup's quota rounded up.
/// Reads files.
int usable_cores();

/// CPU quota of a process in cores, 0 when it has none. `groups` is the text of /proc/self/cgroup, `mount`
/// where the control groups are mounted (/sys/fs/cgroup); both versions of control groups are understood.
double cgroup_quota(std::string_view groups, const std::filesystem::path& mount);

} // namespace lanner
