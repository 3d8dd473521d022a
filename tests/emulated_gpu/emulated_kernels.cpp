#include "emulated_gpu/emulated_kernels.h"

#include <algorithm>
#include <string_view>

#include "emulated_gpu/block_runner.h"
#include "emulated_gpu/tensor_boxes.h"

namespace lanner::test {

std::optional<cuda::TensorMap> emulated_map(const cuda::TensorBoxes& boxes, const void* memory) {
  std::uint64_t dims[4], strides[3];
  std::uint32_t box[3], steps[4] = {1, 1, 1, 1};
  for (int i = 0; i < 4; ++i) dims[i] = static_cast<std::uint64_t>(boxes.dims[i]);
  for (int i = 0; i < 3; ++i) {
    strides[i] = static_cast<std::uint64_t>(boxes.strides[i]) * 2;
    box[i] = static_cast<std::uint32_t>(boxes.box[i]);
  }
  for (int i = 0; i < 2; ++i) steps[i + 1] = static_cast<std::uint32_t>(boxes.steps[i]);
  const emulated::TensorGiven given{6, static_cast<std::uint32_t>(boxes.rank), memory, dims, strides, steps,
                                    3};
  cuda::TensorMap map{};
  const bool taken = boxes.images
                         ? emulated::encode_images(map.bytes, given, boxes.lower, boxes.upper, box[0],
                                                   static_cast<std::uint32_t>(boxes.positions))
                         : emulated::encode_tiled(map.bytes, given, box);
  if (!taken) return std::nullopt;
  return map;
}

std::size_t EmulatedKernels::add(std::string source, std::string name) {
  kernels_.emplace_back(std::move(source), std::move(name));
  return kernels_.size() - 1;
}

void EmulatedKernels::compile() {
  std::vector<std::string> sources;
  for (const auto& [source, name] : kernels_) sources.push_back(source);
  library_ = emulated::compile_for_host(sources, LANNER_HOST_KERNELS);
}

bool EmulatedKernels::run(std::size_t kernel, std::int64_t blocks, int threads, std::vector<void*> arguments,
                          bool copies_at_once) const {
  const auto& rows = library_.kernels.at(kernel);
  const auto row =
      std::ranges::find(rows, std::string_view(kernels_[kernel].second), &emulated::KernelRow::name);
  if (row == rows.end()) return false;
  alignas(64) unsigned char kept[4096];
  row->keep(arguments.data(), kept);
  emulated::Launch launch;
  launch.blocks.x = static_cast<unsigned>(blocks);
  launch.threads.x = static_cast<unsigned>(threads);
  launch.shared = library_.shared;
  launch.shared_bytes = emulated::most_shared;
  launch.copies_at_once = copies_at_once;
  return emulated::run_blocks(launch, [&] { row->call(kept); }).empty();
}

} // namespace lanner::test
