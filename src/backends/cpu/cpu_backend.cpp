#include "backends/cpu/cpu_backend.h"

#include <array>

#include "backends/cpu/elementwise/elementwise.h"
#include "backends/cpu/gemm/gemm.h"
#include "backends/cpu/gemm/quantized.h"
#include "backends/cpu/movement/movement.h"
#include "backends/cpu/picture.h"
#include "backends/cpu/recurrent/recurrent.h"
#include "backends/cpu/reduce/arg.h"
#include "backends/cpu/reduce/cum_sum.h"
#include "backends/cpu/reduce/normalization.h"
#include "backends/cpu/reduce/reduce.h"
#include "backends/cpu/reduce/softmax.h"
#include "backends/cpu/sample/grid_sample.h"
#include "backends/cpu/sample/taps.h"
#include "backends/family.h"

namespace lanner {

const Backend& cpu_backend() {
  static const std::array families = {
      elementwise_family, gemm_family,          movement_family, copy_family,           gather_family,
      reduce_family,      normalization_family, picture_family,  quantized_gemm_family, grid_sample_family,
      recurrent_family,   arg_family,           taps_family,     cum_sum_family,        softmax_family};
  static const FamilyBackend backend("cpu", families);
  return backend;
}

} // namespace lanner
