#pragma once
// Computes a cuDNN graph of convolutions and pointwise operations.

#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "device/cuda/cudnn_api.h"

namespace fake {

using Attribute = lanner::cudnn::Attribute;

/// Attributes of a descriptor.
struct Node {
  int type = 0;
  bool finalized = false;
  std::map<int, std::vector<char>> raw;
  std::map<int, std::vector<std::shared_ptr<Node>>> linked;

  const std::vector<char>& bytes(Attribute attribute) const {
    static const std::vector<char> none;
    const auto found = raw.find(static_cast<int>(attribute));
    return found == raw.end() ? none : found->second;
  }
  template<typename T>
  std::vector<T> list(Attribute attribute) const {
    const std::vector<char>& given = bytes(attribute);
    std::vector<T> values(given.size() / sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), given.data(), values.size() * sizeof(T));
    return values;
  }
  template<typename T>
  T number(Attribute attribute, T fallback) const {
    const std::vector<char>& given = bytes(attribute);
    if (given.size() >= sizeof(T)) std::memcpy(&fallback, given.data(), sizeof(T));
    return fallback;
  }
  template<typename T>
  void put(Attribute attribute, std::vector<T> values) {
    const auto* first = reinterpret_cast<const char*>(values.data());
    raw[static_cast<int>(attribute)].assign(first, first + values.size() * sizeof(T));
  }
  const std::vector<std::shared_ptr<Node>>& links(Attribute attribute) const {
    static const std::vector<std::shared_ptr<Node>> none;
    const auto found = linked.find(static_cast<int>(attribute));
    return found == linked.end() ? none : found->second;
  }
  void link(Attribute attribute, std::vector<std::shared_ptr<Node>> list) {
    linked[static_cast<int>(attribute)] = std::move(list);
  }
};

/// Element size of an attribute type; 0 for an unknown one.
std::size_t size_of(int attribute_type);

/// Whether the shapes of a convolution fit together.
bool convolution_fits(const Node& operation);

/// Runs the operations in order on the pointers of the pack.
void run_graph(const Node& graph, const Node& pack);

} // namespace fake
