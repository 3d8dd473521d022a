#pragma once
// Kernels that run cuDNN plans one after another.

#include <memory>
#include <vector>

#include "backends/convolution/conv_engines.h"
#include "backends/cuda/launch_cache.h"
#include "device/cuda/order.h"
#include "graph/backend.h"

namespace lanner::cuda {

/// The memory that one tensor of a graph gets at launch.
struct GraphBinding {
  std::int64_t uid = 0;
  bool output = false; ///< Output 0; else input `index`.
  std::size_t index = 0;
};

/// A plan with the pointers it was last run with. A variant pack is created only when they change, so that a
/// context, whose pointers stay the same, allocates nothing. Thread-safe.
class GraphRun {
public:
  GraphRun(std::shared_ptr<const ReadyGraph> ready, std::vector<GraphBinding> bindings)
      : ready_(std::move(ready)), bindings_(std::move(bindings)) {}

  std::size_t workspace() const noexcept { return ready_->plan.workspace(); }
  void run(cudnn::Handle handle, const Launch& launch) const;

private:
  struct Pack {
    std::vector<void*> pointers; ///< One per binding, then the workspace.
    cudnn::Descriptor descriptor;
  };
  bool fits(const Pack& pack, const Launch& launch) const;
  void* pointer(const GraphBinding& binding, const Launch& launch) const;
  std::unique_ptr<Pack> make_pack(const Launch& launch) const;

  std::shared_ptr<const ReadyGraph> ready_;
  std::vector<GraphBinding> bindings_;
  mutable LaunchCache<Pack> packs_;
};

/// Runs on a GPU's stream with a handle from its pool.
class GraphKernel final : public Kernel {
public:
  GraphKernel(const Gpu& gpu, cudnn::HandlePool& pool, std::vector<std::unique_ptr<GraphRun>> runs)
      : order_(gpu), pool_(pool), runs_(std::move(runs)) {}
  std::size_t workspace() const override;
  bool on_stream() const override { return true; }
  void launch(const Launch& launch) const override;

private:
  StreamOrder order_;
  cudnn::HandlePool& pool_;
  std::vector<std::unique_ptr<GraphRun>> runs_;
};

} // namespace lanner::cuda
