// Changes to a plan's text that keep most of it meaningful: tokens for tokens of its own or of the language,
// numbers for their neighbours and extremes, lines moved. Bytes alone seldom get past the parser.

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "graph/op.h"
#include "ops/table.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

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
    switch (pick(8)) {
    case 0:
      return change_line();
    case 1:
      text_[pick(text_.size())] = static_cast<char>(random_());
      return;
    case 2:
      return change_list();
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
} // namespace lanner::fuzz

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most,
                                               unsigned int seed) {
  if (size == 0 || seed % 8 == 0) return LLVMFuzzerMutate(data, size, most);
  const std::string changed =
      lanner::fuzz::Mutation(std::string(reinterpret_cast<const char*>(data), size), seed).run();
  if (changed.empty() || changed.size() > most) return LLVMFuzzerMutate(data, size, most);
  std::copy(changed.begin(), changed.end(), data);
  return changed.size();
}
