// Operators on strings: string_concat, string_split, string_normalizer. Strings are UTF-8.

#include <algorithm>
#include <clocale>
#include <cwctype>
#include <locale.h>
#include <memory>

#include "base/check.h"
#include "base/text/utf8.h"
#include "ops/elementwise/elementwise.h"
#include "ops/table/arguments.h"
#include "ops/table/table.h"
#include "ops/traits.h"
#include "tensor/strings.h"

namespace lanner::ops {

static void require_strings(const InferContext& context, std::size_t i) {
  check(context.input(i).dtype() == DType::string, ErrorCode::invalid_argument,
        "{}: input {} is {}, expected string", context.node().kind(), i, to_string(context.input(i).dtype()));
}

static OpDef concat_op() {
  OpDef op = elementwise_op("string_concat", 2);
  op.traits = of_pattern(Pattern::text);
  op.operands = same_types(dtypes::strings, {"x", "y"});
  op.infer = [](InferContext& context) {
    require_strings(context, 0);
    common_dtype(context);
    context.set_output(0, broadcast_type(context, DType::string));
  };
  op.reference = [](KernelContext& context) {
    combine_elements<std::string, std::string, std::string>(
        context.input(0), context.input(1), context.output(0),
        [](const std::string& a, const std::string& b) {
          count_bytes(character_bytes(a.size() + b.size()));
          return a + b;
        });
  };
  return op;
}

static constexpr std::string_view whitespace = " \t\n\v\f\r";

static void add_part(std::vector<std::string>& parts, std::string_view part) {
  count_bytes(sizeof(std::string) + character_bytes(part.size()));
  parts.emplace_back(part);
}

/// Parts separated by whitespace, ignoring it at the ends; after `most` splits the rest is one part.
static std::vector<std::string> split_at_whitespace(std::string_view text, std::int64_t most) {
  std::vector<std::string> parts;
  std::size_t at = text.find_first_not_of(whitespace);
  while (at != std::string_view::npos) {
    if (static_cast<std::int64_t>(parts.size()) == most) {
      const std::size_t last = text.find_last_not_of(whitespace);
      add_part(parts, text.substr(at, last + 1 - at));
      break;
    }
    const std::size_t end = text.find_first_of(whitespace, at);
    add_part(parts, text.substr(at, end - at));
    at = end == std::string_view::npos ? end : text.find_first_not_of(whitespace, end);
  }
  return parts;
}

static std::vector<std::string> split_at(std::string_view text, std::string_view delimiter,
                                         std::int64_t most) {
  if (delimiter.empty()) return split_at_whitespace(text, most);
  std::vector<std::string> parts;
  std::size_t at = 0;
  while (static_cast<std::int64_t>(parts.size()) != most) {
    const std::size_t end = text.find(delimiter, at);
    if (end == std::string_view::npos) break;
    add_part(parts, text.substr(at, end - at));
    at = end + delimiter.size();
  }
  add_part(parts, text.substr(at));
  return parts;
}

static void infer_split(InferContext& context) {
  require_strings(context, 0);
  const Type& input = context.input(0);
  context.set_output(1, input.with_dtype(DType::i64));
  if (!input.ranked()) return context.set_output(0, input);
  Dims dims = input.dims();
  dims.push_back(context.fresh("parts", Dim(INT64_MAX)));
  context.set_output(0, input.with_dims(std::move(dims)));
}

static void run_split(KernelContext& context) {
  const Tensor& input = context.input(0);
  const std::string delimiter = context.attributes().string("delimiter", "");
  const std::int64_t most = context.attributes().integer("maxsplit", -1);
  std::vector<std::vector<std::string>> split;
  std::size_t width = 0;
  for (const std::string& text : input.as<std::string>()) {
    count_bytes(sizeof(split.front()));
    split.push_back(split_at(text, delimiter, most));
    width = std::max(width, split.back().size());
  }
  Shape shape = input.shape();
  shape.push_back(static_cast<std::int64_t>(width));
  Tensor &parts = context.allocate(0, DType::string, shape), &counts = context.output(1);
  for (std::size_t i = 0; i < split.size(); ++i) {
    counts.as<std::int64_t>()[i] = static_cast<std::int64_t>(split[i].size());
    std::ranges::move(split[i], parts.as<std::string>().begin() + static_cast<std::ptrdiff_t>(i * width));
  }
}

static OpDef split_op() {
  OpDef op;
  op.name = "string_split";
  op.traits = of_pattern(Pattern::text);
  op.min_inputs = op.max_inputs = 1;
  op.operands = {{"x", dtypes::strings}};
  op.min_outputs = op.max_outputs = 2;
  op.attributes = {optional_attribute("delimiter", AttributeKind::string, any_text()),
                   optional_attribute("maxsplit", AttributeKind::integer, any_integer())};
  op.infer = infer_split;
  op.reference = run_split;
  return op;
}

namespace {

enum class CaseAction : std::uint8_t { none, lower, upper };

CaseAction case_action(const AttributeMap& attributes) {
  const std::string action = attributes.string("case_change_action", "NONE");
  if (action == "LOWER") return CaseAction::lower;
  if (action == "UPPER") return CaseAction::upper;
  check(action == "NONE", ErrorCode::invalid_argument,
        "string_normalizer: case_change_action is \"{}\", expected \"LOWER\", \"UPPER\" or \"NONE\"", action);
  return CaseAction::none;
}

/// Changes case by Unicode's simple mappings, which all languages' locales share except Turkish ones.
class CaseChanger {
public:
  CaseChanger() : locale_(newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr)) {}
  ~CaseChanger() {
    if (locale_) freelocale(locale_);
  }
  CaseChanger(const CaseChanger&) = delete;

  std::string operator()(std::string_view text, CaseAction action) const {
    if (action == CaseAction::none) return std::string(text);
    std::string result;
    while (!text.empty()) {
      const Utf8Character next = first_character(text);
      // Bytes that are not UTF-8 are copied.
      if (next.valid)
        append_utf8(result, changed(next.code, action));
      else
        result.push_back(text[0]);
      text.remove_prefix(next.bytes);
    }
    return result;
  }

private:
  std::uint32_t changed(std::uint32_t code, CaseAction action) const {
    if (!locale_) return code;
    const auto wide = static_cast<std::wint_t>(code);
    return static_cast<std::uint32_t>(action == CaseAction::lower ? towlower_l(wide, locale_)
                                                                  : towupper_l(wide, locale_));
  }

  locale_t locale_;
};

} // namespace

static void infer_normalizer(InferContext& context) {
  require_strings(context, 0);
  const Type& input = context.input(0);
  if (!input.ranked()) return context.set_output(0, input);
  const bool fits = input.rank() == 1 ||
                    (input.rank() == 2 && (!input.dims()[0].is_constant() || input.dims()[0] == Dim(1)));
  check(fits, ErrorCode::invalid_argument, "string_normalizer: input is {}, expected [C] or [1, C]",
        input.to_string());
  Dims dims = input.dims();
  if (context.attributes().has("stopwords")) dims.back() = context.fresh("kept", max(dims.back(), Dim(1)));
  context.set_output(0, input.with_dims(std::move(dims)));
}

static void run_normalizer(KernelContext& context) {
  const AttributeMap& attributes = context.attributes();
  const CaseAction action = case_action(attributes);
  const CaseAction folding = attributes.flag("is_case_sensitive") ? CaseAction::none : CaseAction::lower;
  const CaseChanger change;
  std::vector<std::string> stopwords;
  for (const std::string& word : attributes.get<std::vector<std::string>>("stopwords", {}))
    stopwords.push_back(change(word, folding));
  std::vector<std::string> kept;
  for (const std::string& word : context.input(0).as<std::string>())
    if (std::ranges::find(stopwords, change(word, folding)) == stopwords.end()) {
      kept.push_back(change(word, action));
      count_bytes(sizeof(std::string) + character_bytes(kept.back().size()));
    }
  if (kept.empty() && !stopwords.empty()) kept.emplace_back();
  Shape shape = context.input(0).shape();
  shape[shape.rank() - 1] = static_cast<std::int64_t>(kept.size());
  std::ranges::move(kept, context.allocate(0, DType::string, shape).as<std::string>().begin());
}

static OpDef normalizer_op() {
  OpDef op;
  op.name = "string_normalizer";
  op.traits = of_pattern(Pattern::text);
  op.min_inputs = op.max_inputs = 1;
  op.operands = {{"x", dtypes::strings}};
  op.attributes = {string_attribute("case_change_action", "NONE", one_of({"NONE", "LOWER", "UPPER"})),
                   flag_attribute("is_case_sensitive", false),
                   optional_attribute("locale", AttributeKind::string, any_text()),
                   optional_attribute("stopwords", AttributeKind::strings, any_text())};
  op.infer = infer_normalizer;
  op.reference = run_normalizer;
  return op;
}

std::vector<OpDef> string_ops() {
  return {concat_op(), split_op(), normalizer_op()};
}

} // namespace lanner::ops
