#pragma once
// The parse tree of a model file, before any interpretation: every format's reader fills it.

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

/// An attribute as written. `reference` names an attribute of the enclosing function instead of a value.
struct ImportAttribute {
  using Value = std::variant<std::monostate, std::int64_t, double, std::string, std::vector<std::int64_t>,
                             std::vector<double>, std::vector<std::string>, Tensor, std::vector<Tensor>, Type,
                             std::shared_ptr<ImportGraph>, std::vector<Type>>;
  Value value;
  std::string reference;
  std::uint8_t kind = 0; ///< The number by which TensorFlow's AttrValue tells kinds apart, so that it can be
                         ///< written again; of the elements plus `list_kind` for a list.
  static constexpr std::uint8_t list_kind = 32;
};

struct ImportNode {
  std::string name, op, domain, overload;
  std::vector<std::string> inputs, outputs; ///< An absent input or output has an empty name.
  std::vector<std::string> controls;        ///< TensorFlow: nodes that run before this one.
  std::string device;                       ///< TensorFlow: as written.
  std::map<std::string, ImportAttribute, std::less<>> attributes;
};

/// An input, output or inner value with its type as far as the file states it.
struct ImportValue {
  std::string name;
  std::optional<Type> type;
  std::string label = {}; ///< The name that callers use, if it is another one.

  const std::string& shown() const { return label.empty() ? name : label; }
};

struct ImportGraph {
  std::string name;
  std::vector<ImportNode> nodes;
  std::vector<ImportValue> inputs, outputs;
  std::vector<std::pair<std::string, Tensor>> constants;
};

/// A function defined in the model file.
struct ImportFunction {
  std::vector<std::string> inputs, outputs;
  std::vector<std::string> attributes; ///< Attributes without a default.
  std::map<std::string, ImportAttribute, std::less<>> default_attributes;
  std::vector<ImportNode> nodes;
  std::map<std::string, std::int64_t> opsets;
};

struct ImportModel {
  std::int64_t ir_version = 0;
  std::map<std::string, std::int64_t> opsets; ///< Version by domain; "" is the default domain.
  std::map<std::string, std::string> metadata;
  ImportGraph graph;
  DType (*dtype_of)(std::int64_t) = nullptr;       ///< Maps the format's numbers to element types.
  std::map<std::string, ImportFunction> functions; ///< By `domain.name` and, where there is one, `:overload`.
};

} // namespace lanner
