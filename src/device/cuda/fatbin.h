#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace lanner::cuda {

/// A compiled .cu file embedded in liblanner.so: machine code for several architectures, and PTX for newer
/// ones.
struct Fatbin {
  std::string_view name;           ///< the source's stem: "preprocess" for preprocess.cu
  std::span<const std::byte> data; ///< static storage, 64-byte aligned
};

/// All of them, by source path; none where the build had no nvcc. Written by cmake/LannerCuda.cmake.
std::vector<Fatbin> embedded_fatbins();

/// The CUDA release whose nvcc compiled them, as drivers number it: 13000 for 13.0. 0 where there are none.
int fatbin_release();
/// The newest compute capability (90) that they have machine code for; newer GPUs compile their PTX.
int fatbin_capability();

} // namespace lanner::cuda
