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
#include "ops/table.h"

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

  std::string run() {
    const std::size_t changes = 1 + pick(3);
    for (std::size_t i = 0; i < changes && !text_.empty(); ++i) change();
    return text_;
  }

private:
  std::size_t pick(std::size_t count) { return random_() % count; }

  void change() {
    switch (pick(12)) {
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

  /// How a value lies in memory: another way, one more thing said, or nothing.
  void change_storage() {
    static constexpr std::array<std::string_view, 26> storages{"row",
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
                                                               "aB65535b"};
    std::vector<std::size_t> types; // behind which a storage may stand
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

  /// Of numbers alone: sizes, offsets, indexes, counts.
  void change_number() {
    std::vector<Span> numbers;
    for (const Span& word : words_of(text_))
      if (is_number(std::string_view(text_).substr(word.begin, word.size))) numbers.push_back(word);
    if (numbers.empty()) return;
    const Span at = numbers[pick(numbers.size())];
    text_.replace(at.begin, at.size, other_number(text_.substr(at.begin, at.size)));
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
    if (kind != 0) text_.insert(to, line); // once more elsewhere
    if (kind != 1)
      text_.erase(from.begin + (kind == 2 && to <= from.begin ? line.size() : 0), line.size()); // or gone
  }

  /// An element of a list once more, or less.
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
