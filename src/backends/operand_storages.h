#pragma once
// How a tactic wants the inputs of a node stored.

#include <utility>
#include <vector>

#include "backends/group.h"
#include "graph/storage/storage.h"

namespace lanner {

/// Collects what the steps of a kernel ask of the inputs. One input may be asked for by several, as what a
/// convolution reads and as what is added to its result; a tactic can stand only where these agree.
class OperandStorages {
public:
  /// Inputs that nothing asks for are kept as `otherwise`.
  explicit OperandStorages(std::size_t inputs, const Storage& otherwise = {})
      : storages_(inputs, otherwise), asked_(inputs, false) {}

  /// What is no input of the node has no storage to choose.
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
