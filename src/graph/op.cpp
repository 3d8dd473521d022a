#include "graph/op.h"

#include "base/check.h"
#include "base/text/nearest.h"

namespace lanner {

void OpTable::add(OpDef op) {
  check(!op.name.empty() && op.infer, ErrorCode::internal, "operators: \"{}\" has no name or no inference",
        op.name);
  check(!(op.reference && op.expand), ErrorCode::internal,
        "operators: {} has both a reference and an expansion", op.name);
  check(!ops_.contains(op.name), ErrorCode::invalid_argument, "operators: {} is already defined", op.name);
  std::string name = op.name;
  ops_.emplace(std::move(name), std::make_shared<const OpDef>(std::move(op)));
}

void OpTable::add(std::vector<OpDef> ops) {
  for (OpDef& op : ops) add(std::move(op));
}

const OpDef* OpTable::find(std::string_view name) const {
  const auto found = ops_.find(name);
  return found == ops_.end() ? nullptr : found->second.get();
}

const OpDef& OpTable::get(std::string_view name) const {
  const OpDef* found = find(name);
  if (!found) fail(ErrorCode::unsupported, "operator {} is not known{}", name, did_you_mean(name, names()));
  return *found;
}

std::vector<std::string> OpTable::names() const {
  std::vector<std::string> names;
  for (const auto& [name, op] : ops_) names.push_back(name);
  return names;
}

} // namespace lanner
