#pragma once
// What is available on this machine and what is missing, for `lanner doctor` and bug reports.

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <lanner/device.h>

namespace lanner {

/// A part that is opened at run time, and whether that succeeded.
struct PartStatus {
  std::string name;
  bool found = false;
  std::string detail;              ///< Version and path, or why it is missing and the remedy.
  std::vector<std::string> looked; ///< `path: reason` of each attempt that failed.
};

/// A GPU as its driver describes it.
struct GpuStatus {
  std::string name;
  std::uint64_t memory_bytes = 0;
  int major = 0, minor = 0; ///< Compute capability.
};

/// Facts of processor, memory and parts. For video see lanner/video_support.h.
struct MachineFacts {
  std::string cpu;                   ///< The processor's model name.
  std::vector<std::string> features; ///< Instruction sets that kernels use: `avx2`, `avx512_vnni`.
  std::string kernels;               ///< The widest instruction set that Lanner's own kernels use here.
  int cores = 0;                     ///< Cores of the machine.
  int usable_cores = 0;              ///< Cores that this process may use (affinity, control group).
  int threads = 0;                   ///< Default thread count of a context.
  std::uint64_t cache_l1 = 0, cache_l2 = 0, cache_l3 = 0; ///< Data cache of one core, bytes.
  std::uint64_t memory_bytes = 0;
  std::vector<PartStatus> backends; ///< Backends that run networks, fastest first.
  PartStatus driver;                ///< The CUDA driver; not found where it is too old for this build.
  std::vector<GpuStatus> gpus;
  std::vector<PartStatus> gpu_libraries; ///< Libraries that networks on a GPU need; empty without a GPU.
  std::size_t cuda_kernels = 0;          ///< Kernels for GPUs in this build.
  std::filesystem::path cache_folder;    ///< Where timings are stored; empty: nowhere.
  std::vector<std::string> problems;     ///< Environment variables with invalid values.
};

/// The device that `auto` means: the first GPU when its driver and the libraries that networks need are
/// available, else the host. A driver that is too old for this build is a warning, once in a process.
Device automatic_device();

/// Adds folders that are searched for CUDA's libraries before the loader's own, for instance those of
/// Python's nvidia packages. To be called before the first use of a GPU. Thread-safe.
void add_library_folders(std::span<const std::filesystem::path> folders);

/// Collects the facts anew at each call; opens the modules and the driver. Never throws for a missing part.
MachineFacts machine_facts();

} // namespace lanner
