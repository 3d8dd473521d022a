#pragma once
// Custom operators: a lanner_operator as an operator definition, and as the table its kernels are called
// through.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <lanner/device.h>
#include <lanner/operator.h>

#include "graph/op.h"
#include "ops/table/custom_node.h"

namespace lanner {

class CustomOperator;

/// An instance of a kernel, destroyed by the destructor. The operator must outlive it.
class CustomInstance {
public:
  CustomInstance(const CustomOperator& op, void* handle) noexcept : op_(&op), handle_(handle) {}
  CustomInstance(CustomInstance&& other) noexcept
      : op_(other.op_), handle_(std::exchange(other.handle_, nullptr)) {}
  CustomInstance& operator=(CustomInstance&&) = delete;
  ~CustomInstance();
  void* handle() const noexcept { return handle_; }

private:
  const CustomOperator* op_;
  void* handle_;
};

/// One of an operator's kernels, as reported by `supports`, not validated.
struct CustomCombination {
  lanner_kernel kernel{};
  std::vector<lanner_storage> inputs, outputs;
};

/// Calls the functions of an operator's table. Immutable; failures are Errors that begin with `operator NAME:
/// FUNCTION: `.
class CustomOperator {
public:
  /// Throws Error{invalid_argument} for a table that is incomplete or contradictory.
  explicit CustomOperator(const lanner_operator& table);
  CustomOperator(const CustomOperator&) = delete;
  CustomOperator& operator=(const CustomOperator&) = delete;

  const std::string& name() const noexcept { return name_; }
  std::uint32_t version() const noexcept { return table_.version; }
  int min_inputs() const noexcept { return table_.min_inputs; }
  int max_inputs() const noexcept { return table_.max_inputs; }
  int min_outputs() const noexcept { return table_.min_outputs; }
  int max_outputs() const noexcept { return table_.max_outputs; }

  void infer(InferContext& context) const;
  void reference(KernelContext& context) const;

  /// Its kernels on a device of this kind; `reason`, if not null, receives why there are no more.
  std::vector<CustomCombination> combinations(const CustomNode& node, Device device, int threads,
                                              std::string* reason = nullptr) const;
  std::uint64_t workspace(const CustomNode& node, const lanner_kernel& kernel) const;
  bool serialises() const noexcept { return table_.serialise != nullptr; }
  CustomInstance create(const CustomNode& node, const lanner_kernel& kernel) const;
  /// From the bytes of serialised(), which may be corrupt.
  CustomInstance create(const CustomNode& node, const lanner_kernel& kernel,
                        std::span<const std::byte> state) const;
  std::vector<std::byte> serialised(const CustomInstance& instance) const;
  void run(const CustomInstance& instance, std::span<const lanner_operand> inputs,
           std::span<const lanner_operand> outputs, void* workspace, void* stream) const;

private:
  friend class CustomInstance;
  /// Calls `function(message)` and throws unless it returns LANNER_OK.
  template<typename Function>
  void call(const char* what, Function&& function) const {
    char message[LANNER_MESSAGE_BYTES] = "";
    if (const lanner_status status = function(message); status != LANNER_OK) failed(what, status, message);
  }
  [[noreturn]] void failed(const char* what, lanner_status status, char* message) const;
  [[noreturn]] void nonsense(const char* what, const std::string& said) const;
  void check_value(const char* what, std::size_t i, const lanner_value& value, const CustomNode& node) const;
  void infer_outputs(CustomNode& node) const;
  void infer_at_run(CustomNode& node, std::span<const lanner_operand> inputs) const;
  void run_plain(const CustomNode& node, std::span<const lanner_operand> inputs,
                 std::span<const lanner_operand> outputs, int threads) const;

  lanner_operator table_;
  std::string name_;
};

/// The operator as a definition for graphs, which keeps it alive.
OpDef custom_op(std::shared_ptr<const CustomOperator> op);
/// The custom operator of a definition; null for a built-in one.
const CustomOperator* custom_operator(const OpDef& op);

} // namespace lanner
