// Products with few rows and packed weights: fully connected layers at small batch sizes.

#include <algorithm>

#include "backends/config_text.h"
#include "backends/elementwise/instruction.h"
#include "backends/estimate.h"
#include "backends/family.h"
#include "backends/product/panel.h"
#include "backends/product/product.h"
#include "backends/storage_layout.h"
#include "base/check.h"
#include "device/parallel.h"
#include "graph/storage/within.h"

namespace lanner {

namespace {

/// With more rows the weights are read so often that oneDNN's cache blocking wins.
constexpr std::int64_t max_rows = 64;

/// Weights with the columns of a panel contiguous: `Ba32b` for depth x columns, `Ab32a` for columns x depth.
Layout panel_layout(const Product& product, int width) {
  const std::uint8_t columns = product.transpose_b ? 0 : 1, depth = 1 - columns;
  return {{columns, depth}, {{columns, static_cast<std::uint16_t>(width)}}};
}

/// A step of the epilogue on a range of a result row.
struct RowStep {
  const Formula* formula;
  Numbers numbers;
  Operand operand; ///< Absent, one row, or as many rows as the result.
  bool full = false;
};

std::optional<std::vector<RowStep>> row_steps(const Epilogue& epilogue) {
  std::vector<RowStep> steps;
  for (const EpilogueStep& step : epilogue) {
    if (!step.binary) {
      const auto& [formula, alpha, beta] = step.activation;
      steps.push_back({formula, {alpha, beta}, {}, false});
      continue;
    }
    if (step.spread == Spread::scalar || step.operand.dtype() != DType::f32) return std::nullopt;
    steps.push_back({&formula_of(*step.binary), {}, step.operand, step.spread == Spread::full});
  }
  return steps;
}

struct Gemm {
  Product product;
  std::vector<RowStep> steps;
  bool relu = false; ///< The first step, done in registers.
};

/// Why a product is not supported; empty if it is.
std::string refusal(const Product& product) {
  const bool reals = product.a.dtype() == DType::f32 && product.b.dtype() == DType::f32 &&
                     (!product.bias || product.bias.dtype() == DType::f32);
  if (!reals) return "a, b and the bias must be f32";
  if (!product.a.is_input() || !product.b.is_input()) return "a and b must be inputs of the group";
  if (!product.single()) return "b must be a single matrix";
  if (product.transpose_a) return "a must not be transposed";
  if (product.rows() > max_rows)
    return fmt::format("{} rows, at most {} are supported", product.rows(), max_rows);
  return {};
}

std::optional<Gemm> read_gemm(const Group& group, std::string& reason) {
  auto product = product_of(group, reason);
  if (!product) return std::nullopt;
  reason = refusal(*product);
  if (!reason.empty()) return std::nullopt;
  auto steps = row_steps(product->epilogue);
  if (!steps) {
    reason = "the epilogue's operands must be f32, with the shape of the result or of one row";
    return std::nullopt;
  }
  Gemm gemm{std::move(*product), std::move(*steps), false};
  if (!gemm.steps.empty() && gemm.steps.front().formula->name == "relu") {
    gemm.relu = true;
    gemm.steps.erase(gemm.steps.begin());
  }
  return gemm;
}

class GemmKernel final : public Kernel {
public:
  GemmKernel(Gemm gemm, const Tactic& tactic, int threads)
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

  Gemm gemm_;
  std::int64_t rows_, depth_, columns_;
  std::int64_t a_stride_, out_stride_; ///< Distance between rows.
  std::int64_t panels_;
  int threads_;
};

/// Seconds on so many cores: the larger of reading the weights and multiplying.
double seconds_on(int threads, const Product& product, const Target& target) {
  constexpr double share = 0.8; // Fraction of the fastest products.
  return seconds_of({.operations = product.operations() / share,
                     .bytes = 4.0 * static_cast<double>(product.b.shape().elements()),
                     .threads = threads},
                    target);
}

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
  const auto gemm = read_gemm(group, list.reason);
  if (!gemm) return list;
  const Product& product = gemm->product;
  const Layout panels = canonical(panel_layout(product, panel_function().width), product.b.shape());
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
      tactic.strided_inputs[product.a.index] = AxisSet::all();
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
  auto gemm = read_gemm(p.group, reason);
  check(gemm.has_value(), ErrorCode::unsupported, "cpu: gemm: {}", reason);
  const Product& product = gemm->product;
  const Layout wanted = canonical(panel_layout(product, panel_function().width), product.b.shape());
  check(p.tactic.inputs.at(product.b.index).layout == wanted, ErrorCode::unsupported,
        "cpu: gemm: the weights' layout is {}, this processor needs {}: build the plan again",
        p.tactic.inputs[product.b.index].layout.to_string(), wanted.to_string());
  const auto threads = static_cast<int>(ConfigText(p.tactic.config).integer("threads"));
  return std::make_unique<GemmKernel>(std::move(*gemm), p.tactic, std::clamp(threads, 1, p.target.threads));
}

bool gemm_fuses(const Group& group, const Target&) {
  std::string reason;
  return read_gemm(group, reason).has_value();
}

} // namespace

extern const KernelFamily gemm_family{"gemm", KernelTrust::own(), gemm_tactics, gemm_prepare, gemm_fuses};

} // namespace lanner
