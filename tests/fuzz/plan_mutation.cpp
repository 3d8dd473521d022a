#include "fuzz/plan_mutation.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/op.h"
#include "ops/table/table.h"

namespace lanner::fuzz {
namespace {

struct Span {
  std::size_t begin = 0, size = 0;
};

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '%' || c == '-';
}

std::vector<Span> words_of(std::string_view text) {
  std::vector<Span> words;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && is_word(text[end])) ++end;
    if (end > at) words.push_back({at, end - at});
    at = end + 1;
  }
  return words;
}

std::vector<Span> lines_of(std::string_view text) {
  std::vector<Span> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    lines.push_back({at, end - at});
    at = end;
  }
  return lines;
}

bool is_number(std::string_view word) {
  return !word.empty() &&
         std::ranges::all_of(word, [](char c) { return c == '-' || (c >= '0' && c <= '9'); });
}

const std::vector<std::string>& vocabulary() {
  static const std::vector<std::string> words = [] {
    std::vector<std::string> made{
        "f32",    "f16",    "bf16",    "f64",         "i64",         "i32",     "i8",           "u8",
        "bool",   "string", "row",     "acdb",        "aBcd16b",     "aBcd8b",  "ABcd16b16a",   "ba",
        "cba",    "acb",    "onednn",  "cpu",         "cuda",        "alias",   "interpreter",  "reference",
        "conv",   "gemm",   "pool",    "elementwise", "movement",    "copy",    "reduce",       "softmax",
        "window", "row",    "seq",     "opt",         "fused",       "reorder", "perm",         "axis",
        "axes",   "pads",   "strides", "group",       "min",         "max",     "kernel_shape", "null",
        "true",   "false",  "dtype",   "shape",       "data_offsets"};
    for (const std::string& name : builtin_op_table().names()) made.push_back(name);
    return made;
  }();
  return words;
}

class Mutation {
public:
  Mutation(std::string text, std::uint32_t seed) : text_(std::move(text)), random_(seed) {}

  /// Mostly one change: with several the parser is likely to reject one of them.
  std::string run() {
    const std::size_t changes = pick(3) == 0 ? 2 + pick(2) : 1;
    for (std::size_t i = 0; i < changes && !text_.empty(); ++i) change();
    return text_;
  }

private:
  std::size_t pick(std::size_t count) { return random_() % count; }

  void change() {
    switch (pick(16)) {
    case 0:
    case 1:
      return change_line();
    case 2:
      text_[pick(text_.size())] = static_cast<char>(random_());
      return;
    case 3:
      return change_list();
    case 4:
    case 5:
      return change_storage();
    case 6:
    case 7:
      return change_number();
    case 8:
      return swap_lines();
    case 9:
    case 10:
      return change_literal();
    case 11:
      return change_dim();
    case 12:
      return add_phrase();
    case 13:
      return add_entry();
    default:
      return change_word();
    }
  }

  void change_word() {
    const std::vector<Span> words = words_of(text_);
    if (words.empty()) return;
    const Span at = words[pick(words.size())];
    const std::string word = text_.substr(at.begin, at.size);
    text_.replace(at.begin, at.size,
                  is_number(word) && pick(4) != 0 ? other_number(word) : other_word(words));
  }

  /// A value's storage: another one, one more attribute, or none.
  void change_storage() {
    static constexpr std::array<std::string_view, 29> storages{
        "row",
        "ba",
        "acb",
        "acdb",
        "aBcd16b",
        "aBcd8b",
        "Ba32b",
        "ABcd16b16a",
        "f16 row",
        "bf16 row",
        "i8 row",
        "u4 row",
        "f64 row",
        "string row",
        "within=0:64",
        "within=1:64",
        "within=9:64",
        "within=127:1",
        "row cuda:0",
        "i8 row scale=0.1",
        "u8 row scale=0.1 zero=3",
        "i8 row scale=0.1 axis=1",
        "i4 row scale=0.1 axis=0 block=2",
        "row within=0:9223372036854775807",
        "row within=1:2",
        "i8 row scale=%x",
        "u8 row scale=%w zero=%x axis=0",
        "i8 row scale=[0.1, 0.2] zero=[0, 5000000000] axis=0",
        "aB65535b"};
    std::vector<std::size_t> types; // after which a storage may follow
    for (std::size_t at = text_.find("]"); at != std::string::npos; at = text_.find("]", at + 1))
      if (const std::size_t next = at + 1;
          next < text_.size() && std::string_view(" ,)").find(text_[next]) != std::string_view::npos)
        types.push_back(next);
    if (types.empty()) return;
    const std::size_t at = types[pick(types.size())];
    if (text_.compare(at, 3, " @ ") == 0) {
      const std::size_t end = std::min(text_.find_first_of(",)=\n", at), text_.size());
      text_.erase(at, end - at);
      if (pick(4) == 0) return;
    }
    std::string made = " @ " + std::string(storages[pick(storages.size())]);
    if (const std::vector<std::string> names = values(); !names.empty() && pick(4) == 0)
      made += " in=" + names[pick(names.size())] + (pick(2) == 0 ? "+" + other_number("64") : "");
    text_.insert(at, made + " ");
  }

  std::vector<std::string> values() const {
    std::vector<std::string> names;
    for (const Span& word : words_of(text_))
      if (text_[word.begin] == '%') names.push_back(text_.substr(word.begin, word.size));
    return names;
  }

  /// Numbers only: sizes, offsets, indices, counts.
  void change_number() {
    std::vector<Span> numbers;
    for (const Span& word : words_of(text_))
      if (is_number(std::string_view(text_).substr(word.begin, word.size))) numbers.push_back(word);
    if (numbers.empty()) return;
    const Span at = numbers[pick(numbers.size())];
    text_.replace(at.begin, at.size, other_number(text_.substr(at.begin, at.size)));
  }

  /// Text from `begin` to the end of a value: a comma or bracket that the value did not open.
  std::size_t end_of_value(std::size_t begin) const {
    int depth = 0;
    for (std::size_t at = begin; at < text_.size(); ++at) {
      const char c = text_[at];
      if (c == '\n') return at;
      if (c == '(' || c == '[' || c == '{') ++depth;
      if ((c == ')' || c == ']' || c == '}') && depth-- == 0) return at;
      if (c == ',' && depth == 0) return at;
    }
    return text_.size();
  }

  /// The value of an attribute as another kind of literal.
  void change_literal() {
    static constexpr std::array<std::string_view, 20> literals{
        "[]",
        "[1, -2]",
        "[0.5, -1e30]",
        "[\"a\", \"b\"]",
        "\"a\\t\\r\\x41\\n\"",
        "type(f32[2, N])",
        "type(seq(string[?]))",
        "-1.5",
        "nan",
        "f16",
        "random(f32[2, 3], seed = 7, std = 0.5)",
        "random(i8[3], seed = 18446744073709551615, std = -1.0)",
        "bool[2](true, false)",
        "string[2](\"a\", \"b\")",
        "i16[1](-3)",
        "u32[1](3)",
        "u64[1](18446744073709551615)",
        "f64[1](0.5)",
        "f16[2](hex 003c00bc)",
        "u16[1](65536)"};
    std::vector<std::size_t> values;
    for (std::size_t at = text_.find(" = "); at != std::string::npos; at = text_.find(" = ", at + 1))
      if (const std::size_t open = text_.rfind('{', at);
          open != std::string::npos && text_.find_first_of("}\n", open) > at)
        values.push_back(at + 3);
    if (values.empty()) return;
    const std::size_t at = values[pick(values.size())];
    text_.replace(at, end_of_value(at) - at, literals[pick(literals.size())]);
  }

  /// A size as an expression.
  void change_dim() {
    static constexpr std::array<std::string_view, 9> dims{
        "N + 1",       "2 * N - 1",          "min(N, 3)", "max(2, N)", "N // 2",
        "(N + 3) % 4", "min(N // 2, 3) * 2", "N",         "?"};
    std::vector<std::size_t> types;
    for (std::size_t at = text_.find('['); at != std::string::npos; at = text_.find('[', at + 1))
      if (at > 0 && std::isdigit(static_cast<unsigned char>(text_[at - 1]))) types.push_back(at + 1);
    if (types.empty()) return;
    const std::size_t at = types[pick(types.size())];
    text_.replace(at, end_of_value(at) - at, dims[pick(dims.size())]);
  }

  /// After a node, or on a separate line.
  void add_phrase() {
    static constexpr std::array<std::string_view, 7> phrases{
        " stream(1)",
        " stream(9)",
        " source(\"a\\x41\")",
        " // a remark",
        "\n  meta \"k\" = \"v\"",
        "\n  symbol N in [1, 9] opt 4",
        "\n  %more: f32[1] = constant() {value = f32[1](1.0)}"};
    const std::vector<Span> lines = lines_of(text_);
    const Span line = lines[pick(lines.size())];
    text_.insert(line.begin + line.size - 1, phrases[pick(phrases.size())]);
  }

  /// A member of one of the tables, or a table.
  void add_entry() {
    static constexpr std::array<std::string_view, 15> entries{
        "\"w9\": {\"dtype\": \"f32\", \"shape\": [4, 4], \"layout\": \"row\", \"computed\": true, "
        "\"recipe\": \"graph "
        "@recipe(%w: f32[4, 4]) -> (%y as \\\"value\\\") {\\n  %y: f32[4, 4] = neg(%w)\\n}\"}, ",
        "\"further\": [{\"device\": \"cuda:0\", \"isa\": \"x\"}], ",
        "\"placed\": [{\"pattern\": \"*\", \"device\": \"cpu\"}], ",
        "\"placed\": [{\"pattern\": \"*\", \"device\": \"cuda:1\"}], ",
        "\"pins\": [{\"pattern\": \"*\", \"type\": \"f16\"}], ",
        "\"defaults\": {\"x\": \"w0\"}, ",
        "\"strict\": true, ",
        "\"exact\": true, ",
        "\"computed\": true, ",
        "\"stripped\": true, ",
        "\"weight\": \"w\", ",
        "\"recipe\": \"graph @recipe(%w: f32[8, 8]) -> (%y as \\\"value\\\") {\\n  %y: f32[8, 8] = "
        "neg(%w)\\n}\", ",
        "\"recipe\": \"graph @recipe(%w: f32[4, 4]) -> () {\\n}\", ",
        "\"profiles\": [[{\"input\": \"x\", \"min\": [1], \"opt\": [1], \"max\": [2]}]], ",
        "\"states\": [[\"x\", \"y\"]], "};
    if (pick(8) == 0) {
      text_ += "\n=== operators\n{\"outside\": 1}\n";
      return;
    }
    std::vector<std::size_t> objects;
    const std::size_t tables = std::min(text_.find("=== ir"), text_.size());
    for (std::size_t at = text_.find('{'); at < tables; at = text_.find('{', at + 1))
      objects.push_back(at + 1);
    if (objects.empty()) return;
    text_.insert(objects[pick(objects.size())], entries[pick(entries.size())]);
  }

  void swap_lines() {
    const std::vector<Span> lines = lines_of(text_);
    if (lines.size() < 2) return;
    const std::size_t i = pick(lines.size() - 1);
    const std::string first = text_.substr(lines[i].begin, lines[i].size);
    text_.erase(lines[i].begin, lines[i].size);
    text_.insert(lines[i].begin + lines[i + 1].size, first);
  }

  std::string other_word(const std::vector<Span>& words) {
    if (pick(2) == 0) return vocabulary()[pick(vocabulary().size())];
    const Span from = words[pick(words.size())];
    return text_.substr(from.begin, from.size);
  }

  std::string other_number(const std::string& word) {
    static constexpr std::array<std::string_view, 22> numbers{"0",           "1",
                                                              "-1",          "2",
                                                              "3",           "4",
                                                              "7",           "8",
                                                              "16",          "31",
                                                              "32",          "64",
                                                              "-2",          "65",
                                                              "127",         "1000",
                                                              "65535",       "2147483647",
                                                              "2147483648",  "4294967295",
                                                              "-2147483648", "9223372036854775807"};
    if (pick(3) != 0) return std::string(numbers[pick(numbers.size())]);
    const std::int64_t value = word.size() < 18 ? std::atoll(word.c_str()) : 0;
    const std::array<std::int64_t, 6> near{value + 1, value - 1, value * 2, value / 2, -value, value + 16};
    return std::to_string(near[pick(near.size())]);
  }

  void change_line() {
    const std::vector<Span> lines = lines_of(text_);
    const Span from = lines[pick(lines.size())];
    const std::string line = text_.substr(from.begin, from.size);
    const std::size_t to = lines[pick(lines.size())].begin;
    const std::size_t kind = pick(3);
    if (kind != 0) text_.insert(to, line); // duplicated elsewhere
    if (kind != 1)
      text_.erase(from.begin + (kind == 2 && to <= from.begin ? line.size() : 0), line.size()); // or removed
  }

  /// Duplicates or removes an element of a list.
  void change_list() {
    std::vector<std::size_t> commas;
    for (std::size_t i = 0; i < text_.size(); ++i)
      if (text_[i] == ',') commas.push_back(i);
    if (commas.empty()) return;
    const std::size_t at = commas[pick(commas.size())];
    const std::size_t end = std::min(text_.find_first_of(",])}\n", at + 1), text_.size());
    const std::string element = text_.substr(at, end - at);
    if (pick(2) == 0)
      text_.erase(at, element.size());
    else
      text_.insert(at, element);
  }

  std::string text_;
  std::mt19937 random_;
};

} // namespace

std::string mutated_plan(const std::string& text, std::uint32_t seed) {
  return Mutation(text, seed).run();
}

} // namespace lanner::fuzz
