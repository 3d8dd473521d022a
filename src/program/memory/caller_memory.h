#pragma once
// How memory of callers takes part in a graph: what its inputs and outputs lie in.

#include <cstddef>
#include <optional>
#include <vector>

#include <lanner/device.h>
#include <lanner/dtype.h>
#include <lanner/layout.h>
#include <lanner/tensor.h>

#include "graph/storage/storage.h"
#include "graph/type/type.h"

namespace lanner {

/// How callers hold an input or output.
struct HeldStorage {
  std::optional<DType> dtype; ///< Unset: the value's own.
  Layout layout;              ///< Of any concrete shape of the value; empty is row-major.
  bool any = false; ///< Lowering chooses the layout; `layout` counts only where the value is no plain memory.
  friend bool operator==(const HeldStorage&, const HeldStorage&) = default;
};

/// By number of a graph's inputs and outputs. What lies behind the end of a list is as by default: row-major,
/// and no run writes over it.
struct CallerMemory {
  /// An output whose result is written to the memory of an input.
  struct Alias {
    std::size_t output = 0, input = 0;
    bool required = true; ///< Else only where that takes no copy: the output has memory of its own otherwise.
    friend bool operator==(const Alias&, const Alias&) = default;
  };
  std::vector<HeldStorage> inputs, outputs;
  std::vector<bool> overwritable; ///< Inputs that a run may write over once nothing reads them any more.
  std::vector<Alias> aliases;     ///< At most one of an input, and of an output.

  const HeldStorage& input(std::size_t number) const;
  const HeldStorage& output(std::size_t number) const;
  bool may_write(std::size_t input) const { return input < overwritable.size() && overwritable[input]; }
  /// Null where there is none.
  const Alias* alias_of_output(std::size_t output) const;
  const Alias* alias_of_input(std::size_t input) const;
};

/// The storage on `device` of a value of concrete type that callers hold so, as kernels name it.
Storage storage_of(const HeldStorage& held, const Type& type, Device device);

/// Whether the elements of `tensor` lie where kernels look for them.
bool lies_as(const Tensor& tensor, const HeldStorage& held);

/// `held` with the layout of a value that is stored so, where any layout will do; else `held`.
HeldStorage settled(const HeldStorage& held, const Storage& storage);
/// How callers hold a value that is stored so, as kernels name it.
Storage settled_storage(const HeldStorage& held, const Storage& storage, const Type& type, Device device);

} // namespace lanner
