#pragma once
// Builds rows of option tables from a member, or from a getter and a setter.

#include <optional>
#include <type_traits>

#include <lanner/option_table.h>

namespace lanner {

/// The kind of a value of type T, where the row does not name one that has the same type.
template<typename T>
constexpr OptionKind kind_of() {
  if constexpr (std::is_same_v<T, bool>) return OptionKind::flag;
  if constexpr (std::is_same_v<T, std::int32_t>) return OptionKind::integer;
  if constexpr (std::is_same_v<T, std::int64_t>) return OptionKind::bit_rate;
  if constexpr (std::is_same_v<T, std::uint64_t>) return OptionKind::bytes;
  if constexpr (std::is_same_v<T, double>) return OptionKind::number;
  if constexpr (std::is_same_v<T, std::string>) return OptionKind::text;
  if constexpr (std::is_same_v<T, std::vector<std::string>>) return OptionKind::texts;
  if constexpr (std::is_same_v<T, NamedTexts>) return OptionKind::named_texts;
  if constexpr (std::is_same_v<T, NamedShapes>) return OptionKind::named_shapes;
  if constexpr (std::is_same_v<T, std::vector<NamedShapes>>) return OptionKind::profiles;
  if constexpr (std::is_same_v<T, std::array<std::int32_t, 2>>) return OptionKind::size;
  if constexpr (std::is_same_v<T, std::array<std::int32_t, 3>>) return OptionKind::three_integers;
  if constexpr (std::is_same_v<T, PixelRect>) return OptionKind::region;
  if constexpr (std::is_same_v<T, std::array<float, 2>>) return OptionKind::two_numbers;
  if constexpr (std::is_same_v<T, std::array<float, 3>>) return OptionKind::three_numbers;
  if constexpr (std::is_same_v<T, Preprocess>) return OptionKind::preprocess;
  if constexpr (std::is_same_v<T, std::map<std::string, Preprocess>>) return OptionKind::named_preprocess;
  if constexpr (std::is_same_v<T, std::map<std::string, ImageInputOptions>>) return OptionKind::named_images;
  if constexpr (std::is_same_v<T, OptionSource>) return OptionKind::source;
  if constexpr (std::is_same_v<T, Limits>) return OptionKind::limits;
  if constexpr (std::is_same_v<T, Environment>) return OptionKind::environment;
  if constexpr (std::is_same_v<T, std::shared_ptr<const StreamIndex>>) return OptionKind::index;
  if constexpr (std::is_same_v<T, void*>) return OptionKind::handle;
  if constexpr (std::is_same_v<T, Control>) return OptionKind::control;
}

template<typename Options>
using Field = OptionField<typename OptionsInC<Options>::type>;

/// An option that `get` reads, as a T or an std::optional<T>, and `set` sets.
template<typename T, typename Options, typename Get, typename Set>
OptionRow<Options> row(OptionInfo info, Get get, Set set, Field<Options> field = {}) {
  if (info.kind == OptionKind::flag) info.kind = kind_of<T>(); // no kind given
  return {std::move(info),
          [set](Options& options, const OptionValue& value) { set(options, std::get<T>(value)); },
          [get](const Options& options) -> OptionValue {
            if constexpr (std::is_same_v<std::remove_cvref_t<decltype(get(options))>, std::optional<T>>) {
              const std::optional<T> value = get(options);
              return value ? OptionValue(*value) : OptionValue();
            } else {
              return OptionValue(std::in_place_type<T>, get(options));
            }
          },
          std::move(field)};
}

template<typename T>
struct ValueOf {
  using type = T;
};
template<typename T>
struct ValueOf<std::optional<T>> {
  using type = T;
};

/// Lists are added to, other values replaced.
template<typename Member, typename T>
void assign(Member& member, const T& value) {
  if constexpr (std::is_same_v<T, std::vector<std::string>> || std::is_same_v<T, std::vector<NamedShapes>>)
    member.insert(member.end(), value.begin(), value.end());
  else
    member = value;
}

/// An option that is a member.
template<typename Options, typename Member>
OptionRow<Options> row(OptionInfo info, Member Options::*member, Field<Options> field = {}) {
  using T = typename ValueOf<Member>::type;
  return row<T, Options>(
      std::move(info), [member](const Options& options) { return options.*member; },
      [member](Options& options, const T& value) { assign(options.*member, value); }, std::move(field));
}

/// One that is a member of a member.
template<typename Options, typename Part, typename Member>
OptionRow<Options> row(OptionInfo info, Part Options::*part, Member Part::*member,
                       Field<Options> field = {}) {
  using T = typename ValueOf<Member>::type;
  return row<T, Options>(
      std::move(info), [=](const Options& options) { return options.*part.*member; },
      [=](Options& options, const T& value) { assign(options.*part.*member, value); }, std::move(field));
}

} // namespace lanner
