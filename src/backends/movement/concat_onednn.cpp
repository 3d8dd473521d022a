// concat along any axis in any layout that all parts share.

#include "backends/config_text.h"
#include "backends/estimate.h"
#include "backends/onednn/execution.h"
#include "backends/onednn/families.h"
#include "backends/storage_layout.h"
#include "base/check.h"

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
  if (!fits) reason = "supports two or more non-empty f32 parts of rank up to 5";
  return fits;
}

Concat make(const GroupOp& op, const Layout& layout) {
  Concat result;
  const auto dst = describe(op.type().shape(), layout, DType::f32);
  if (!dst) return result;
  std::vector<Desc> sources;
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    const auto src = describe(op.inputs[i].shape(), layout, DType::f32);
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
    const Concat concat = make(op, layout);
    if (!concat.descriptor || std::string_view(concat.descriptor.impl_info_str()).starts_with("ref"))
      continue;
    Tactic tactic;
    tactic.kernel = "concat";
    tactic.config = ConfigText().set("layout", layout.to_string()).bytes();
    tactic.inputs.resize(node.inputs().size());
    for (const Operand& operand : op.inputs)
      tactic.inputs[operand.index] = stored(canonical(layout, operand.shape()));
    tactic.outputs = {stored(canonical(layout, op.type().shape()))};
    tactic.estimate = seconds_of(
        {.bytes = 8.0 * static_cast<double>(op.type().shape().elements()), .threads = target.threads},
        target);
    list.tactics.push_back(std::move(tactic));
  }
  return list;
}

std::unique_ptr<Kernel> prepare(const Preparation& p) {
  const ThreadCount count(p.target.threads);
  Concat concat = make(p.group.ops().front(), Layout::parse(ConfigText(p.tactic.config).text("layout")));
  check(static_cast<bool>(concat.descriptor), ErrorCode::unsupported, "onednn: concat has no implementation");
  return std::make_unique<Execution>(concat.descriptor, std::move(concat.arguments), p.target.threads);
}

} // namespace

extern const KernelFamily concat_family{"concat", swept_versions, tactics, prepare};

} // namespace lanner::onednn
