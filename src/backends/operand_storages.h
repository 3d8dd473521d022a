#pragma once
// The storages that a tactic requires of a node's inputs.

#include <utility>
#include <vector>

#include "backends/group.h"
#include "graph/storage/storage.h"

namespace lanner {

/// Collects the storages that a kernel's steps require of the inputs. One input may be used by several, for
/// example as a convolution's input and as its residual; a tactic is valid only where they agree.
class OperandStorages {
public:
  /// Inputs that no step uses keep `otherwise`.
  explicit OperandStorages(std::size_t inputs, const Storage& otherwise = {})
      : storages_(inputs, otherwise), asked_(inputs, false) {}

  /// Operands that are not inputs of the node are ignored.
  void ask(const Operand& operand, Storage storage) {
    if (!operand.is_input()) return;
    agree_ = agree_ && (!asked_[operand.index] || storages_[operand.index] == storage);
    storages_[operand.index] = std::move(storage);
    asked_[operand.index] = true;
  }

  bool agree() const noexcept { return agree_; }
  std::vector<Storage> take() { return std::move(storages_); }

private:
  std::vector<Storage> storages_;
  std::vector<bool> asked_;
  bool agree_ = true;
};

} // namespace lanner
