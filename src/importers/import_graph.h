#pragma once
// What a model file says, before it means anything: a parse tree that every format's reader fills.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <lanner/tensor.h>

#include "graph/type/type.h"

namespace lanner {

struct ImportGraph;

/// An attribute as written. `reference` names an attribute of the enclosing function in place of a value.
struct ImportAttribute {
  using Value = std::variant<std::monostate, std::int64_t, double, std::string, std::vector<std::int64_t>,
                             std::vector<double>, std::vector<std::string>, Tensor, std::vector<Tensor>, Type,
                             std::shared_ptr<ImportGraph>>;
  Value value;
  std::string reference;
};

struct ImportNode {
  std::string name, op, domain, overload;
  std::vector<std::string> inputs, outputs; ///< An empty name is an absent one.
  std::map<std::string, ImportAttribute, std::less<>> attributes;
};

/// An input, output or inner value with what the file says of its type.
struct ImportValue {
  std::string name;
  std::optional<Type> type;
};

struct ImportGraph {
  std::string name;
  std::vector<ImportNode> nodes;
  std::vector<ImportValue> inputs, outputs;
  std::vector<std::pair<std::string, Tensor>> constants;
};

/// A function that the model brings along.
struct ImportFunction {
  std::vector<std::string> inputs, outputs;
  std::vector<std::string> attributes; ///< Without a default.
  std::map<std::string, ImportAttribute, std::less<>> default_attributes;
  std::vector<ImportNode> nodes;
  std::map<std::string, std::int64_t> opsets;
};

struct ImportModel {
  std::int64_t ir_version = 0;
  std::map<std::string, std::int64_t> opsets; ///< Version by domain; "" is the default one.
  std::map<std::string, std::string> metadata;
  ImportGraph graph;
  DType (*dtype_of)(std::int64_t) = nullptr;       ///< The format's numbers of element types.
  std::map<std::string, ImportFunction> functions; ///< By `domain.name` and, where there is one, `:overload`.
};

} // namespace lanner
