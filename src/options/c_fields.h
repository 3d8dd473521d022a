#pragma once
// Options from members of the structures of <lanner/c.h>. A zero member is not set.

#include <cstddef>
#include <span>

#include <lanner/option_table.h>

#include "base/check.h"

namespace lanner {

/// Opens a file as a source, with its folder.
OptionSource open_source(const std::filesystem::path& path, const Limits& limits);

template<typename T>
T& not_null(T* pointer, std::string_view name) {
  check(pointer != nullptr, ErrorCode::invalid_argument, "argument {} is null", name);
  return *pointer;
}

/// An array of the caller's, by first element and count.
template<typename T>
std::span<const T> array_of(const T* first, std::size_t count, std::string_view name) {
  if (count > 0) not_null(first, name);
  return {first, count};
}

template<typename C>
OptionField<C> flag_field(std::string_view name, std::int32_t C::*member) {
  return {name, [member](const C& given) { return given.*member != 0 ? OptionValue(true) : OptionValue(); }};
}

/// Numbers and texts.
template<typename C, typename T>
OptionField<C> field(std::string_view name, T C::*member) {
  return {name, [member](const C& given) -> OptionValue {
            if (given.*member == T{}) return {};
            if constexpr (std::is_same_v<T, const char*>)
              return std::string(given.*member);
            else
              return given.*member;
          }};
}

/// A field converted by `read(given)`.
template<typename C, typename Read>
OptionField<C> field(std::string_view name, Read read) {
  return {name, [read](const C& given) -> OptionValue { return read(given); }};
}

template<typename C>
OptionField<C> texts_field(std::string_view name, const char* const* C::*list, std::size_t C::*count) {
  return {name, [=](const C& given) -> OptionValue {
            if (given.*count == 0) return {};
            std::vector<std::string> texts;
            for (const char* text : array_of(given.*list, given.*count, name))
              texts.emplace_back(&not_null(text, fmt::format("element of {}", name)));
            return texts;
          }};
}

/// One of the two texts of an element.
template<typename Element>
struct TextMember {
  std::string_view name;
  const char* Element::*member;

  std::string of(const Element& element, std::string_view list) const {
    return &not_null(element.*member, fmt::format("{} of {}", name, list));
  }
};

template<typename C, typename Element>
OptionField<C> pairs_field(std::string_view name, const Element* C::*list, std::size_t C::*count,
                           std::type_identity_t<TextMember<Element>> first,
                           std::type_identity_t<TextMember<Element>> second) {
  return {name, [=](const C& given) -> OptionValue {
            if (given.*count == 0) return {};
            NamedTexts pairs;
            for (const Element& element : array_of(given.*list, given.*count, name))
              pairs.emplace_back(first.of(element, name), second.of(element, name));
            return pairs;
          }};
}

/// Throws for a duplicate name: only one of the two could have an effect.
template<typename Map, typename Value>
void add_once(Map& map, const std::string& name, Value value, std::string_view what) {
  check(map.emplace(name, std::move(value)).second, ErrorCode::invalid_argument, "{} '{}' comes twice", what,
        name);
}

/// The limits of a structure with limits.
template<typename C>
Limits limits_in(const C& given) {
  if constexpr (requires { given.limits; })
    return parse_limits(given.limits ? given.limits : "");
  else
    return {};
}

NamedShapes shapes_in(const lanner_shape_range* shapes, std::size_t count, const Limits& limits);

template<typename C>
OptionField<C> shapes_field() {
  return {"shapes", [](const C& given) -> OptionValue {
            if (given.shape_count == 0) return {};
            return shapes_in(given.shapes, given.shape_count, limits_in(given));
          }};
}

/// An additional file, by path.
template<typename C>
OptionField<C> source_field(std::string_view name, const char* C::*member) {
  return {name, [=](const C& given) -> OptionValue {
            if (!(given.*member)) return {};
            return open_source(given.*member, limits_in(given));
          }};
}

template<typename C>
OptionField<C> limits_field() {
  return {"limits", [](const C& given) -> OptionValue {
            if (!given.limits) return {};
            return limits_in(given);
          }};
}

Control control_in(lanner_progress progress, void* user);

template<typename C>
OptionField<C> progress_field() {
  return {"progress", [](const C& given) -> OptionValue {
            if (!given.progress) return {};
            return control_in(given.progress, given.progress_user);
          }};
}

template<typename C>
OptionField<C> environment_field() {
  return {"environment", [](const C& given) -> OptionValue {
            if (!given.environment) return {};
            return given.environment->environment;
          }};
}

} // namespace lanner
