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

} // namespace lanner::cuda
