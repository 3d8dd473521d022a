#include "calls/option_rows.h"

#include <algorithm>

#include <lanner/encoder.h>
#include <lanner/error.h>
#include <lanner/model_folder.h>

#include "calls/check.h"
#include "calls/options.h"

namespace lanner::python {
namespace {

// `shape`, or (min, opt, max) of shapes.
#define LANNER_SHAPE "collections.abc.Sequence[int]"
#define LANNER_RANGE LANNER_SHAPE " | tuple[" LANNER_SHAPE ", " LANNER_SHAPE ", " LANNER_SHAPE "]"
#define LANNER_SHAPES "collections.abc.Mapping[str, " LANNER_RANGE "]"

std::string text_type(const OptionInfo& info) {
  if (info.choices.empty() || info.other_words) return "str";
  return fmt::format("typing.Literal['{}']", fmt::join(info.choices, "', '"));
}

/// The type in stubs.
std::string type_of(const OptionInfo& info) {
  switch (info.kind) {
  case OptionKind::flag:
    return "bool";
  case OptionKind::integer:
  case OptionKind::bit_rate:
  case OptionKind::bits:
  case OptionKind::bytes:
  case OptionKind::seed:
  case OptionKind::handle:
    return "int";
  case OptionKind::number:
  case OptionKind::seconds:
    return "float";
  case OptionKind::text:
    return text_type(info);
  case OptionKind::words:
    return "str | collections.abc.Iterable[str]";
  case OptionKind::path:
    return "str | os.PathLike[str]";
  case OptionKind::texts:
    return "list[str] | tuple[str, ...]";
  case OptionKind::named_texts:
    return "collections.abc.Mapping[str, str]";
  case OptionKind::named_shapes:
    return LANNER_SHAPES;
  case OptionKind::profiles:
    return "collections.abc.Sequence[" LANNER_SHAPES "]";
  case OptionKind::size:
    return "tuple[int, int]";
  case OptionKind::region:
    return "tuple[int, int, int, int]";
  case OptionKind::two_numbers:
  case OptionKind::three_numbers:
    return "float | collections.abc.Iterable[float]";
  case OptionKind::three_integers:
    return "int | collections.abc.Iterable[int]";
  case OptionKind::dtype:
    return "numpy.typing.DTypeLike";
  case OptionKind::preset:
    return "str";
  case OptionKind::preprocess:
    return "Preprocess";
  case OptionKind::named_preprocess:
    return "collections.abc.Mapping[str, Preprocess]";
  case OptionKind::named_images:
    return "collections.abc.Mapping[str, Preprocess | tuple[str, Preprocess]]";
  case OptionKind::source:
    return "object";
  case OptionKind::limits:
    return "collections.abc.Mapping[str, float | str]";
  case OptionKind::environment:
    return "Environment";
  case OptionKind::index:
    return "StreamIndex";
  case OptionKind::control:
    return "collections.abc.Callable[[str, int, int], object]";
  }
  return "object";
}

#undef LANNER_SHAPES
#undef LANNER_RANGE
#undef LANNER_SHAPE

std::string tuple_text(const Shape& shape) {
  return fmt::format("({}{})", fmt::join(shape, ", "), shape.rank() == 1 ? "," : "");
}

std::string dict_text(const std::vector<std::string>& entries) {
  return fmt::format("{{{}}}", fmt::join(entries, ", "));
}

/// A value as a Python literal; empty where that would be long.
struct Literals {
  std::string operator()(std::monostate) const { return {}; }
  std::string operator()(bool value) const { return value ? "True" : "False"; }
  std::string operator()(std::int32_t value) const { return fmt::format("{}", value); }
  std::string operator()(std::int64_t value) const { return fmt::format("{}", value); }
  std::string operator()(std::uint64_t value) const { return fmt::format("{}", value); }
  std::string operator()(double value) const {
    const std::string text = fmt::format("{}", value);
    return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
  }
  std::string operator()(const std::string& value) const { return fmt::format("'{}'", value); }
  std::string operator()(const std::vector<std::string>& value) const {
    std::vector<std::string> texts;
    for (const std::string& text : value) texts.push_back("\"" + text + "\"");
    return fmt::format("[{}]", fmt::join(texts, ", "));
  }
  std::string operator()(const NamedTexts& value) const {
    std::vector<std::string> entries;
    for (const auto& [name, text] : value) entries.push_back(fmt::format("\"{}\": \"{}\"", name, text));
    return dict_text(entries);
  }
  std::string operator()(const NamedShapes& value) const {
    std::vector<std::string> entries;
    for (const auto& [name, range] : value) {
      const bool one = range.min == range.opt && range.opt == range.max;
      entries.push_back(fmt::format("\"{}\": {}", name,
                                    one ? tuple_text(range.opt)
                                        : fmt::format("({}, {}, {})", tuple_text(range.min),
                                                      tuple_text(range.opt), tuple_text(range.max))));
    }
    return dict_text(entries);
  }
  std::string operator()(const std::vector<NamedShapes>& value) const {
    std::vector<std::string> entries;
    for (const NamedShapes& shapes : value) entries.push_back((*this)(shapes));
    return fmt::format("[{}]", fmt::join(entries, ", "));
  }
  std::string operator()(const std::array<std::int32_t, 3>& value) const {
    return fmt::format("({})", fmt::join(value, ", "));
  }
  template<std::size_t N>
  std::string operator()(const std::array<float, N>& value) const {
    return fmt::format("({})", fmt::join(value, ", "));
  }
  std::string operator()(const std::map<std::string, Preprocess>&) const { return "{}"; }
  std::string operator()(const std::map<std::string, ImageInputOptions>&) const { return "{}"; }
  std::string operator()(const Environment&) const { return "..."; }
  template<typename Other>
  std::string operator()(const Other&) const {
    return {};
  }
};

std::string literal(const OptionValue& value) {
  return std::visit(Literals{}, value);
}

/// An example; for a list or dict one entry.
std::string example_of(const OptionInfo& info) {
  switch (info.kind) {
  case OptionKind::named_preprocess:
  case OptionKind::named_images:
    return "{\"x\": Preprocess()}";
  case OptionKind::limits: {
    const std::size_t equals = info.example.find('=');
    return fmt::format("{{\"{}\": \"{}\"}}", info.example.substr(0, equals), info.example.substr(equals + 1));
  }
  case OptionKind::profiles: {
    const OptionValue value = parse_option(info, std::string(info.example));
    return literal(std::get<std::vector<NamedShapes>>(value)[0]);
  }
  default:
    return info.example.empty() ? "" : literal(parse_option(info, std::string(info.example)));
  }
}

/// What a TypeError says was expected.
std::string expected_of(const OptionInfo& info) {
  switch (info.kind) {
  case OptionKind::named_texts:
  case OptionKind::named_shapes:
  case OptionKind::named_preprocess:
  case OptionKind::named_images:
    return "a dict like " + example_of(info);
  case OptionKind::profiles:
    return "a list of dicts like " + example_of(info);
  case OptionKind::texts:
    return "a list of names";
  case OptionKind::words:
    return info.example.find(',') != std::string_view::npos
               ? fmt::format("names like {}", info.example)
               : fmt::format("a name like {}, or several", info.example);
  case OptionKind::control:
    return "a function of (stage, done, total)";
  default:
    return type_of(info);
  }
}

/// `{node: type}`, of `NODE=TYPE`.
std::string pair_of(const OptionInfo& info) {
  std::string pair = "{";
  for (const char c : info.metavar)
    pair += c == '=' ? std::string(": ") : std::string{static_cast<char>(c | 0x20)};
  return pair + "}";
}

/// Form of the values, which a docstring appends to the option's help.
std::string form_of(const OptionInfo& info) {
  switch (info.kind) {
  case OptionKind::bytes:
    return ", in bytes";
  case OptionKind::bits:
    return ", in bits";
  case OptionKind::seconds:
    return ", in seconds";
  case OptionKind::words:
    return ", as one text or as a list";
  case OptionKind::texts:
    return ", as a list";
  case OptionKind::named_texts:
    return fmt::format(", as {} like {}", pair_of(info), example_of(info));
  case OptionKind::limits:
    return ", like " + example_of(info);
  case OptionKind::named_shapes:
    return ", like " + example_of(info) + ", or with (min, opt, max) in place of one shape";
  case OptionKind::profiles:
    return ", as a list of dicts like " + example_of(info);
  case OptionKind::named_preprocess:
    return ", by input name";
  case OptionKind::named_images:
    return ", by input name: a Preprocess, or (pixel format, Preprocess) where all images have that format";
  case OptionKind::size:
    return ", as (height, width)";
  case OptionKind::region:
    return ", as (x, y, width, height)";
  case OptionKind::source:
    return ", as path or bytes";
  case OptionKind::text:
    return info.example.empty() || info.help.find(info.example) != std::string_view::npos
               ? ""
               : fmt::format(", like \"{}\"", info.example);
  default:
    return {};
  }
}

/// One number for all elements, or N numbers.
template<std::size_t N, typename Number = float>
std::array<Number, N> to_numbers(std::string_view name, nb::handle value) {
  std::array<Number, N> result;
  if (nb::isinstance<nb::float_>(value) || nb::isinstance<nb::int_>(value)) {
    result.fill(nb::cast<Number>(value));
    return result;
  }
  std::size_t i = 0;
  for (nb::handle element : value) {
    check(i < N, ErrorCode::invalid_argument, "{}: expected {} numbers, got more", name, N);
    result[i++] = nb::cast<Number>(element);
  }
  check(i == N, ErrorCode::invalid_argument, "{}: expected {} numbers, got {}", name, N, i);
  return result;
}

/// A type name, or anything that NumPy accepts as a type.
std::string to_type_name(nb::handle value) {
  if (nb::isinstance<nb::str>(value)) return nb::cast<std::string>(value);
  return nb::cast<std::string>(nb::module_::import_("numpy").attr("dtype")(value).attr("name"));
}

PixelRect to_region(nb::handle value) {
  const auto region = nb::cast<std::array<std::int32_t, 4>>(value);
  return {region[0], region[1], region[2], region[3]};
}

/// (height, width)
std::array<std::int32_t, 2> to_size(nb::handle value) {
  const auto size = nb::cast<std::array<std::int32_t, 2>>(value);
  return {size[1], size[0]};
}

/// `'cuda:0,cuda:1'`, or a list of such names.
std::string to_words(nb::handle value) {
  if (nb::isinstance<nb::str>(value)) return nb::cast<std::string>(value);
  std::string text;
  for (nb::handle name : value) text += (text.empty() ? "" : ",") + nb::cast<std::string>(name);
  return text;
}

/// A Preprocess, or (name of a pixel format, Preprocess).
ImageInputOptions to_picture(nb::handle value) {
  if (nb::isinstance<Preprocess>(value)) return {{}, nb::cast<Preprocess>(value)};
  const bool pair = nb::isinstance<nb::tuple>(value) && nb::len(value) == 2;
  if (!pair) throw std::bad_cast();
  return {parse_pixel_format(nb::cast<std::string>(value[0])), nb::cast<Preprocess>(value[1])};
}

std::vector<NamedShapes> to_profiles(const std::string& name, nb::handle value, std::string_view expected) {
  std::vector<NamedShapes> profiles;
  for (const nb::dict& profile : to_dicts(name, value, expected))
    profiles.push_back(by_name(name, profile, expected_range, to_range));
  return profiles;
}

/// Values that are dicts, or lists of dicts.
OptionValue to_named_values(const OptionInfo& info, nb::handle value) {
  const std::string name(info.name), expected = expected_of(info);
  if (info.kind == OptionKind::profiles) return to_profiles(name, value, expected);
  const nb::dict dict = to_dict(name, value, expected);
  switch (info.kind) {
  case OptionKind::named_texts:
    return in_order(name, dict, info.empty_texts ? "a text" : "a name", to_name);
  case OptionKind::named_shapes:
    return by_name(name, dict, expected_range, to_range);
  case OptionKind::named_preprocess:
    return by_name(name, dict, "a Preprocess", [](nb::handle one) { return nb::cast<Preprocess>(one); });
  default:
    return by_name(name, dict, "a Preprocess, or a pair of a format and one", to_picture);
  }
}

} // namespace

std::string folder_of(nb::handle file) {
  if (!nb::isinstance<nb::str>(file) && !nb::hasattr(file, "__fspath__")) return {};
  return model_folder(path_of(file)).string();
}

OptionValue to_option_value(const OptionInfo& info, nb::handle value, const Limits& limits) {
  switch (info.kind) {
  case OptionKind::flag:
    return nb::cast<bool>(value);
  case OptionKind::integer:
    return nb::cast<std::int32_t>(value);
  case OptionKind::bit_rate:
  case OptionKind::bits:
    return nb::cast<std::int64_t>(value);
  case OptionKind::bytes:
  case OptionKind::seed:
    return nb::cast<std::uint64_t>(value);
  case OptionKind::number:
  case OptionKind::seconds:
    return nb::cast<double>(value);
  case OptionKind::text:
  case OptionKind::preset:
    return nb::cast<std::string>(value);
  case OptionKind::words:
    return to_words(value);
  case OptionKind::path:
    return path_of(value);
  case OptionKind::texts:
    return to_names(value);
  case OptionKind::named_texts:
  case OptionKind::named_shapes:
  case OptionKind::profiles:
  case OptionKind::named_preprocess:
  case OptionKind::named_images:
    return to_named_values(info, value);
  case OptionKind::size:
    return to_size(value);
  case OptionKind::region:
    return to_region(value);
  case OptionKind::two_numbers:
    return to_numbers<2>(info.name, value);
  case OptionKind::three_numbers:
    return to_numbers<3>(info.name, value);
  case OptionKind::three_integers:
    return to_numbers<3, std::int32_t>(info.name, value);
  case OptionKind::dtype:
    return to_type_name(value);
  case OptionKind::preprocess:
    return nb::cast<Preprocess>(value);
  case OptionKind::source:
    return OptionSource{to_source(value, limits), folder_of(value)};
  case OptionKind::limits:
    return to_limits(value);
  case OptionKind::environment:
    return nb::cast<const Environment&>(value);
  case OptionKind::index:
    return std::shared_ptr<const StreamIndex>(nb::cast<std::shared_ptr<StreamIndex>>(value));
  case OptionKind::handle:
    return reinterpret_cast<void*>(nb::cast<std::uintptr_t>(value));
  case OptionKind::control:
    break;
  }
  fail(ErrorCode::internal, "the option '{}' is not applied", info.name);
}

Keyword keyword_of(const OptionInfo& info, const OptionValue& standard, bool in_signature) {
  Keyword keyword{std::string(info.name), type_of(info), {}, expected_of(info), {}};
  keyword.required = info.required;
  const OptionValue given =
      info.standard.empty() ? standard : OptionValue(std::string(info.standard)); // only for texts
  const std::string value = info.kind == OptionKind::path ? std::string() : literal(given);
  if (in_signature && !info.required) keyword.standard = value;
  std::string text = std::string(info.help) + form_of(info);
  if (!info.details.empty()) text += fmt::format("; {}", info.details);
  const bool container = value.empty() || value == "{}" || value == "[]" || value == "...";
  if (!info.unset.empty())
    text += container ? fmt::format("; default: {}", info.unset)
                      : fmt::format("; {}{}: {}", in_signature ? "" : "default ", value, info.unset);
  else if (!in_signature && !container)
    text += fmt::format("; default {}", value);
  keyword.meaning = text;
  return keyword;
}

Limits limits_among(const nb::kwargs& given) {
  if (!given.contains("limits")) return {};
  const nb::object limits = given["limits"];
  return with_option_named("limits", limits, [&] { return to_limits(limits); });
}

void check_required(std::string_view function, const nb::kwargs& given, std::span<const Keyword> keywords) {
  for (const Keyword& keyword : keywords)
    if (keyword.required &&
        (!given.contains(keyword.name.c_str()) || nb::object(given[keyword.name.c_str()]).is_none()))
      fail_type(fmt::format("{}: {} is missing; expected {}", function, keyword.name, keyword.type));
}

nb::kwargs by_names(std::string_view function, const nb::args& by_place, const nb::kwargs& by_name,
                    std::span<const Keyword> keywords) {
  nb::kwargs all = nb::borrow<nb::kwargs>(nb::module_::import_("builtins").attr("dict")(by_name));
  if (by_place.size() > keywords.size())
    fail_type(fmt::format("{}: {} is one argument too many; expected {} at most", function,
                          shown(by_place[keywords.size()]), keywords.size()));
  for (std::size_t i = 0; i < by_place.size(); ++i) {
    const char* name = keywords[i].name.c_str();
    if (all.contains(name)) fail_type(fmt::format("{}: {} is given twice", function, name));
    all[name] = by_place[i];
  }
  return all;
}

} // namespace lanner::python
