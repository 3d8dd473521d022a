#include "graph/storage/storage.h"

#include <algorithm>

#include <fmt/format.h>

#include "graph/graph.h"
#include "graph/storage/quantization.h"
#include "graph/text/lexer.h"

namespace lanner {

bool Storage::is_default() const noexcept {
  return !dtype && layout.order.empty() && layout.blocks.empty() && device == Device{} && !quantization &&
         !within && !parent && offset == 0;
}

std::string Storage::to_string(const std::function<std::string(const Value&)>& name) const {
  std::string text = dtype ? fmt::format("{} ", lanner::to_string(*dtype)) : std::string();
  text += layout.row_major() ? "row" : layout.to_string();
  if (device != Device{}) text += " " + device.to_string();
  if (quantization) text += " " + lanner::to_string(*quantization, name);
  if (within) text += fmt::format(" within={}:{}", within.axis, within.size);
  if (parent) text += " in=" + (name ? name(*parent) : value_name(parent->name()));
  if (offset != 0) text += fmt::format("+{}", offset);
  return text;
}

bool operator==(const Storage& a, const Storage& b) {
  return a.dtype == b.dtype && a.layout == b.layout && a.device == b.device && same_quantization(a, b) &&
         a.within == b.within && a.parent == b.parent && a.offset == b.offset;
}

bool same_quantization(const Storage& a, const Storage& b) {
  if (a.quantization == b.quantization) return true;
  return a.quantization && b.quantization && *a.quantization == *b.quantization;
}

std::string storage_key(const Storage& storage, const Node& node) {
  return storage.to_string([&](const Value& value) {
    const auto found = std::ranges::find(node.inputs(), &value);
    return found == node.inputs().end() ? std::string("%_")
                                        : fmt::format("%{}", found - node.inputs().begin());
  });
}

} // namespace lanner
