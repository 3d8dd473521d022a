// Parses graphs.

#include <utility>

#include "base/check.h"
#include "base/limits/account.h"
#include "base/text/nearest.h"
#include "graph/infer.h"
#include "graph/op.h"
#include "graph/storage/storage_parser.h"
#include "graph/text/attribute_text.h"
#include "graph/text/former_names.h"
#include "graph/text/text.h"
#include "graph/verifier.h"

namespace lanner {

namespace {

/// A parsed definition of a value, before there is a Value.
struct Definition {
  std::string name;
  std::size_t offset = 0;
  Type type;
  SpelledStorage storage;
};

class Parser {
public:
  Parser(std::string_view text, const OpTable& ops, const ConstantFinder& find, const Limits& limits)
      : lexer_(text, limits), ops_(ops), tensors_{find, limits.total_bytes} {}

  std::unique_ptr<Graph> run() {
    if (!lexer_.take_name("graph")) lexer_.fail_expected("`graph`");
    lexer_.expect("@");
    graph_ = std::make_unique<Graph>(ops_, name_or_string("the name of the graph"));
    body();
    lexer_.expect_end();
    return std::move(graph_);
  }
  bool types_missing() const { return types_missing_; }

private:
  struct Output {
    ValueReference value;
    std::string name;
  };

  template<typename Body>
  auto located(std::size_t offset, const Body& body) {
    try {
      return body();
    } catch (const Error& error) {
      // The error code of a failing store is more specific.
      const bool of_limits = error.code() == ErrorCode::limit_exceeded;
      const bool of_text =
          of_limits || error.code() == ErrorCode::invalid_argument || error.code() == ErrorCode::unsupported;
      if (!of_text || lexer_.failed()) throw;
      lexer_.fail_at(offset, error.message(), of_limits ? error.code() : ErrorCode::bad_data);
    }
  }

  void body() {
    for (const Definition& parameter : definitions_in_parentheses()) {
      define(parameter, graph_->add_input(parameter.name, parameter.type));
    }
    const std::vector<Output> outputs = output_list();
    lexer_.expect("{");
    while (lexer_.at_name("symbol")) symbol();
    while (lexer_.at_name("meta")) meta();
    nodes(graph_->body(), 0);
    for (const Output& output : outputs) {
      const std::size_t offset = output.value.offset;
      located(offset, [&] { graph_->add_output(output.name, resolve(output.value, graph_->body())); });
    }
  }

  std::string name_or_string(std::string_view what) {
    if (lexer_.peek().kind != TokenKind::name && lexer_.peek().kind != TokenKind::string)
      lexer_.fail_expected(what);
    return lexer_.next().text;
  }

  std::vector<Output> output_list() {
    std::vector<Output> outputs;
    lexer_.expect("->");
    lexer_.expect("(");
    while (!lexer_.at(")")) {
      if (!outputs.empty()) lexer_.expect(",");
      Output output{reference(), {}};
      if (lexer_.take(":")) parse_type(lexer_);
      output.name = lexer_.take_name("as") ? lexer_.expect(TokenKind::string, "an output name").text
                                           : output.value.name;
      outputs.push_back(std::move(output));
    }
    lexer_.expect(")");
    return outputs;
  }

  void symbol() {
    lexer_.next();
    const Token name = lexer_.expect(TokenKind::name, "a symbol name");
    SymbolInfo info;
    if (!lexer_.take_name("in")) lexer_.fail_expected("`in [min, max]`");
    lexer_.expect("[");
    info.min = lexer_.integer("a bound");
    lexer_.expect(",");
    if (!lexer_.take("*")) info.max = lexer_.integer("a bound");
    lexer_.expect("]");
    if (lexer_.take("=")) info.opt = lexer_.integer("a size");
    if (info.min < 0 || info.min > info.max || info.opt < -1 || info.opt > info.max ||
        (info.opt >= 0 && info.opt < info.min))
      lexer_.fail_at(name.offset, fmt::format("symbol {}: expected 0 <= min <= opt <= max", name.text));
    if (!graph_->symbols.emplace(name.text, info).second)
      lexer_.fail_at(name.offset, fmt::format("symbol {} is declared twice", name.text));
  }

  void meta() {
    lexer_.next();
    std::string key = lexer_.expect(TokenKind::string, "a key").text;
    lexer_.expect("=");
    graph_->metadata[std::move(key)] = lexer_.expect(TokenKind::string, "a text").text;
  }

  ValueReference reference() {
    const Token token = lexer_.expect(TokenKind::value, "a value");
    return {token.text, token.offset};
  }

  Value* resolve(const ValueReference& reference, const Region& region) {
    Value* value = graph_->find(reference.name);
    if (!value)
      lexer_.fail_at(reference.offset, fmt::format("%{} is not defined before it is used", reference.name));
    if (value->region() != &region)
      lexer_.fail_at(reference.offset,
                     fmt::format("%{} belongs to another region; capture it after `;`", reference.name));
    return value;
  }

  Definition definition() {
    const ValueReference name = reference();
    Definition made{name.name, name.offset, {}, {}};
    if (name.name.empty()) lexer_.fail_at(name.offset, "the name of a value is empty");
    if (!defined_.insert(name.name).second)
      lexer_.fail_at(name.offset, fmt::format("%{} is defined twice", name.name));
    if (lexer_.take(":")) {
      made.type = parse_type(lexer_);
    } else {
      types_missing_ = true;
    }
    if (lexer_.take("@")) made.storage = parse_storage(lexer_);
    return made;
  }

  std::vector<Definition> definitions() {
    std::vector<Definition> list;
    do {
      list.push_back(definition());
    } while (lexer_.take(","));
    return list;
  }

  std::vector<Definition> definitions_in_parentheses() {
    lexer_.expect("(");
    std::vector<Definition> list;
    if (!lexer_.at(")")) list = definitions();
    lexer_.expect(")");
    return list;
  }

  // A parameter of a capture that has not got its own name yet may hold this one.
  void define(const Definition& definition, Value* value) {
    Value* holder = graph_->find(definition.name);
    if (holder && holder != value) graph_->rename(holder, {});
    value->type = definition.type;
    value->storage = definition.storage.storage;
    graph_->rename(value, definition.name);
    if (definition.storage.names_values()) spelled_.emplace_back(value, definition.storage);
  }

  /// `first`: index in `spelled_` of the first storage of this region.
  void nodes(Region& region, std::size_t first) {
    while (!lexer_.take("}")) node(region);
    // Values that storages refer to may be defined after them.
    for (std::size_t i = first; i < spelled_.size(); ++i)
      spelled_[i].first->storage = spelled_[i].second.resolved(
          [&](const ValueReference& reference) { return resolve(reference, region); });
    spelled_.resize(first);
  }

  void node(Region& region) {
    check_deadline();
    if (++nodes_ > lexer_.limits().nodes)
      lexer_.fail_limit(lexer_.peek().offset, "nodes", lexer_.limits().nodes, "more nodes");
    std::vector<Definition> outputs;
    if (!lexer_.take_name("_")) outputs = definitions();
    lexer_.expect("=");
    const Token kind = lexer_.expect(TokenKind::name, "an operator");
    const OpDef* op = ops_.find(current_name(kind.text));
    if (!op)
      lexer_.fail_at(kind.offset, fmt::format("operator {} is not known{}", kind.text,
                                              did_you_mean(kind.text, ops_.names())));
    std::vector<Value*> captures;
    Node* node = region.create(*op, inputs(region, captures));
    if (lexer_.take("{")) attributes(*node);
    if (lexer_.at("(")) {
      regions(*node, captures);
    } else {
      for (Value* capture : captures) node->add_capture(capture);
    }
    for (const Definition& output : outputs) define(output, node->add_output(output.name, output.type));
    if (lexer_.take_name("source")) node->sources = strings_in_parentheses();
    if (lexer_.take_name("tactic")) tactic(node->tactic);
    if (lexer_.take_name("stream")) stream(*node);
  }

  std::vector<Value*> inputs(const Region& region, std::vector<Value*>& captures) {
    std::vector<Value*> own;
    lexer_.expect("(");
    while (!lexer_.at(")") && !lexer_.at(";")) {
      if (!own.empty()) lexer_.expect(",");
      own.push_back(lexer_.take_name("_") ? nullptr : resolve(reference(), region));
    }
    if (lexer_.take(";")) {
      do {
        captures.push_back(resolve(reference(), region));
      } while (lexer_.take(","));
    }
    lexer_.expect(")");
    return own;
  }

  void attributes(Node& node) {
    while (!lexer_.at("}")) {
      if (node.attributes.size() > 0) lexer_.expect(",");
      const Token name = lexer_.expect(TokenKind::name, "an attribute name");
      if (node.attributes.has(name.text))
        lexer_.fail_at(name.offset, fmt::format("attribute {} is given twice", name.text));
      lexer_.expect("=");
      node.attributes.set(name.text, located(name.offset, [&] { return parse_attribute(lexer_, tensors_); }));
    }
    lexer_.expect("}");
  }

  void regions(Node& node, const std::vector<Value*>& captures) {
    const Lexer::Depth depth(lexer_);
    lexer_.expect("(");
    do {
      const std::size_t offset = lexer_.peek().offset;
      const std::vector<Definition> parameters = definitions_in_parentheses();
      if (parameters.size() < captures.size())
        lexer_.fail_at(offset, fmt::format("a region has {} parameters for {} captures", parameters.size(),
                                           captures.size()));
      Region& region = node.add_region();
      const std::size_t own = parameters.size() - captures.size(), first = spelled_.size();
      for (std::size_t i = 0; i < own; ++i) region.add_parameter(parameters[i].name, parameters[i].type);
      if (node.regions().size() == 1) {
        for (Value* capture : captures) node.add_capture(capture);
      }
      for (std::size_t i = 0; i < parameters.size(); ++i) define(parameters[i], region.parameter(i));
      region_body(region, first);
    } while (lexer_.take(","));
    lexer_.expect(")");
  }

  void region_body(Region& region, std::size_t first) {
    lexer_.expect("->");
    lexer_.expect("(");
    std::vector<ValueReference> outputs;
    while (!lexer_.at(")")) {
      if (!outputs.empty()) lexer_.expect(",");
      outputs.push_back(reference());
    }
    lexer_.expect(")");
    lexer_.expect("{");
    nodes(region, first);
    for (const ValueReference& output : outputs) region.add_output(resolve(output, region));
  }

  std::vector<std::string> strings_in_parentheses() {
    std::vector<std::string> list;
    lexer_.expect("(");
    do {
      list.push_back(lexer_.expect(TokenKind::string, "a name").text);
    } while (lexer_.take(","));
    lexer_.expect(")");
    return list;
  }

  void stream(Node& node) {
    lexer_.expect("(");
    const std::size_t at = lexer_.peek().offset;
    const std::int64_t number = lexer_.integer("a stream");
    if (number < 0 || number >= max_streams)
      lexer_.fail_at(at, fmt::format("stream {}, expected 0 to {}", number, max_streams - 1));
    node.set_stream(static_cast<int>(number));
    lexer_.expect(")");
  }

  void tactic(TacticChoice& choice) {
    lexer_.expect("(");
    choice.backend = lexer_.expect(TokenKind::string, "a backend").text;
    lexer_.expect(",");
    choice.kernel = lexer_.expect(TokenKind::string, "a kernel").text;
    lexer_.expect(",");
    if (!lexer_.take_name("_")) {
      for (char byte : lexer_.hex()) choice.config.push_back(static_cast<std::byte>(byte));
    }
    lexer_.expect(",");
    choice.seconds = lexer_.real("a time");
    lexer_.expect(")");
  }

  Lexer lexer_;
  const OpTable& ops_;
  TensorSource tensors_;
  std::unique_ptr<Graph> graph_;
  std::set<std::string> defined_;
  std::vector<std::pair<Value*, SpelledStorage>> spelled_; ///< Storages that refer to values.
  std::uint32_t nodes_ = 0;
  bool types_missing_ = false;
};

} // namespace

std::unique_ptr<Graph> parse_graph(std::string_view text, const OpTable& ops,
                                   const ConstantFinder& find_constant, const Limits& limits) {
  Parser parser(text, ops, find_constant, limits);
  std::unique_ptr<Graph> graph = parser.run();
  try {
    verify(*graph);
    if (parser.types_missing()) {
      infer_types(*graph);
      verify(*graph); // also checks references of storages
    }
  } catch (const Error& error) {
    if (error.code() == ErrorCode::limit_exceeded) throw;
    // A violated graph rule is the text's fault here, not Lanner's.
    fail(ErrorCode::bad_data, "graph {}: {}", graph->name, error.message());
  }
  return graph;
}

} // namespace lanner
