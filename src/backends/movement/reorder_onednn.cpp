// reorder: the same elements in another layout.

#include "backends/estimate.h"
#include "backends/onednn/execution.h"
#include "backends/onednn/families.h"
#include "backends/storage_layout.h"
#include "base/check.h"

namespace lanner::onednn {

namespace {

DType stored_type(const Storage& storage, const Operand& operand) {
  return storage.dtype.value_or(operand.dtype());
}

bool takes_type(DType type) {
  return type == DType::f32 || type == DType::bf16 || type == DType::i8 || type == DType::u8 ||
         type == DType::i32;
}

dnnl::primitive_desc_base make(const Operand& operand, const Storage& from, const Storage& to) {
  const Shape shape = operand.shape();
  const auto src = describe(shape, from.layout, stored_type(from, operand)),
             dst = describe(shape, to.layout, stored_type(to, operand));
  if (!src || !dst) return {};
  return reorder(*src, *dst, attributes());
}

TacticList tactics(const Node& node, const Group& group, const Target& target) {
  TacticList list;
  const GroupOp& op = group.ops().front();
  if (group.ops().size() != 1 || op.kind() != "reorder") return list;
  const Storage from = node.input(0)->storage, to = node.output(0)->storage;
  const Operand operand = op.input(0);
  const bool reals = !is_integer(operand.dtype()) || stored_type(from, operand) == stored_type(to, operand);
  if (!takes_type(stored_type(from, operand)) || !takes_type(stored_type(to, operand)) || !reals ||
      from.quantization || to.quantization || operand.shape().elements() == 0) {
    list.reason = "supports f32, bf16, i8, u8 and i32 with one scale";
    return list;
  }
  const ThreadCount count(target.threads);
  if (!make(operand, from, to)) {
    list.reason = "no reorder between these layouts";
    return list;
  }
  Tactic tactic;
  tactic.kernel = "reorder";
  tactic.inputs.resize(node.inputs().size()); // the further inputs are scales, which it does not read
  tactic.inputs[0] = from;
  tactic.outputs = {to};
  tactic.estimate = seconds_of(
      {.bytes = 8.0 * static_cast<double>(operand.shape().elements()), .threads = target.threads}, target);
  list.tactics.push_back(std::move(tactic));
  return list;
}

std::unique_ptr<Kernel> prepare(const Preparation& p) {
  const ThreadCount count(p.target.threads);
  const Operand operand = p.group.ops().front().input(0);
  const Storage &from = p.tactic.inputs.at(0), &to = p.tactic.outputs.at(0);
  const auto descriptor = make(operand, from, to);
  check(static_cast<bool>(descriptor), ErrorCode::unsupported, "onednn: no reorder between these layouts");
  const auto src = describe(operand.shape(), from.layout, stored_type(from, operand)),
             dst = describe(operand.shape(), to.layout, stored_type(to, operand));
  return std::make_unique<Execution>(
      descriptor, std::vector{argument(DNNL_ARG_FROM, *src, operand), output_argument(DNNL_ARG_TO, *dst)},
      p.target.threads);
}

} // namespace

extern const KernelFamily reorder_family{"reorder", swept_versions, tactics, prepare};

} // namespace lanner::onednn
