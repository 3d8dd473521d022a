#include "hostile_operators/attribute_mutations.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lanner::hostile {
namespace {

using Texts = std::vector<std::string>;

const Texts& integers() {
  static const Texts list{"0",
                          "1",
                          "-1",
                          "2",
                          "3",
                          "-3",
                          "7",
                          "64",
                          "65536",
                          "1000000",
                          "1073741824",
                          "2147483647",
                          "2147483648",
                          "-2147483648",
                          "4294967296",
                          "4611686018427387904",
                          "9223372036854775807",
                          "-9223372036854775808"};
  return list;
}

const Texts& reals() {
  static const Texts list{"nan", "inf",    "-inf",    "0.0",    "-1.0",
                          "0.5", "1e+308", "-1e+308", "1e-320", "3000000000.0"};
  return list;
}

/// Names that operators accept, and others.
const Texts& strings() {
  static const Texts list = [] {
    Texts quoted;
    for (const char* text : {"",
                             "unknown",
                             "SAME_UPPER",
                             "SAME_LOWER",
                             "VALID",
                             "NOTSET",
                             "linear",
                             "cubic",
                             "nearest",
                             "bilinear",
                             "reflect",
                             "wrap",
                             "edge",
                             "constant",
                             "forward",
                             "reverse",
                             "bidirectional",
                             "none",
                             "sum",
                             "mean",
                             "add",
                             "mul",
                             "max",
                             "min",
                             "DCR",
                             "CRD",
                             "LEFT",
                             "RIGHT",
                             "tanh",
                             "avg",
                             "zeros",
                             "border",
                             "align_corners",
                             "pytorch_half_pixel",
                             "tf_crop_and_resize",
                             "ceil",
                             "round_prefer_ceil",
                             "not_larger",
                             "delta",
                             "gated",
                             "circular",
                             "UPPER",
                             "IDF",
                             "i,j->",
                             "...",
                             "->",
                             "ii->ij",
                             "[",
                             "(a*)*b",
                             "\\\\xff"})
      quoted.push_back(fmt::format("\"{}\"", text));
    return quoted;
  }();
  return list;
}

/// Lists of other lengths, and with each of `values` at each position.
void add_lists(Texts& texts, const std::string& kind, const Texts& own, const Texts& values) {
  const auto put = [&](const Texts& list) {
    texts.push_back(list.empty() ? kind + "[]" : fmt::format("[{}]", fmt::join(list, ", ")));
  };
  put({});
  for (std::size_t length = 1; length <= 6; ++length) {
    Texts list = own;
    list.resize(length, own.empty() ? values.at(1) : own.back());
    put(list);
  }
  for (const std::string& value : values) {
    for (std::size_t k = 0; k < own.size(); ++k) {
      Texts list = own;
      list[k] = value;
      put(list);
    }
    put(Texts(std::max<std::size_t>(own.size(), 1), value));
    if (own.empty())
      for (const std::size_t length : {std::size_t{2}, std::size_t{4}}) put(Texts(length, value));
  }
}

Texts dtypes() {
  Texts list;
  for (std::size_t type = 0; type < dtype_count; ++type)
    list.emplace_back(to_string(static_cast<DType>(type)));
  return list;
}

/// Values of an attribute whose original value is `own`; empty: it has none.
Texts values_of(AttributeKind kind, const std::string& own) {
  Texts list;
  const Texts elements = own.starts_with("[") ? split(own.substr(1, own.size() - 2)) : Texts{};
  switch (kind) {
  case AttributeKind::integer:
    return integers();
  case AttributeKind::real:
    return reals();
  case AttributeKind::string:
    return strings();
  case AttributeKind::integers:
    add_lists(list, "ints", elements, integers());
    return list;
  case AttributeKind::reals:
    add_lists(list, "floats", elements, reals());
    return list;
  case AttributeKind::strings:
    add_lists(list, "strings", elements,
              {"\"\"", "\"unknown\"", "\"Relu\"", "\"f32[2147483648]\"", "\"seq(f32[2])\""});
    return list;
  case AttributeKind::dtype:
    return dtypes();
  case AttributeKind::type:
    return {"type(f32[*])", "type(seq(f32[2]))", "type(opt(opt(f32[2])))", "type(i4[2147483648])",
            "type(string[0])"};
  case AttributeKind::tensor:
    return {"f32[0]()",
            "f32[](1.0)",
            "f32[3](1.0, 2.0, 3.0)",
            "f64[2](nan, inf)",
            "i64[1](-1)",
            "string[1](\"a\")",
            "bool[1](true)",
            "u8[1](255)",
            "f32[1, 1](1e+30)",
            "random(f32[3, 4, 5], seed = 1, std = 1.0)"};
  }
  return list;
}

void set(Seed& seed, const std::string& name, const std::string& value) {
  for (auto& [known, text] : seed.attributes)
    if (known == name) {
      text = value;
      return;
    }
  const auto behind =
      std::ranges::find_if(seed.attributes, [&](const auto& one) { return one.first > name; });
  seed.attributes.emplace(behind, name, value);
}

void erase(Seed& seed, const std::string& name) {
  std::erase_if(seed.attributes, [&](const auto& one) { return one.first == name; });
}

} // namespace

void add_attribute_mutations(std::vector<Mutation>& list, const Seed& seed, const OpDef& op) {
  for (const AttributeSpec& spec : op.attributes) {
    const std::string& name = spec.name;
    std::string own;
    for (const auto& [known, text] : seed.attributes)
      if (known == name) own = text;
    list.push_back({name + " left out", [name](Seed& node) { erase(node, name); }});
    Texts values = values_of(spec.kind, own);
    for (const char* other :
         {"1", "0.5", "\"a\"", "[1, 2]", "[0.5]", "[\"a\"]", "f32", "type(f32[2])", "f32[1](1.0)"})
      values.emplace_back(other); // eight of these are of a wrong kind
    for (const std::string& value : values)
      list.push_back(
          {fmt::format("{} = {}", name, value), [name, value](Seed& node) { set(node, name, value); }});
  }
  list.push_back({"an unknown attribute", [](Seed& node) { set(node, "unknown_name", "1"); }});
}

} // namespace lanner::hostile
