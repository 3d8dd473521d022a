#include "lower/propose/part_views.h"

#include <optional>
#include <set>
#include <string>
#include <utility>

#include "backends/storage_layout.h"
#include "ops/table/named.h"
#include "program/lowered/lowered.h"
#include "program/lowered/views.h"
#include "program/slices.h"

namespace lanner {
namespace {

/// The same values in blocks of channels.
Tactic blocked(const Node& node, Tactic tactic, std::uint16_t block) {
  const auto store = [&](Storage& storage, const Value& value) {
    const Shape shape = value.type.shape();
    storage.layout = canonical(Layout::channels_blocked(shape.rank(), block), shape);
  };
  store(tactic.inputs[0], *node.input(0));
  for (std::size_t i = 0; i < tactic.outputs.size(); ++i) store(tactic.outputs[i], *node.output(i));
  return tactic;
}

class PartViews {
public:
  explicit PartViews(const Node& node) : node_(node) {}

  void add(const Tactic& tactic) {
    auto parts = storages(tactic);
    if (!parts) return;
    std::string key = tactic.inputs[0].to_string();
    for (const Storage& storage : *parts) key += " " + storage.to_string();
    if (!known_.insert(std::move(key)).second) return;
    Alternative view;
    view.tactic.kernel = alias_backend;
    view.tactic.inputs = tactic.inputs;
    view.tactic.outputs = std::move(*parts);
    list.push_back(std::move(view));
  }

  std::vector<Alternative> list;

private:
  /// A kernel's storages of the results or, where these are no contiguous slices of the input, storages
  /// within it.
  std::optional<std::vector<Storage>> storages(const Tactic& tactic) const {
    const Storage& whole = tactic.inputs.at(0);
    if (part_offsets(node_, whole, tactic.outputs)) return tactic.outputs;
    const auto parts = parts_of(node_);
    if (!parts) return std::nullopt;
    std::vector<Storage> strided;
    for (const Part& part : *parts) strided.push_back(strided_part({node_.input(0)->type, whole}, part.axis));
    return part_offsets(node_, whole, strided) ? std::optional(std::move(strided)) : std::nullopt;
  }

  const Node& node_;
  std::set<std::string> known_;
};

} // namespace

std::vector<Alternative> part_views(const Node& node, const std::vector<Alternative>& kernels) {
  PartViews views(node);
  if (!ops::takes_parts(node)) return {};
  for (const Alternative& kernel : kernels) {
    views.add(kernel.tactic);
    if (!kernel.tactic.inputs.at(0).device.is_host() || node.input(0)->type.rank() < 3) continue;
    for (const std::uint16_t block : {std::uint16_t{8}, std::uint16_t{16}})
      views.add(blocked(node, kernel.tactic, block));
  }
  return std::move(views.list);
}

} // namespace lanner
