#include "emulated_gpu/emulated_kernels.h"

#include <algorithm>
#include <string_view>

#include "emulated_gpu/block_runner.h"

namespace lanner::test {

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
