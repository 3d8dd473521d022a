// Thompson's construction and simulation (Ken Thompson, "Regular expression search algorithm", CACM 1968).

#include "ops/strings/regex.h"

#include <algorithm>

#include "base/check.h"
#include "base/text/utf8.h"
#include "ops/strings/regex_syntax.h"

namespace lanner::ops {

bool CodeSet::holds(std::uint32_t code) const noexcept {
  const bool inside =
      std::ranges::any_of(ranges, [&](const auto& r) { return code >= r.first && code <= r.second; });
  return inside != inverted;
}

std::vector<std::uint32_t> decode_utf8(std::string_view text) {
  std::vector<std::uint32_t> codes;
  while (!text.empty()) {
    const Utf8Character next = first_character(text);
    codes.push_back(next.valid ? next.code : 0xfffd);
    text.remove_prefix(next.bytes);
  }
  return codes;
}

/// Builds states from the syntax tree, back to front: each part gets its successor state.
class RegexCompiler {
public:
  explicit RegexCompiler(Regex& regex) : regex_(regex) {}

  void compile(const RegexNode& root) {
    const std::uint32_t match = add({Regex::Step::match});
    regex_.start_ = build(root, match);
  }

private:
  using Step = Regex::Step;
  static constexpr std::size_t max_states = 1u << 16;

  std::uint32_t add(Regex::State state) {
    check(regex_.states_.size() < max_states, ErrorCode::limit_exceeded,
          "regular expression: more than {} states; repeat less", max_states);
    regex_.states_.push_back(state);
    return static_cast<std::uint32_t>(regex_.states_.size() - 1);
  }

  std::uint32_t build(const RegexNode& node, std::uint32_t next) {
    switch (node.kind) {
    case RegexNode::Kind::set:
      regex_.sets_.push_back(node.set);
      return add({Step::set, static_cast<std::uint32_t>(regex_.sets_.size() - 1), next});
    case RegexNode::Kind::sequence:
      for (auto part = node.parts.rbegin(); part != node.parts.rend(); ++part) next = build(*part, next);
      return next;
    case RegexNode::Kind::choice: {
      std::uint32_t entry = build(node.parts.back(), next);
      for (auto part = node.parts.rbegin() + 1; part != node.parts.rend(); ++part)
        entry = add({Step::split, 0, build(*part, next), entry});
      return entry;
    }
    case RegexNode::Kind::repeat:
      return build_repeat(node, next);
    default:
      return add({node.place, 0, next});
    }
  }

  std::uint32_t build_repeat(const RegexNode& node, std::uint32_t next) {
    const RegexNode& body = node.parts.front();
    if (node.most == RegexNode::unbounded) {
      const std::uint32_t again = add({Step::split, 0, 0, next});
      regex_.states_[again].next = build(body, again);
      next = again;
    } else {
      const std::uint32_t after = next;
      for (int i = node.least; i < node.most; ++i) next = add({Step::split, 0, build(body, next), after});
    }
    for (int i = 0; i < node.least; ++i) next = build(body, next);
    return next;
  }

  Regex& regex_;
};

Regex::Regex(std::string_view pattern) {
  RegexCompiler(*this).compile(parse_regex(pattern));
}

namespace {

bool is_word(std::uint32_t code) {
  return (code >= '0' && code <= '9') || (code >= 'A' && code <= 'Z') || (code >= 'a' && code <= 'z') ||
         code == '_';
}

/// The states reachable by the text so far.
class Simulation {
public:
  Simulation(const std::vector<Regex::State>& states, const std::vector<std::uint32_t>& text)
      : states_(states), text_(text), seen_(states.size()) {}

  /// Adds the state and all that follow from it without consuming input; an explicit stack, because the
  /// thread's is limited.
  void enter(std::uint32_t state, std::size_t at) {
    pending_.push_back(state);
    while (!pending_.empty()) {
      const std::uint32_t current = pending_.back();
      pending_.pop_back();
      if (seen_[current]) continue;
      seen_[current] = true;
      const Regex::State& s = states_[current];
      if (s.step == Regex::Step::set || s.step == Regex::Step::match)
        active.push_back(current);
      else if (s.step == Regex::Step::split)
        pending_.insert(pending_.end(), {s.next, s.other});
      else if (holds(s.step, at))
        pending_.push_back(s.next);
    }
  }

  void clear() {
    active.clear();
    seen_.assign(seen_.size(), false);
  }

  std::vector<std::uint32_t> active;

private:
  bool holds(Regex::Step step, std::size_t at) const {
    const bool before = at > 0 && is_word(text_[at - 1]), after = at < text_.size() && is_word(text_[at]);
    switch (step) {
    case Regex::Step::begin:
      return at == 0;
    case Regex::Step::end:
      return at == text_.size();
    case Regex::Step::begin_line:
      return at == 0 || text_[at - 1] == '\n';
    case Regex::Step::end_line:
      return at == text_.size() || text_[at] == '\n';
    case Regex::Step::word_edge:
      return before != after;
    default:
      return before == after;
    }
  }

  const std::vector<Regex::State>& states_;
  const std::vector<std::uint32_t>& text_;
  std::vector<bool> seen_;
  std::vector<std::uint32_t> pending_;
};

} // namespace

bool Regex::full_match(std::string_view text) const {
  const std::vector<std::uint32_t> codes = decode_utf8(text);
  Simulation now(states_, codes), then(states_, codes);
  now.enter(start_, 0);
  for (std::size_t at = 0; at < codes.size() && !now.active.empty(); ++at) {
    then.clear();
    for (const std::uint32_t state : now.active) {
      const State& s = states_[state];
      if (s.step == Step::set && sets_[s.set].holds(codes[at])) then.enter(s.next, at + 1);
    }
    std::swap(now.active, then.active);
  }
  return std::ranges::any_of(now.active,
                             [&](std::uint32_t state) { return states_[state].step == Step::match; });
}

} // namespace lanner::ops
