#include "program/memory/buffers.h"

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "ops/table/named.h"
#include "program/lowered/joins.h"
#include "program/lowered/lowered.h"
#include "program/lowered/views.h"

namespace lanner {

Buffer Buffers::of(const Value* value) const {
  const auto found = buffers_.find(value);
  return found == buffers_.end() ? Buffer{value, 0} : found->second;
}

void Buffers::add_parts(const Graph& lowered) {
  for (const auto& node : lowered.body().nodes())
    for (const auto& output : node->outputs()) {
      Buffer where{output.get(), 0};
      for (const Value* value = output.get(); value->storage.parent; value = value->storage.parent)
        where = {value->storage.parent, where.offset + static_cast<std::uint64_t>(value->storage.offset)};
      if (where.root == output.get()) continue;
      buffers_[output.get()] = where;
      joined_.insert(where.root);
    }
}

void Buffers::add_view(const Node& node) {
  if (is_join(node)) return; // its parts are already placed
  if (is_part_view(node)) return add_part_view(node);
  Storage plain;
  plain.device = node.input(0) ? node.input(0)->storage.device : Device{};
  if (node.input(0) && !ops::is_cast(node)) plain.dtype = node.input(0)->storage.dtype;
  const auto storages = alias_storages(node, plain);
  const bool same_bytes = std::ranges::any_of(storages, [&](const auto& pair) {
    return same_storage(node.input(0)->type, node.input(0)->storage, pair.first) &&
           same_storage(node.output()->type, node.output()->storage, pair.second);
  });
  const Shape from = node.input(0)->type.shape(), to = node.output()->type.shape();
  check(from.elements() == to.elements(), ErrorCode::bad_data,
        "node {}: {} is declared to hold the elements of {}", node.label(), to.to_string(), from.to_string());
  check(same_bytes, ErrorCode::bad_data, "node {} is not a change of shape or of order alone", node.label());
  share(node.output(), node.input(0));
}

void Buffers::add_part_view(const Node& node) {
  std::vector<Storage> parts;
  for (const auto& output : node.outputs()) parts.push_back(output->storage);
  const auto offsets = part_offsets(node, node.input(0) ? node.input(0)->storage : Storage{}, parts);
  check(offsets.has_value(), ErrorCode::bad_data, "node {}: its results are not slices of its input's memory",
        node.label());
  const Buffer whole = of(node.input(0));
  for (std::size_t i = 0; i < parts.size(); ++i)
    buffers_[node.output(i)] = {whole.root, whole.offset + static_cast<std::uint64_t>((*offsets)[i])};
  joined_.insert(whole.root);
}

} // namespace lanner
