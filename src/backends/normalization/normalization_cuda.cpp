// Layer, RMS, group and instance normalisation, with the preceding sum and both results.

#include <algorithm>

#include "backends/cuda/storage.h"
#include "backends/estimate.h"
#include "backends/family.h"
#include "backends/normalization/normalization.h"
#include "backends/reduction/held_row_kernel.h"
#include "backends/reduction/row_parameters.h"
#include "base/check.h"
#include "device/cuda/nvrtc.h"

namespace lanner::cuda {
namespace {

/// The kernel's restrictions: floating-point, all operands inputs of the node.
std::optional<Normalization> read(const Group& group, std::string& reason) {
  auto made = read_normalization(group, reason);
  if (!made) return std::nullopt;
  const auto given = [](const Operand& operand) { return !operand || operand.is_input(); };
  if (is_real(made->x.dtype()) && made->x.shape().rank() < max_row_axes && given(made->x) &&
      given(made->added) && given(made->scale) && given(made->bias))
    return made;
  reason = "supports f32, f16 and bf16 up to rank 5 only";
  return std::nullopt;
}

NormalizationParameters parameters_of(const Normalization& made, const Layout& layout) {
  const Shape x = made.x.shape();
  const std::vector<std::int64_t> strides = layout.strides(x);
  NormalizationParameters p{{}, made.shared, made.repeat, made.epsilon, made.centred};
  const auto add = [&](bool inner, std::int64_t size, std::int64_t stride) {
    add_axis(p.rows, inner, {size, stride, stride});
  };
  std::int64_t rows = 1;
  for (std::size_t axis = 0; axis < x.rank(); ++axis) {
    if (made.of_channels && axis == 1) {
      const std::int64_t channels = x[1] / made.repeat;
      add(false, made.repeat, channels * strides[1]);
      add(true, channels, strides[1]);
      rows *= made.repeat;
      continue;
    }
    const bool inner = rows == made.rows && (!made.of_channels || axis > 1);
    add(inner, x[axis], strides[axis]);
    if (!inner) rows *= x[axis];
  }
  return p;
}

/// `Parameters`: of dense rows or of any rows.
template<typename Parameters>
class NormalizationKernel final : public Kernel {
public:
  NormalizationKernel(FunctionHandle function, Grid grid, const Normalization& made,
                      const Parameters& parameters)
      : function_(function), grid_(grid), made_(made), parameters_(parameters) {}
  bool on_stream() const override { return true; }
  void launch(const Launch& launch) const override {
    const auto in = [&](const Operand& operand) {
      return operand ? launch.inputs[operand.index] : static_cast<const void*>(nullptr);
    };
    const auto out = [&](int output) {
      return output < 0 ? static_cast<void*>(nullptr) : launch.outputs[static_cast<std::size_t>(output)];
    };
    cuda::launch(function_, grid_, launch.stream, in(made_.x), in(made_.added), in(made_.scale),
                 in(made_.bias), out(made_.sum), out(made_.normalized), parameters_);
  }

private:
  FunctionHandle function_;
  Grid grid_;
  Normalization made_;
  Parameters parameters_;
};

std::optional<DenseNormalizationParameters> dense_parameters(const NormalizationParameters& p,
                                                             std::int64_t bytes) {
  const auto rows = dense_rows(p.rows, bytes, true);
  if (!rows) return std::nullopt;
  return DenseNormalizationParameters{*rows, p.repeat, p.shared, divisor_of(p.shared), p.epsilon, p.centred};
}

TacticList normalization_tactics(const Node& node, const Group& group, const Target& target) {
  TacticList list;
  const auto made = read(group, list.reason);
  if (!made) return list;
  offer(list, made->x.dtype(), target, image_layouts(made->x.shape()),
        [&](std::optional<DType> kept, const Layout& layout) {
          Tactic tactic;
          tactic.kernel = "normalization";
          tactic.inputs.assign(node.inputs().size(), on_device(target, Layout{}, kept));
          for (const Operand& whole : {made->x, made->added})
            if (whole) tactic.inputs[whole.index].layout = layout;
          tactic.outputs.assign(node.outputs().size(), on_device(target, Layout{}));
          for (const int output : {made->normalized, made->sum})
            if (output >= 0)
              tactic.outputs[static_cast<std::size_t>(output)] = on_device(target, layout, kept);
          const double bytes =
              static_cast<double>(bit_width(kept.value_or(made->x.dtype()))) / 8 * passes_of(*made);
          tactic.estimate = seconds_of({.bytes = bytes}, target);
          tactic.accumulates = DType::f32;
          return tactic;
        });
  return list;
}

/// A kernel compiled for these rows; null where there is none.
std::unique_ptr<Kernel> compiled_normalization(const Gpu& gpu, const Normalization& made,
                                               const DenseRowParameters& dense, DType type) {
  const auto share = nvrtc_status().found ? row_share(dense, type) : std::nullopt;
  if (!share) return nullptr;
  const RowNorm norm{.shared = made.shared,
                     .repeat = made.repeat,
                     .epsilon = made.epsilon,
                     .centred = made.centred,
                     .added = static_cast<bool>(made.added),
                     .bias = static_cast<bool>(made.bias),
                     .sum_is_read = made.sum >= 0,
                     .sum_first = made.sum >= 0 && made.sum < made.normalized};
  std::vector<std::size_t> inputs;
  for (const Operand& operand : {made.x, made.added, made.scale, made.bias})
    if (operand) inputs.push_back(operand.index);
  return held_row_kernel(gpu, {RowKind::normalization, type, dense, norm, *share}, std::move(inputs),
                         norm.sum_is_read ? 2 : 1);
}

std::unique_ptr<Kernel> normalization_prepare(const Preparation& p) {
  const Gpu& gpu = Gpu::get(p.target.device);
  std::string reason;
  const auto made = read(p.group, reason);
  check_taken(made.has_value(), p, reason);
  const Storage& x = p.tactic.inputs.at(made->x.index);
  const NormalizationParameters parameters = parameters_of(*made, x.layout);
  const DType type = x.dtype.value_or(made->x.dtype());
  const std::string function = fmt::format("normalization_{}", suffix(type));
  if (const auto dense = dense_parameters(parameters, static_cast<std::int64_t>(bit_width(type) / 8))) {
    if (auto kernel = compiled_normalization(gpu, *made, dense->dense, type)) return kernel;
    const std::string name = fmt::format("{}{}", held_prefix(dense->dense), function);
    return std::make_unique<NormalizationKernel<DenseNormalizationParameters>>(
        embedded_function(gpu, "dense_rows", name.c_str()), dense_grid(gpu, dense->dense), *made, *dense);
  }
  return std::make_unique<NormalizationKernel<NormalizationParameters>>(
      embedded_function(gpu, "rows", function.c_str()), row_grid(gpu, parameters.rows), *made, parameters);
}

} // namespace

extern const KernelFamily normalization_family{.kernel = "normalization",
                                               .trust = KernelTrust::own(),
                                               .tactics = normalization_tactics,
                                               .prepare = normalization_prepare,
                                               .propose = propose_sum_and_normalization};

} // namespace lanner::cuda
