// Products with few rows and packed weights: fully connected layers at small batch sizes.

#include <algorithm>

#include "backends/config_text.h"
#include "backends/family.h"
#include "backends/product/dense_layer.h"
#include "backends/product/panel.h"
#include "backends/storage_layout.h"
#include "base/check.h"
#include "device/parallel.h"
#include "graph/storage/within.h"

namespace lanner {

namespace {

class GemmKernel final : public Kernel {
public:
  GemmKernel(DenseLayer gemm, const Tactic& tactic, int threads)
      : gemm_(std::move(gemm)), rows_(gemm_.product.rows()), depth_(gemm_.product.depth()),
        columns_(gemm_.product.columns()),
        a_stride_(row_stride(tactic.inputs.at(gemm_.product.a.index), gemm_.product.a.shape(), depth_)),
        out_stride_(row_stride(tactic.outputs.at(0), gemm_.product.result, columns_)),
        panels_((columns_ + width() - 1) / width()), threads_(threads) {}

  void launch(const Launch& launch) const override {
    parallel_for(threads_, 0, panels_, 1,
                 [&](std::int64_t begin, std::int64_t end) { run(launch, begin, end); });
  }

private:
  static std::int64_t width() { return panel_function().width; }

  static std::int64_t row_stride(const Storage& storage, const Shape& shape, std::int64_t dense) {
    return storage.within ? memory_strides(storage, shape)[0] : dense;
  }

  static const float* floats(const Operand& operand, const Launch& launch) {
    const void* bytes = operand.is_input() ? launch.inputs[operand.index] : operand.constant->data();
    return static_cast<const float*>(bytes);
  }

  void run(const Launch& launch, std::int64_t begin, std::int64_t end) const {
    const float* weights = static_cast<const float*>(launch.inputs[gemm_.product.b.index]);
    const float* bias = gemm_.product.bias ? floats(gemm_.product.bias, launch) : nullptr;
    float* out = static_cast<float*>(launch.outputs[0]);
    PanelProduct product{static_cast<const float*>(launch.inputs[gemm_.product.a.index]),
                         nullptr,
                         nullptr,
                         nullptr,
                         a_stride_,
                         out_stride_,
                         rows_,
                         depth_,
                         0,
                         gemm_.relu};
    for (std::int64_t panel = begin; panel < end; ++panel) {
      const std::int64_t column = panel * width();
      product.panel = weights + column * depth_;
      product.bias = bias ? bias + column : nullptr;
      product.out = out + column;
      product.columns = std::min(width(), columns_ - column);
      panel_function().run(product);
    }
    if (!gemm_.steps.empty()) finish(launch, begin * width(), std::min(columns_, end * width()));
  }

  /// The rest of the epilogue on columns [first, last) of each row.
  void finish(const Launch& launch, std::int64_t first, std::int64_t last) const {
    for (std::int64_t row = 0; row < rows_; ++row) {
      float* out = static_cast<float*>(launch.outputs[0]) + row * out_stride_ + first;
      for (const RowStep& step : gemm_.steps) {
        const float* operand =
            step.operand ? floats(step.operand, launch) + first + (step.full ? row * columns_ : 0) : nullptr;
        tile_functions()[*step.formula](out, out, operand, nullptr, last - first, step.numbers);
      }
    }
  }

  DenseLayer gemm_;
  std::int64_t rows_, depth_, columns_;
  std::int64_t a_stride_, out_stride_; ///< Distance between rows.
  std::int64_t panels_;
  int threads_;
};

/// Waking and joining threads takes about as long as the smallest layers: for sizes in between, timing
/// decides.
std::vector<int> thread_counts(const Product& product, const Target& target) {
  constexpr double too_short = 1.5e-6, long_enough = 50e-6;
  const int most = target.threads;
  const double seconds = seconds_on(1, product, target);
  if (most == 1 || seconds < too_short) return {1};
  if (seconds > long_enough) return {most};
  return {most, 1};
}

TacticList gemm_tactics(const Node& node, const Group& group, const Target& target) {
  TacticList list;
  const auto gemm = read_dense_layer(group, list.reason);
  if (!gemm) return list;
  const Product& product = gemm->product;
  const Layout panels = panel_layout(product);
  const auto inputs = product_storages(product, node.inputs().size(), {}, stored(panels));
  if (!inputs) return list;
  for (int threads : thread_counts(product, target)) {
    Tactic tactic;
    tactic.kernel = "gemm";
    tactic.config = ConfigText().set("threads", threads).bytes();
    tactic.inputs = *inputs;
    tactic.outputs.resize(node.outputs().size());
    // A single stride describes the rows.
    if (product.a.shape().rank() == 2 && product.result.rank() == 2) {
      tactic.strided_inputs.assign(node.inputs().size(), {});
      // Steps read their operands as whole values.
      const bool also_operand = std::ranges::any_of(gemm->steps, [&](const RowStep& step) {
        return step.operand.is_input() && step.operand.index == product.a.index;
      });
      if (!also_operand) tactic.strided_inputs[product.a.index] = AxisSet::all();
      tactic.strided_outputs = {AxisSet::all()};
    }
    tactic.estimate = seconds_on(threads, product, target);
    tactic.accumulates = DType::f32;
    list.tactics.push_back(std::move(tactic));
  }
  return list;
}

std::unique_ptr<Kernel> gemm_prepare(const Preparation& p) {
  std::string reason;
  auto gemm = read_dense_layer(p.group, reason);
  check(gemm.has_value(), ErrorCode::unsupported, "cpu: gemm: {}", reason);
  check_panels(p, gemm->product, "gemm");
  const auto threads = static_cast<int>(ConfigText(p.tactic.config).integer("threads"));
  return std::make_unique<GemmKernel>(std::move(*gemm), p.tactic, std::clamp(threads, 1, p.target.threads));
}

bool gemm_fuses(const Group& group, const Target&) {
  std::string reason;
  return read_dense_layer(group, reason).has_value();
}

} // namespace

extern const KernelFamily gemm_family{"gemm", KernelTrust::own(), gemm_tactics, gemm_prepare, gemm_fuses};

} // namespace lanner
