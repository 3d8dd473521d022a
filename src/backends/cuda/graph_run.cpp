#include "backends/cuda/graph_run.h"

#include <algorithm>

namespace lanner::cuda {

using cudnn::Attribute;
using cudnn::AttributeType;

void* GraphRun::pointer(const GraphBinding& binding, const Launch& launch) const {
  // cuDNN's interface is not const-correct; inputs are only read.
  return binding.output ? launch.outputs[0] : const_cast<void*>(launch.inputs[binding.index]);
}

bool GraphRun::fits(const Pack& pack, const Launch& launch) const {
  if (pack.pointers.back() != launch.workspace) return false;
  for (std::size_t i = 0; i < bindings_.size(); ++i)
    if (pack.pointers[i] != pointer(bindings_[i], launch)) return false;
  return true;
}

std::unique_ptr<GraphRun::Pack> GraphRun::make_pack(const Launch& launch) const {
  auto pack = std::make_unique<Pack>();
  std::vector<std::int64_t> uids;
  for (const GraphBinding& binding : bindings_) {
    uids.push_back(binding.uid);
    pack->pointers.push_back(pointer(binding, launch));
    check_aligned(pack->pointers.back(), "conv");
  }
  pack->pointers.push_back(launch.workspace);
  pack->descriptor = cudnn::Descriptor(cudnn::DescriptorType::variant_pack);
  pack->descriptor.set(Attribute::pack_unique_ids, AttributeType::int64, std::span<const std::int64_t>(uids));
  pack->descriptor.set(Attribute::pack_data_pointers, AttributeType::pointer,
                       std::span<void* const>(pack->pointers).first(bindings_.size()));
  pack->descriptor.set(Attribute::pack_workspace, AttributeType::pointer, launch.workspace);
  pack->descriptor.finalize();
  return pack;
}

void GraphRun::run(cudnn::Handle handle, const Launch& launch) const {
  std::unique_ptr<Pack> pack = packs_.take([&](const Pack& kept) { return fits(kept, launch); });
  if (!pack) pack = make_pack(launch);
  cudnn::check(cudnn::api().execute(handle, ready_->plan.handle(), pack->descriptor.handle()),
               "cudnnBackendExecute");
  packs_.give(std::move(pack));
}

std::size_t GraphKernel::workspace() const {
  std::size_t most = 0;
  for (const auto& run : runs_) most = std::max(most, run->workspace());
  return most;
}

void GraphKernel::launch(const Launch& launch) const {
  const auto stream = static_cast<StreamHandle>(launch.stream.handle);
  const auto lease = pool_.take(stream);
  for (const auto& run : runs_) {
    if (!launch.ordered) order_.queue(stream);
    run->run(lease.handle(), launch);
  }
}

} // namespace lanner::cuda
