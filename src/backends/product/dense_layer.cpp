#include "backends/product/dense_layer.h"

#include "backends/estimate.h"
#include "backends/product/panel.h"
#include "backends/storage_layout.h"
#include "base/check.h"

namespace lanner {

namespace {

/// With more rows the weights are read so often that oneDNN's cache blocking wins.
constexpr std::int64_t max_rows = 64;

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

} // namespace

std::optional<DenseLayer> read_dense_layer(const Group& group, std::string& reason) {
  auto product = product_of(group, reason);
  if (!product) return std::nullopt;
  reason = refusal(*product);
  if (!reason.empty()) return std::nullopt;
  auto steps = row_steps(product->epilogue);
  if (!steps) {
    reason = "the epilogue's operands must be f32, with the shape of the result or of one row";
    return std::nullopt;
  }
  DenseLayer gemm{std::move(*product), std::move(*steps), false};
  if (!gemm.steps.empty() && gemm.steps.front().formula->name == "relu") {
    gemm.relu = true;
    gemm.steps.erase(gemm.steps.begin());
  }
  return gemm;
}

/// `Ba32b` for depth x columns, `Ab32a` for columns x depth.
Layout panel_layout(const Product& product) {
  const std::uint8_t columns = product.transpose_b ? 0 : 1, depth = 1 - columns;
  return canonical({{columns, depth}, {{columns, static_cast<std::uint16_t>(panel_function().width)}}},
                   product.b.shape());
}

void check_panels(const Preparation& preparation, const Product& product, std::string_view kernel) {
  const Layout& given = preparation.tactic.inputs.at(product.b.index).layout;
  const Layout wanted = panel_layout(product);
  check(given == wanted, ErrorCode::unsupported,
        "cpu: {}: the weights' layout is {}, this processor needs {}: build the plan again", kernel,
        given.to_string(), wanted.to_string());
}

double seconds_on(int threads, const Product& product, const Target& target) {
  constexpr double share = 0.8; // Fraction of the fastest products.
  return seconds_of({.operations = product.operations() / share,
                     .bytes = 4.0 * static_cast<double>(product.b.shape().elements()),
                     .threads = threads},
                    target);
}

} // namespace lanner
