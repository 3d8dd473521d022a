#pragma once
// A oneDNN primitive as a Kernel.

#include <array>
#include <atomic>
#include <memory>
#include <vector>

#include <dnnl.hpp>

#include "backends/family.h"
#include "backends/onednn/library.h"
#include "backends/onednn/openmp_calls.h"
#include "base/limits/account.h"

namespace lanner::onednn {

/// One argument of a primitive and where a launch finds its data.
struct Argument {
  enum class From : std::uint8_t { input, output, workspace, owned };
  int id; ///< DNNL_ARG_...
  Desc desc;
  From from;
  std::size_t index = 0; ///< Input or output number.
  Tensor tensor;         ///< From::owned: a constant from inside the group.
};

/// Runs one primitive. Launching takes memory objects from a small pool, so that several threads may launch
/// concurrently and nothing is allocated here once each of them has launched.
class Execution final : public Kernel {
public:
  /// The scratchpad of `descriptor` becomes an extra argument.
  Execution(const dnnl::primitive_desc_base& descriptor, std::vector<Argument> arguments, int threads);
  ~Execution() override;

  std::size_t workspace() const override { return workspace_; }
  std::vector<std::span<const std::byte>> own_weights() const override;
  void launch(const Launch& launch) const override;

private:
  struct MemorySet;
  static constexpr std::size_t pool_size = 16;

  void make(const dnnl::primitive_desc_base& descriptor);
  std::unique_ptr<MemorySet> acquire() const;
  void release(std::unique_ptr<MemorySet> set) const;

  Shares shares() const;
  void learn(Shares run, unsigned barriers_before) const;

  /// Whether parts of its parallel regions may wait for each other.
  enum class Waits : std::uint8_t { never, perhaps, surely };

  Charge code_; ///< For its code and tables. See note [Memory of oneDNN's code].
  dnnl::primitive primitive_;
  std::vector<Argument> arguments_;
  int threads_;
  std::size_t workspace_ = 0;
  mutable std::atomic<Waits> waits_{Waits::surely};
  mutable std::array<std::atomic<MemorySet*>, pool_size> pool_{};
};

/// Arguments of the anchor's operands and of the epilogue's.
Argument argument(int id, const Desc& desc, const Operand& operand);
Argument output_argument(int id, const Desc& desc, std::size_t index = 0);

} // namespace lanner::onednn
