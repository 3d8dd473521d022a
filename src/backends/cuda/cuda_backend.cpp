#include "backends/cuda/cuda_backend.h"

#include <array>

#include <fmt/format.h>

#include "backends/cuda/families.h"
#include "device/cuda/cublaslt.h"
#include "device/cuda/cudnn.h"
#include "device/cuda/gpu.h"
#include "device/cuda/nvrtc.h"

namespace lanner::cuda {
namespace {

/// The families with the GPU's context made current around what talks to it.
class CudaBackend final : public Backend {
public:
  explicit CudaBackend(std::span<const KernelFamily> families)
      : families_("cuda", families, DeviceKind::cuda) {}

  std::string_view name() const override { return families_.name(); }
  std::string version() const override {
    return fmt::format("cudnn {} cublaslt {} nvrtc {}", cudnn::library_status().version,
                       cublaslt::library_status().version, nvrtc_status().version);
  }
  DeviceKind device() const override { return DeviceKind::cuda; }
  bool fuses(std::span<const Node* const> group, const Node& next, const Target& target) const override {
    return families_.fuses(group, next, target);
  }
  std::vector<std::vector<const Node*>> propose(const Node& anchor, const Target& target) const override {
    return families_.propose(anchor, target);
  }
  TacticList tactics(const Node& node, const Target& target) const override {
    const Current current(Gpu::get(target.device));
    return families_.tactics(node, target);
  }
  TacticList more_tactics(const Node& node, const Target& target) const override {
    const Current current(Gpu::get(target.device));
    return families_.more_tactics(node, target);
  }
  TacticList named_tactics(const Node& node, const Target& target) const override {
    const Current current(Gpu::get(target.device));
    return families_.named_tactics(node, target);
  }
  TacticList late_tactics(const Node& node, const Target& target) const override {
    const Current current(Gpu::get(target.device));
    return families_.late_tactics(node, target);
  }
  std::unique_ptr<Kernel> prepare(const Node& node, const Tactic& tactic,
                                  std::span<const Tensor* const> constants,
                                  const Target& target) const override {
    const Current current(Gpu::get(target.device));
    return families_.prepare(node, tactic, constants, target);
  }

private:
  FamilyBackend families_;
};

} // namespace

const Backend& backend() {
  static const std::array families = {
      conv_family,     depthwise_family,     attention_family,      matmul_family,     own_gemm_family,
      own_conv_family, elementwise_family,   movement_family,       window_family,     taps_family,
      row_family,      normalization_family, index_family,          roi_family,        selection_family,
      picture_family,  copy_to_host_family,  copy_to_device_family, copy_to_gpu_family};
  static const CudaBackend backend(families);
  return backend;
}

} // namespace lanner::cuda
