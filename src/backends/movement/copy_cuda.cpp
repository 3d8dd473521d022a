// Copies of values between devices: the steps at which a run enters or leaves a GPU.

#include <optional>

#include "backends/cuda/storage.h"
#include "backends/estimate.h"
#include "backends/family.h"
#include "device/cuda/code.h"
#include "device/memory.h"

namespace lanner::cuda {
namespace {

class CopyKernel final : public Kernel {
public:
  CopyKernel(std::uint64_t bytes, Device from, Device to) : bytes_(bytes), from_(from), to_(to) {}

  bool on_stream() const override { return true; }
  bool recordable() const override { return false; }
  void launch(const Launch& launch) const override {
    copy_memory({launch.outputs[0], to_}, {const_cast<void*>(launch.inputs[0]), from_}, bytes_,
                launch.stream);
  }

private:
  std::uint64_t bytes_;
  Device from_, to_;
};

enum class Way : std::uint8_t { to_host, to_device, to_gpu };

/// The target GPU reads from the other one.
std::optional<Way> way_of(const Storage& from, const Storage& to, Device own) {
  if (from.device == to.device) return std::nullopt;
  if (to.device.is_host()) return from.device == own ? std::optional(Way::to_host) : std::nullopt;
  if (to.device != own) return std::nullopt;
  return from.device.is_host() ? Way::to_device : Way::to_gpu;
}

/// Only the device may differ: conversions are done on one side.
bool takes(const Node& node, const Target& target, Way way) {
  if (node.kind() != "reorder") return false;
  const Value &from = *node.input(0), &to = *node.output(0);
  return way_of(from.storage, to.storage, target.device) == way && from.type.dtype() != DType::string &&
         same_quantization(from.storage, to.storage) &&
         from.storage.dtype.value_or(from.type.dtype()) == to.storage.dtype.value_or(to.type.dtype()) &&
         canonical(from.storage.layout, from.type.shape()) == canonical(to.storage.layout, to.type.shape());
}

template<Way way>
TacticList copy_tactics(const Node& node, const Group&, const Target& target) {
  TacticList list;
  if (!takes(node, target, way)) return list;
  Tactic tactic;
  tactic.kernel = way == Way::to_host     ? "copy_to_host"
                  : way == Way::to_device ? "copy_to_device"
                                          : "copy_to_gpu";
  for (const Value* input : node.inputs()) tactic.inputs.push_back(input->storage);
  tactic.outputs = {node.output(0)->storage};
  tactic.estimate = copy_seconds(plain_bytes(*node.output()), target);
  list.tactics.push_back(std::move(tactic));
  return list;
}

std::unique_ptr<Kernel> copy_prepare(const Preparation& p) {
  const Storage &from = p.tactic.inputs.at(0), &to = p.tactic.outputs.at(0);
  const Type& type = p.node.output()->type;
  return std::make_unique<CopyKernel>(to.layout.bytes(type.shape(), to.dtype.value_or(type.dtype())),
                                      from.device, to.device);
}

} // namespace

extern const KernelFamily copy_to_host_family{"copy_to_host", KernelTrust::own(), copy_tactics<Way::to_host>,
                                              copy_prepare};
extern const KernelFamily copy_to_device_family{"copy_to_device", KernelTrust::own(),
                                                copy_tactics<Way::to_device>, copy_prepare};
extern const KernelFamily copy_to_gpu_family{"copy_to_gpu", KernelTrust::own(), copy_tactics<Way::to_gpu>,
                                             copy_prepare};

} // namespace lanner::cuda
