// Slices, padding and mirrored borders.

#include <algorithm>
#include <limits>
#include <optional>

#include <lanner/error.h>

#include "base/check.h"
#include "importers/tensorflow/rules/rules.h"

namespace lanner::tensorflow {
namespace {

constexpr std::int64_t far_end = std::numeric_limits<std::int64_t>::max(),
                       far_start = std::numeric_limits<std::int64_t>::min();

/// A list whose entries are numbers or known only at run time.
class MixedList {
public:
  void add(std::int64_t number) { entries_.push_back({number, nullptr}); }
  void add(Value* list_of_one) { entries_.push_back({0, list_of_one}); }

  Value* make(RuleContext& context) const {
    std::vector<std::int64_t> numbers;
    std::vector<Value*> parts;
    for (const auto& [number, value] : entries_) {
      numbers.push_back(number);
      parts.push_back(value);
    }
    if (std::ranges::count(parts, nullptr) == static_cast<std::ptrdiff_t>(parts.size()))
      return context.ints(std::move(numbers));
    for (std::size_t i = 0; i < parts.size(); ++i)
      if (!parts[i]) parts[i] = context.ints({numbers[i]});
    return parts.size() == 1 ? parts[0]
                             : context.emit("concat", std::move(parts), with("axis", std::int64_t{0}));
  }

private:
  std::vector<std::pair<std::int64_t, Value*>> entries_;
};

/// Begins or ends as given: numbers where they are constants.
class Bounds {
public:
  Bounds(RuleContext& context, std::size_t input) : context_(context), input_(input) {
    if (context.constant(input)) known_ = known_integers(context, input);
  }
  std::optional<std::int64_t> number(std::size_t i) const {
    if (!known_) return std::nullopt;
    check(i < known_->size(), ErrorCode::bad_data, "input {}: has {} entries, expected more", input_,
          known_->size());
    return (*known_)[i];
  }
  Value* value(std::size_t i) const {
    const auto at = static_cast<std::int64_t>(i);
    return context_.emit("slice", {integers(context_, input_), context_.ints({at}), context_.ints({at + 1})});
  }
  void add_to(MixedList& list, std::size_t i) const {
    if (const auto one = number(i))
      list.add(*one);
    else
      list.add(value(i));
  }

private:
  RuleContext& context_;
  std::size_t input_;
  std::optional<std::vector<std::int64_t>> known_;
};

/// The end of a slice of one element; after -1, the last element, that is the end of the axis and not 0.
void add_next(RuleContext& context, const Bounds& begins, std::size_t i, MixedList& ends) {
  if (const auto begin = begins.number(i))
    return ends.add(*begin == -1 || *begin == far_end ? far_end : *begin + 1);
  Value* begin = begins.value(i);
  Value* last = context.emit("equal", {begin, context.ints({-1})});
  Value* next = context.emit("add", {begin, context.ints({1})});
  ends.add(context.emit("where", {last, context.ints({far_end}), next}));
}

/// Evaluates the masks entry by entry.
class StridedSlice {
public:
  explicit StridedSlice(RuleContext& context)
      : context_(context), begins_(context, 1), ends_(context, 2), strides_(known_integers(context, 3)) {}

  void run() {
    check(strides_.size() <= 32, ErrorCode::bad_data, "{} entries for one slice", strides_.size());
    for (std::size_t i = 0; i < strides_.size(); ++i) read(i);
    Value* x = context_.required(0);
    if (!axes_.empty())
      x = context_.emit("slice", {x, from_.make(context_), to_.make(context_), context_.ints(axes_),
                                  context_.ints(steps_)});
    if (!dropped_.empty()) x = context_.emit("squeeze", {x, context_.ints(dropped_)});
    if (!fresh_.empty()) x = context_.emit("unsqueeze", {x, context_.ints(fresh_)});
    context_.set_output(0, x);
  }

private:
  bool masked(const char* name, std::size_t i) const { return (context_.integer(name, 0) >> i & 1) != 0; }

  void read(std::size_t i) {
    if (masked("ellipsis_mask", i)) return skip();
    if (masked("new_axis_mask", i)) return fresh_.push_back(place_++);
    const std::int64_t step = strides_[i];
    check(step != 0, ErrorCode::bad_data, "a stride is 0");
    const bool one = masked("shrink_axis_mask", i);
    axes_.push_back(dim_);
    steps_.push_back(one ? 1 : step);
    if (!one && masked("begin_mask", i))
      from_.add(step > 0 ? 0 : far_end);
    else
      begins_.add_to(from_, i);
    if (one)
      add_next(context_, begins_, i, to_);
    else if (masked("end_mask", i))
      to_.add(step > 0 ? far_end : far_start);
    else
      ends_.add_to(to_, i);
    if (one) dropped_.push_back(dim_);
    place_ += !one;
    ++dim_;
  }

  /// An ellipsis stands for all dims that have no entry of their own.
  void skip() {
    std::int64_t taken = 0;
    for (std::size_t i = 0; i < strides_.size(); ++i)
      taken += !masked("ellipsis_mask", i) && !masked("new_axis_mask", i);
    const std::int64_t rest = static_cast<std::int64_t>(rank_of(context_, 0)) - taken;
    check(rest >= 0, ErrorCode::bad_data, "more entries than dims");
    dim_ += rest;
    place_ += rest;
  }

  RuleContext& context_;
  Bounds begins_, ends_;
  std::vector<std::int64_t> strides_;
  MixedList from_, to_;
  std::vector<std::int64_t> axes_, steps_, dropped_, fresh_;
  std::int64_t dim_ = 0, place_ = 0; ///< Current dim of the input and of the result.
};

void strided_slice(RuleContext& context) {
  StridedSlice(context).run();
}

/// A size of -1 means the rest of the dim.
void slice(RuleContext& context) {
  Value* begins = integer_list(context, 1);
  Value* ends = nullptr;
  if (context.constant(1) && context.constant(2)) {
    const std::vector<std::int64_t> from = known_integers(context, 1), sizes = known_integers(context, 2);
    check(from.size() == sizes.size(), ErrorCode::bad_data, "{} begins, but {} sizes", from.size(),
          sizes.size());
    std::vector<std::int64_t> to;
    for (std::size_t i = 0; i < from.size(); ++i) {
      check(from[i] >= 0 && sizes[i] >= -1 && sizes[i] < far_end - from[i], ErrorCode::bad_data,
            "begin {} and size {} of a slice", from[i], sizes[i]);
      const Type& type = context.required(0)->type;
      const auto whole =
          type.ranked() && i < type.rank() ? type.dims()[i].constant() : std::optional<std::int64_t>();
      check(!whole || from[i] + std::max<std::int64_t>(sizes[i], 0) <= *whole, ErrorCode::bad_data,
            "dim {}: {} elements from {} on exceed its size {}", i, sizes[i], from[i], whole.value_or(0));
      to.push_back(sizes[i] == -1 ? far_end : from[i] + sizes[i]);
    }
    ends = context.ints(std::move(to));
  } else {
    Value* sizes = integer_list(context, 2);
    Value* rest = context.emit("equal", {sizes, context.ints({-1})});
    ends = context.emit("where", {rest, context.ints({far_end}), context.emit("add", {begins, sizes})});
  }
  context.set_output(0, context.emit("slice", {context.required(0), begins, ends}));
}

/// Rows of (before, after) become all befores, then all afters.
Value* transposed_pads(RuleContext& context) {
  if (!context.constant(1)) {
    Value* turned = transpose(context, integers(context, 1), {1, 0});
    return context.emit("reshape", {turned, context.ints({-1})});
  }
  const std::vector<std::int64_t> rows = known_integers(context, 1);
  check(rows.size() % 2 == 0, ErrorCode::bad_data, "input 1: expected pairs of paddings");
  std::vector<std::int64_t> pads(rows.size());
  for (std::size_t d = 0; d < rows.size() / 2; ++d) {
    pads[d] = rows[2 * d];
    pads[d + rows.size() / 2] = rows[2 * d + 1];
  }
  return context.ints(std::move(pads));
}

void pad(RuleContext& context) {
  std::vector<Value*> inputs{context.required(0), transposed_pads(context)};
  if (context.inputs() > 2) inputs.push_back(context.required(2));
  context.set_output(0, context.emit("pad", inputs, with("mode", std::string("constant"))));
}

Value* mirrored(RuleContext& context, Value* x, std::int64_t axis, std::int64_t from, std::int64_t to) {
  return context.emit(
      "slice", {x, context.ints({from}), context.ints({to}), context.ints({axis}), context.ints({-1})});
}

/// SYMMETRIC: the border's own elements are mirrored too.
Value* symmetric(RuleContext& context) {
  Value* x = context.required(0);
  const std::vector<std::int64_t> rows = known_integers(context, 1);
  for (std::size_t d = 0; d < rows.size() / 2; ++d) {
    const auto axis = static_cast<std::int64_t>(d);
    const std::int64_t before = rows[2 * d], after = rows[2 * d + 1];
    check(before >= 0 && after >= 0 && before < far_end - 1 && after < far_end - 1, ErrorCode::bad_data,
          "paddings {} and {}", before, after);
    std::vector<Value*> parts{x};
    if (before > 0) parts.insert(parts.begin(), mirrored(context, x, axis, before - 1, far_start));
    if (after > 0) parts.push_back(mirrored(context, x, axis, -1, -after - 1));
    if (parts.size() > 1) x = context.emit("concat", parts, with("axis", axis));
  }
  return x;
}

void mirror_pad(RuleContext& context) {
  if (context.string("mode", "") == "SYMMETRIC") return context.set_output(0, symmetric(context));
  context.set_output(0, context.emit("pad", {context.required(0), transposed_pads(context)},
                                     with("mode", std::string("reflect"))));
}

} // namespace

void add_slice_rules(Rules& rules) {
  rules["StridedSlice"] = strided_slice;
  rules["Slice"] = slice;
  rules["Pad"] = rules["PadV2"] = pad;
  rules["MirrorPad"] = mirror_pad;
  note_limit(rules, {"StridedSlice", "MirrorPad"}, open_setting);
}

} // namespace lanner::tensorflow
