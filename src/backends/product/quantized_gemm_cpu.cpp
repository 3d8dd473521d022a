// Products with few rows whose weights stay in the model's 8 or 4 bits.

#include <algorithm>
#include <optional>

#include "backends/estimate.h"
#include "backends/family.h"
#include "backends/product/quantized_panel.h"
#include "base/check.h"
#include "device/cpu.h"
#include "device/parallel.h"
#include "ops/definition/axis.h"

namespace lanner {
namespace {

/// dequantize_linear of constants, followed by a product of few rows with its result.
struct QuantizedProduct {
  std::size_t a = 0, weights = 0, scale = 0; ///< Inputs of the group.
  std::optional<std::size_t> zero;
  StoredWeights stored = StoredWeights::i8;
  std::int64_t rows = 0, depth = 0, columns = 0;
  std::int64_t block = 0, block_step = 0, column_step = 0; ///< As in QuantizedPanel.
};

std::optional<StoredWeights> stored_as(DType type) {
  if (type == DType::i8) return StoredWeights::i8;
  if (type == DType::u8) return StoredWeights::u8;
  if (type == DType::i4) return StoredWeights::i4;
  if (type == DType::u4) return StoredWeights::u4;
  return std::nullopt;
}

/// The scale of a weight: per tensor, per column, or per column and block of the depth.
bool read_scales(const GroupOp& dequantize, QuantizedProduct& product) {
  const Shape scale = dequantize.input(1).shape();
  const std::int64_t block = dequantize.attributes().integer("block_size", 0);
  const std::size_t axis = ops::resolve_axis(dequantize.attributes().integer("axis", 1), 2);
  product.block = std::max<std::int64_t>(product.depth, 1);
  if (scale.elements() == 1 && block == 0) return true;
  product.column_step = 1;
  if (scale.rank() == 1 && block == 0) return axis == 1 && scale[0] == product.columns;
  if (scale.rank() != 2 || axis != 0 || scale[1] != product.columns || scale[0] == 0) return false;
  product.block = block > 0 ? block : (product.depth + scale[0] - 1) / scale[0];
  product.block_step = product.columns;
  return (product.depth + product.block - 1) / product.block == scale[0];
}

std::optional<QuantizedProduct> read_product(const Group& group, std::string& reason) {
  if (group.ops().size() != 2 || group.ops()[0].kind() != "dequantize_linear" ||
      group.ops()[1].kind() != "matmul")
    return std::nullopt;
  const GroupOp &dequantize = group.ops()[0], &matmul = group.ops()[1];
  const Operand a = matmul.input(0), b = matmul.input(1);
  const Operand weights = dequantize.input(0), scale = dequantize.input(1), zero = dequantize.input(2);
  reason = "supports f32 rows and one matrix of constant i8, u8, i4 or u4 weights";
  const auto stored = stored_as(weights.dtype());
  const bool fits = a.is_input() && b.is_op() && a.dtype() == DType::f32 && a.shape().rank() > 0 && stored &&
                    weights.is_input() && weights.constant && weights.shape().rank() == 2 &&
                    scale.is_input() && scale.constant && scale.dtype() == DType::f32 &&
                    matmul.type().dtype() == DType::f32 &&
                    (!zero || (zero.is_input() && zero.constant && zero.shape() == scale.shape()));
  if (!fits) return std::nullopt;
  QuantizedProduct product{a.index, weights.index, scale.index, std::nullopt, *stored};
  if (zero) product.zero = zero.index;
  product.depth = weights.shape()[0];
  product.columns = weights.shape()[1];
  product.rows = product.columns == 0 ? 0 : matmul.type().shape().elements() / product.columns;
  reason = "supports 1 to 8 rows, whole bytes in each row of weights, and scales per "
           "tensor, per column or per block along the depth";
  const bool packed = bit_width(weights.dtype()) < 8;
  if (product.rows < 1 || product.rows > max_quantized_rows || product.depth < 1 ||
      (packed && product.columns % 2 != 0) || !read_scales(dequantize, product))
    return std::nullopt;
  reason.clear();
  return product;
}

class QuantizedKernel final : public Kernel {
public:
  QuantizedKernel(const QuantizedProduct& product, int threads)
      : product_(product), threads_(threads), run_(quantized_function()) {}

  void launch(const Launch& launch) const override {
    const std::int64_t panels = (product_.columns + quantized_width - 1) / quantized_width;
    parallel_for(threads_, 0, panels, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t panel = begin; panel < end; ++panel) run(launch, panel * quantized_width);
    });
  }

private:
  void run(const Launch& launch, std::int64_t first) const {
    QuantizedPanel panel{};
    panel.a = static_cast<const float*>(launch.inputs[product_.a]);
    panel.weights = static_cast<const std::byte*>(launch.inputs[product_.weights]);
    panel.scale = static_cast<const float*>(launch.inputs[product_.scale]);
    panel.zero = product_.zero ? static_cast<const std::byte*>(launch.inputs[*product_.zero]) : nullptr;
    panel.out = static_cast<float*>(launch.outputs[0]) + first;
    panel.stored = product_.stored;
    panel.first = first;
    panel.columns = std::min(quantized_width, product_.columns - first);
    panel.stride = panel.out_stride = product_.columns;
    panel.rows = product_.rows;
    panel.depth = product_.depth;
    panel.block = product_.block;
    panel.block_step = product_.block_step;
    panel.column_step = product_.column_step;
    run_(panel);
  }

  QuantizedProduct product_;
  int threads_;
  QuantizedFunction run_;
};

TacticList quantized_tactics(const Node& node, const Group& group, const Target& target) {
  TacticList list;
  const auto product = read_product(group, list.reason);
  if (!product) return list;
  const double elements = static_cast<double>(product->depth) * static_cast<double>(product->columns);
  const double bits = product->stored == StoredWeights::i8 || product->stored == StoredWeights::u8 ? 8 : 4;
  Tactic tactic;
  tactic.kernel = "quantized_gemm";
  tactic.inputs.resize(node.inputs().size());
  tactic.outputs.resize(node.outputs().size());
  tactic.accumulates = DType::f32;
  const bool in_registers = cpu_features().has_avx512();
  // Each weight is converted to float, and without AVX-512 stored and read again: so many operations in
  // addition to those of each row (measured).
  const double widening = in_registers ? 6 : bits == 8 ? 24 : 72;
  const double each_row = in_registers ? 3 : 4;
  tactic.estimate =
      seconds_of({.operations = elements * (widening + each_row * static_cast<double>(product->rows)),
                  .bytes = elements * bits / 8,
                  .threads = target.threads},
                 target);
  list.tactics.push_back(std::move(tactic));
  return list;
}

std::unique_ptr<Kernel> quantized_prepare(const Preparation& p) {
  std::string reason;
  const auto product = read_product(p.group, reason);
  check_taken(product.has_value(), p, reason);
  return std::make_unique<QuantizedKernel>(*product, p.target.threads);
}

bool quantized_fuses(const Group& group, const Target&) {
  std::string reason;
  return read_product(group, reason).has_value();
}

} // namespace

extern const KernelFamily quantized_gemm_family{"quantized_gemm", KernelTrust::own(), quantized_tactics,
                                                quantized_prepare, quantized_fuses};

} // namespace lanner
