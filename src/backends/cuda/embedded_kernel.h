#pragma once
// Kernels of the library's own .cu files whose launches vary in pointers only.

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>

#include "device/cuda/code.h"
#include "graph/backend.h"

namespace lanner::cuda {

/// function(inputs 0 to `inputs` - 1, output 0, parameters...), with all parameters fixed at preparation. An
/// empty grid launches nothing.
template<std::size_t inputs, typename... Parameters>
class EmbeddedKernel : public Kernel {
public:
  EmbeddedKernel(FunctionHandle function, Grid grid, const Parameters&... parameters)
      : function_(function), grid_(grid), parameters_(parameters...) {}
  bool on_stream() const final { return true; }
  void launch(const Launch& launch) const final {
    if (grid_.blocks > 0) queue(launch, std::make_index_sequence<inputs>());
  }

private:
  template<std::size_t... input>
  void queue(const Launch& launch, std::index_sequence<input...>) const {
    std::apply(
        [&](const Parameters&... parameters) {
          cuda::launch(function_, grid_, launch.stream, launch.inputs[input]..., launch.outputs[0],
                       parameters...);
        },
        parameters_);
  }

  FunctionHandle function_;
  Grid grid_;
  std::tuple<Parameters...> parameters_;
};

/// grid_for(), but empty for no elements.
inline Grid grid_over(const Gpu& gpu, std::int64_t elements) {
  return elements > 0 ? grid_for(gpu, elements) : Grid{.blocks = 0};
}

} // namespace lanner::cuda
