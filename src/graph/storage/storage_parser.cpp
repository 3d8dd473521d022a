#include "graph/storage/storage_parser.h"

#include <utility>

#include <fmt/format.h>

#include <lanner/error.h>

#include "base/check.h"
#include "graph/storage/quantization.h"

namespace lanner {
namespace {

class StorageParser {
public:
  explicit StorageParser(Lexer& lexer) : lexer_(lexer) {}

  SpelledStorage run() {
    while (lexer_.peek().kind == TokenKind::name) part(lexer_.next());
    if (quantized_) made_.storage.quantization = std::make_shared<const Quantization>(std::move(numbers_));
    return std::move(made_);
  }

private:
  template<typename Parse>
  auto located(const Token& token, const Parse& parse) const -> decltype(parse()) {
    try {
      return parse();
    } catch (const Error& error) {
      lexer_.fail_at(token.offset, error.message());
    }
  }

  void part(const Token& token) {
    Storage& storage = made_.storage;
    if (token.text == "cpu" || token.text == "cuda") {
      const std::string index = lexer_.take(":") ? fmt::format(":{}", lexer_.integer("a device number")) : "";
      storage.device = located(token, [&] { return Device::parse(token.text + index); });
    } else if (token.text == "in" && lexer_.take("=")) {
      made_.parent = reference();
      if (lexer_.take("+")) storage.offset = lexer_.integer("an offset");
    } else if (token.text == "within" && lexer_.take("=")) {
      storage.within.axis = static_cast<int>(bounded("an axis", INT8_MAX));
      lexer_.expect(":");
      storage.within.size = bounded("a size", INT64_MAX);
    } else if (is_quantization(token) && lexer_.take("=")) {
      quantization(token);
    } else if (const auto dtype = dtype_named(token.text)) {
      storage.dtype = dtype;
    } else {
      storage.layout = located(token, [&] { return Layout::parse(token.text); });
    }
  }

  static bool is_quantization(const Token& token) {
    return token.text == "scale" || token.text == "zero" || token.text == "axis" || token.text == "block";
  }

  void quantization(const Token& token) {
    quantized_ = true;
    if (token.text == "scale") {
      numbers(made_.scale, numbers_.scale, [&] { return lexer_.real("a scale"); });
    } else if (token.text == "zero") {
      numbers(made_.zero, numbers_.zero, [&] { return zero_point(); });
    } else if (token.text == "axis") {
      numbers_.axis = static_cast<int>(bounded("an axis", INT8_MAX));
    } else {
      numbers_.block = bounded("a block", INT64_MAX);
    }
  }

  template<typename Read>
  void numbers(ValueReference& value, QuantizationNumbers& given, const Read& read) {
    value = {};
    given = {};
    if (lexer_.peek().kind == TokenKind::value) {
      value = reference();
    } else if (lexer_.take("[")) {
      do {
        given.numbers.push_back(read());
      } while (lexer_.take(","));
      lexer_.expect("]");
    } else {
      given.numbers.push_back(read());
    }
  }

  double zero_point() {
    const std::size_t offset = lexer_.peek().offset;
    const std::int64_t zero = lexer_.integer("a zero point");
    if (!std::in_range<std::int32_t>(zero) && !std::in_range<std::uint32_t>(zero))
      lexer_.fail_at(offset, fmt::format("zero point {} does not fit 32 bits", zero));
    return static_cast<double>(zero);
  }

  std::int64_t bounded(std::string_view what, std::int64_t most) {
    const std::size_t offset = lexer_.peek().offset;
    const std::int64_t number = lexer_.integer(what);
    if (number < 0 || number > most)
      lexer_.fail_at(offset, fmt::format("{}, expected {} from 0", number, what));
    return number;
  }

  ValueReference reference() {
    const Token token = lexer_.expect(TokenKind::value, "a value");
    if (token.text.empty()) lexer_.fail_at(token.offset, "the name of a value is empty");
    return {token.text, token.offset};
  }

  Lexer& lexer_;
  SpelledStorage made_;
  Quantization numbers_;
  bool quantized_ = false;
};

} // namespace

Storage SpelledStorage::resolved(const std::function<Value*(const ValueReference&)>& find) const {
  Storage found = storage;
  if (!parent.name.empty()) found.parent = find(parent);
  if (scale.name.empty() && zero.name.empty()) return found;
  Quantization q = *storage.quantization;
  if (!scale.name.empty()) q.scale.value = find(scale);
  if (!zero.name.empty()) q.zero.value = find(zero);
  found.quantization = std::make_shared<const Quantization>(std::move(q));
  return found;
}

SpelledStorage parse_storage(Lexer& lexer) {
  return StorageParser(lexer).run();
}

} // namespace lanner
