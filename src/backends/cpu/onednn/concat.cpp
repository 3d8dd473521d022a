// concat along any axis in any layout that all parts share.

#include "backends/cpu/onednn/execution.h"
#include "backends/cpu/onednn/families.h"
#include "backends/storage_layout.h"

namespace lanner::onednn {

namespace {

struct Concat {
  dnnl::primitive_desc_base descriptor;
  std::vector<Argument> arguments;
};

bool takes(const Group& group, std::string& reason) {
  if (group.ops().size() != 1 || group.ops().front().kind() != "concat") return false;
  const GroupOp& op = group.ops().front();
  bool fits = op.type().rank() <= 5 && op.inputs.size() > 1;
  for (const Operand& operand : op.inputs)
    fits &= operand.dtype() == DType::f32 && operand.shape().elements() > 0;
  if (!fits) reason = "onednn: concat takes at least two f32 parts of rank up to 5, none empty";
  return fits;
}

Concat make(const GroupOp& op, std::span<const Layout> parts, const Layout& whole) {
  Concat result;
  const auto dst = describe(op.type().shape(), whole, DType::f32);
  if (!dst) return result;
  std::vector<Desc> sources;
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    const auto src = describe(op.inputs[i].shape(), parts[i], DType::f32);
    if (!src) return result;
    sources.push_back(*src);
    result.arguments.push_back(argument(DNNL_ARG_MULTIPLE_SRC + static_cast<int>(i), *src, op.inputs[i]));
  }
  const std::int64_t axis = op.attributes().integer("axis", 0),
                     rank = static_cast<std::int64_t>(op.type().rank());
  result.descriptor = concat(*dst, static_cast<int>(axis < 0 ? axis + rank : axis), sources, attributes());
  result.arguments.push_back(output_argument(DNNL_ARG_DST, *dst));
  return result;
}

TacticList tactics(const Node& node, const Group& group, const Target& target) {
  TacticList list;
  if (!takes(group, list.reason)) return list;
  const GroupOp& op = group.ops().front();
  const ThreadCount count(target.threads);
  for (const Layout& layout : activation_layouts(op.type().rank())) {
    std::vector<Layout> parts;
    for (const Operand& operand : op.inputs) parts.push_back(canonical(layout, operand.shape()));
    const Layout whole = canonical(layout, op.type().shape());
    const Concat concat = make(op, parts, whole);
    if (!concat.descriptor || std::string_view(concat.descriptor.impl_info_str()).starts_with("ref"))
      continue;
    Tactic tactic;
    tactic.kernel = "concat";
    for (const Layout& part : parts) tactic.inputs.push_back(stored(part));
    tactic.outputs = {stored(whole)};
    tactic.estimate =
        rough_seconds(0, 8.0 * static_cast<double>(op.type().shape().elements()), target.threads);
    list.tactics.push_back(std::move(tactic));
  }
  (void)node;
  return list;
}

std::unique_ptr<Kernel> prepare(const Preparation& p) {
  const ThreadCount count(p.target.threads);
  std::vector<Layout> parts;
  for (const Storage& storage : p.tactic.inputs) parts.push_back(storage.layout);
  Concat concat = make(p.group.ops().front(), parts, p.tactic.outputs.at(0).layout);
  check(static_cast<bool>(concat.descriptor), ErrorCode::unsupported, "onednn: concat has no implementation");
  return std::make_unique<Execution>(concat.descriptor, std::move(concat.arguments), p.target.threads);
}

} // namespace

const KernelFamily concat_family{"concat", tactics, prepare, nullptr};

} // namespace lanner::onednn
