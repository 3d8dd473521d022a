// Matrix products, f16 and bf16 on tensor cores, each compiled by NVRTC for its sizes, with any epilogue.

#include <algorithm>
#include <numeric>

#include "backends/cuda/families.h"
#include "backends/cuda/own_kernels.h"
#include "backends/cuda/storage.h"
#include "backends/operand_storages.h"
#include "backends/product/matrix_kernel.h"
#include "backends/product/product.h"
#include "base/check.h"

namespace lanner::cuda {
namespace {

constexpr std::int64_t largest = INT32_MAX;

struct OwnProduct {
  Product product;
  std::int64_t batch = 1, rows = 0;
  bool repeats_a = false, repeats_b = false; ///< One matrix for the whole batch.

  DType type() const { return product.a.dtype(); }
  /// Single matrices only: a single stride describes the rows.
  bool takes_strides() const { return product.a.shape().rank() == 2 && product.result.rank() == 2; }
};

std::int64_t matrices(const Shape& shape) {
  return Shape(std::span(shape.dims()).first(shape.rank() - 2)).elements();
}

/// False where operands are broadcast along only some of the leading dims.
bool read_batch(OwnProduct& own) {
  const Product& p = own.product;
  const std::int64_t of_a = matrices(p.a.shape()), of_b = matrices(p.b.shape());
  own.batch = matrices(p.result);
  own.rows = p.result[p.result.rank() - 2];
  if (of_b == 1 && of_a == own.batch && !p.transpose_a) {
    own.rows *= own.batch; // One right-hand matrix: all rows form one product.
    own.batch = 1;
    return true;
  }
  own.repeats_a = of_a == 1;
  own.repeats_b = of_b == 1;
  return (own.repeats_a || of_a == own.batch) && (own.repeats_b || of_b == own.batch);
}

std::optional<OwnProduct> read(const Group& group, std::string& reason) {
  auto product = product_of(group, reason);
  if (!product) return std::nullopt;
  OwnProduct own{std::move(*product)};
  const Product& p = own.product;
  if (!is_real(own.type()) || p.b.dtype() != own.type() || !p.a.is_input() || !p.b.is_input()) {
    reason = "a and b must be inputs of the group, both f32, f16 or bf16";
    return std::nullopt;
  }
  if (!takes_steps(p.bias, p.epilogue, reason)) return std::nullopt;
  if (!read_batch(own)) {
    reason = "an operand that is broadcast along only some of the leading dims is not "
             "supported";
    return std::nullopt;
  }
  if (own.rows > largest / own.batch || p.columns() > largest || p.depth() > largest) {
    reason = "sizes exceed 31 bits";
    return std::nullopt;
  }
  return own;
}

/// The layout of b whose rows in memory allow the larger packs. Only constants are stored anew; others keep
/// their layout.
Layout layout_of_b(const Product& p) {
  if (!p.b.constant) return {};
  const Shape shape = p.b.shape();
  const auto pack = [](std::int64_t size) { return std::gcd(size, std::int64_t{8}); };
  const bool exchanged = pack(shape[shape.rank() - 2]) > pack(shape.back());
  return exchanged ? exchanged_layout(shape) : Layout{};
}

/// Takes strides and types from the storages that `tactic` names.
MatrixProblem problem_of(const OwnProduct& own, const Tactic& tactic, std::vector<std::size_t>& inputs) {
  const Product& p = own.product;
  const Storage &a = tactic.inputs.at(p.a.index), &b = tactic.inputs.at(p.b.index),
                &result = tactic.outputs.at(0);
  MatrixProblem problem;
  problem.type = a.dtype.value_or(own.type());
  problem.result = result.dtype.value_or(own.type());
  problem.batch = own.batch;
  problem.rows = own.rows;
  problem.columns = p.columns();
  problem.depth = p.depth();
  problem.a = {leading_of(a, p.transpose_a ? own.rows : problem.depth), p.transpose_a,
               own.repeats_a ? 0 : own.rows * problem.depth};
  const bool b_exchanged = p.transpose_b != !b.layout.row_major();
  problem.b = {b_exchanged ? problem.depth : problem.columns, b_exchanged,
               own.repeats_b ? 0 : problem.depth * problem.columns};
  if (own.batch == 1) problem.a.step = problem.b.step = 0;
  problem.leading = leading_of(result, problem.columns);
  inputs = {p.a.index, p.b.index};
  std::ranges::copy(add_steps(problem, p.bias, p.epilogue, tactic), std::back_inserter(inputs));
  return problem;
}

/// Nothing where one input would need two storages.
std::optional<Tactic> tactic_of(const OwnProduct& own, std::optional<DType> kept, const Node& node,
                                const Target& target) {
  const Product& p = own.product;
  const Storage full = on_device(target, Layout{}, kept);
  OperandStorages storages(node.inputs().size(), on_device(target, Layout{}));
  storages.ask(p.a, full);
  storages.ask(p.b, on_device(target, layout_of_b(p), kept));
  storages.ask(p.bias, on_device(target, Layout{}));
  for (const EpilogueStep& step : p.epilogue) storages.ask(step.operand, step_storage(step, full, target));
  if (!storages.agree()) return std::nullopt;
  Tactic tactic;
  tactic.kernel = own_gemm_family.kernel;
  tactic.inputs = storages.take();
  tactic.outputs = {full};
  if (!own.takes_strides()) return tactic;
  tactic.strided_outputs = {AxisSet::all()};
  tactic.strided_inputs.assign(node.inputs().size(), {});
  tactic.strided_inputs[p.a.index] = AxisSet::all();
  for (const EpilogueStep& step : p.epilogue)
    if (step.binary && step.spread == Spread::full && step.operand.shape() == p.result)
      tactic.strided_inputs[step.operand.index] = AxisSet::all();
  return tactic;
}

TacticList plans(const Node& node, const Group& group, const Target& target, bool replaces) {
  TacticList list;
  const auto own = read(group, list.reason);
  if (!own) return list;
  list.reason = matrix_missing(target);
  if (!list.reason.empty()) return list;
  for (const std::optional<DType> kept : own_types(own->type(), target, replaces)) {
    const auto tactic = tactic_of(*own, kept, node, target);
    std::vector<std::size_t> inputs;
    if (tactic) offer_plans(list, problem_of(*own, *tactic, inputs), *tactic, target);
  }
  return list;
}

using Lists = OwnKernelTactics<matmul_family, plans>;

std::unique_ptr<Kernel> own_gemm_prepare(const Preparation& p) {
  std::string reason;
  const auto own = read(p.group, reason);
  check_taken(own.has_value(), p, reason);
  std::vector<std::size_t> inputs;
  const MatrixProblem problem = problem_of(*own, p.tactic, inputs);
  return matrix_kernel(p, problem, std::move(inputs));
}

bool own_gemm_fuses(const Group& group, const Target& target) {
  std::string reason;
  const auto own = read(group, reason);
  return own && matrix_missing(target).empty();
}

} // namespace

extern const KernelFamily own_gemm_family{.kernel = "own_gemm",
                                          .trust = KernelTrust::own(),
                                          .tactics = Lists::offered,
                                          .prepare = own_gemm_prepare,
                                          .fuses = own_gemm_fuses,
                                          .named = Lists::all};

} // namespace lanner::cuda
