#pragma once
// Attributes: an ordered map from name to value.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include <lanner/dtype.h>
#include <lanner/error.h>
#include <lanner/tensor.h>

#include "graph/type/type.h"

namespace lanner {

/// The value of an attribute. Text forms in this order: `3`, `0.5` (always with point or exponent, `inf`,
/// `nan`), `"max"`, `[1, 2]`, `[0.5, 1.0]`, `["a", "b"]`, `f32` (element type), `type(f32[N, 4])`, a tensor
/// (see text.h). An empty list prints `ints[]`, `floats[]`, `strings[]`.
using AttributeVariant = std::variant<std::int64_t, double, std::string, std::vector<std::int64_t>,
                                      std::vector<double>, std::vector<std::string>, DType, Type, Tensor>;

/// A separate class, so that copies and moves of nine types are compiled once and not in every file.
struct Attribute : AttributeVariant {
  using AttributeVariant::AttributeVariant;
  Attribute();
  Attribute(const Attribute& other);
  Attribute(Attribute&& other) noexcept;
  Attribute& operator=(const Attribute& other);
  Attribute& operator=(Attribute&& other) noexcept;
  ~Attribute();
};

enum class AttributeKind : std::uint8_t {
  integer,
  real,
  string,
  integers,
  reals,
  strings,
  dtype,
  type,
  tensor
};
std::string_view to_string(AttributeKind kind) noexcept;
inline AttributeKind kind_of(const Attribute& attribute) {
  return static_cast<AttributeKind>(attribute.index());
}

/// Attributes of a node, in name order. Getters throw Error{invalid_argument} with the attribute's name, the
/// kind expected and the kind found.
class AttributeMap {
public:
  AttributeMap();
  AttributeMap(const AttributeMap& other);
  AttributeMap(AttributeMap&& other) noexcept;
  AttributeMap& operator=(const AttributeMap& other);
  AttributeMap& operator=(AttributeMap&& other) noexcept;
  ~AttributeMap();

  bool has(std::string_view name) const { return find(name) != nullptr; }
  void set(std::string name, Attribute value);
  void erase(std::string_view name);
  const Attribute* find(std::string_view name) const;

  template<typename T>
  const T& get(std::string_view name) const {
    return typed<T>(require(name), name);
  }
  template<typename T>
  T get(std::string_view name, T fallback) const {
    const Attribute* found = find(name);
    if (found) return typed<T>(*found, name);
    return fallback;
  }
  std::int64_t integer(std::string_view name, std::int64_t fallback) const {
    return get<std::int64_t>(name, fallback);
  }
  double real(std::string_view name, double fallback) const { return get<double>(name, fallback); }
  std::string string(std::string_view name, std::string fallback) const {
    return get<std::string>(name, std::move(fallback));
  }
  std::vector<std::int64_t> integers(std::string_view name, std::vector<std::int64_t> fallback = {}) const {
    return get<std::vector<std::int64_t>>(name, std::move(fallback));
  }
  bool flag(std::string_view name, bool fallback = false) const { return integer(name, fallback) != 0; }

  std::size_t size() const noexcept { return values_.size(); }
  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }

private:
  const Attribute& require(std::string_view name) const;
  [[noreturn]] static void wrong_kind(std::string_view name, AttributeKind expected, AttributeKind found);
  template<typename T, std::size_t i = 0>
  static constexpr AttributeKind kind_of_type() {
    if constexpr (std::is_same_v<T, std::variant_alternative_t<i, AttributeVariant>>)
      return static_cast<AttributeKind>(i);
    else
      return kind_of_type<T, i + 1>();
  }
  template<typename T>
  static const T& typed(const Attribute& value, std::string_view name) {
    if (const T* held = std::get_if<T>(&value)) return *held;
    wrong_kind(name, kind_of_type<T>(), kind_of(value));
  }

  std::map<std::string, Attribute, std::less<>> values_;
};

} // namespace lanner
