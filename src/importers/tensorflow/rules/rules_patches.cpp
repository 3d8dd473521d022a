// Windows that slide over an image: patches side by side, and dilation.

#include <algorithm>
#include <limits>

#include <lanner/error.h>

#include "base/check.h"
#include "importers/tensorflow/rules/rules.h"

namespace lanner::tensorflow {
namespace {

constexpr const char* open_window =
    "padding SAME on sizes that are open; give the height and width of the input, or use VALID";
constexpr std::int64_t largest_window = 4096;

/// Windows over [batch, height, width, channels].
struct Windows {
  std::int64_t sizes[2], strides[2], rates[2];
  std::int64_t before[2] = {0, 0}, after[2] = {0, 0};
};

std::int64_t checked(const char* what, std::int64_t number) {
  check(number >= 1 && number <= (1 << 20), ErrorCode::bad_data,
        "attribute {}: {} is not positive or too large", what, number);
  return number;
}

std::int64_t entry(const RuleContext& context, const char* name, std::size_t i) {
  const std::vector<std::int64_t> list = context.integers(name);
  check(list.size() == 4 && list[0] == 1 && list[3] == 1, ErrorCode::bad_data,
        "attribute {}: expected four numbers, 1 for batch and channels", name);
  return checked(name, list[i + 1]);
}

void set_padding(const RuleContext& context, Windows& windows) {
  const std::string padding = context.string("padding", "");
  if (padding == "VALID") return;
  check(padding == "SAME", ErrorCode::bad_data, "attribute padding is '{}'; expected SAME or VALID", padding);
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int64_t stride = windows.strides[i], reach = (windows.sizes[i] - 1) * windows.rates[i] + 1;
    const auto size = known_size(context.required(0), i + 1);
    if (!size && stride != 1) fail(ErrorCode::unsupported, "{}", open_window);
    const std::int64_t whole = size.value_or(0), steps = (whole + stride - 1) / stride;
    const std::int64_t missing =
        size ? std::max<std::int64_t>((steps - 1) * stride + reach - whole, 0) : reach - 1;
    windows.before[i] = missing / 2;
    windows.after[i] = missing - missing / 2;
  }
}

Value* padded(RuleContext& context, Value* x, const Windows& windows, Value* border) {
  if (windows.before[0] + windows.after[0] + windows.before[1] + windows.after[1] == 0) return x;
  return context.emit("pad", {x,
                              context.ints({0, windows.before[0], windows.before[1], 0, 0, windows.after[0],
                                            windows.after[1], 0}),
                              border});
}

/// The elements at one place of all windows: from `place` on in steps of the stride, as many as there are
/// windows.
Value* at(RuleContext& context, Value* x, const Windows& windows, std::int64_t row, std::int64_t column) {
  const std::int64_t place[2] = {row * windows.rates[0], column * windows.rates[1]};
  std::vector<std::int64_t> from, to;
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int64_t behind = (windows.sizes[i] - 1) * windows.rates[i] - place[i];
    from.push_back(place[i]);
    to.push_back(behind == 0 ? std::numeric_limits<std::int64_t>::max() : -behind);
  }
  return context.emit("slice", {x, context.ints(from), context.ints(to), context.ints({1, 2}),
                                context.ints({windows.strides[0], windows.strides[1]})});
}

void extract_patches(RuleContext& context) {
  Windows windows{};
  for (std::size_t i = 0; i < 2; ++i) {
    windows.sizes[i] = entry(context, "ksizes", i);
    windows.strides[i] = entry(context, "strides", i);
    windows.rates[i] = entry(context, "rates", i);
  }
  check(windows.sizes[0] * windows.sizes[1] <= largest_window, ErrorCode::limit_exceeded,
        "patches of {} x {} pixels", windows.sizes[0], windows.sizes[1]);
  set_padding(context, windows);
  Value* x = context.required(0);
  x = padded(context, x, windows, number_like(context, x, 0));
  std::vector<Value*> parts;
  for (std::int64_t row = 0; row < windows.sizes[0]; ++row)
    for (std::int64_t column = 0; column < windows.sizes[1]; ++column)
      parts.push_back(at(context, x, windows, row, column));
  context.set_output(0, parts.size() == 1 ? parts[0]
                                          : context.emit("concat", parts, with("axis", std::int64_t{3})));
}

/// The largest sum of an element and the filter's number at its place; the border counts as less than any.
void dilation(RuleContext& context) {
  Value *x = context.required(0), *filter = context.required(1);
  Windows windows{};
  for (std::size_t i = 0; i < 2; ++i) {
    const auto size = known_size(filter, i);
    check(size.has_value(), ErrorCode::unsupported, "{}", open_filter);
    windows.sizes[i] = checked("filter", *size);
    windows.strides[i] = entry(context, "strides", i);
    windows.rates[i] = entry(context, "rates", i);
  }
  check(windows.sizes[0] * windows.sizes[1] <= largest_window, ErrorCode::limit_exceeded,
        "a filter of {} x {} pixels", windows.sizes[0], windows.sizes[1]);
  set_padding(context, windows);
  x = padded(context, x, windows, number_like(context, x, -std::numeric_limits<double>::infinity()));
  std::vector<Value*> sums;
  for (std::int64_t row = 0; row < windows.sizes[0]; ++row)
    for (std::int64_t column = 0; column < windows.sizes[1]; ++column) {
      Value* one =
          context.emit("slice", {filter, context.ints({row, column}), context.ints({row + 1, column + 1})});
      sums.push_back(
          context.emit("add", {at(context, x, windows, row, column), reshaped(context, one, {-1})}));
    }
  context.set_output(0, sums.size() == 1 ? sums[0] : context.emit("max", sums));
}

} // namespace

void add_patch_rules(Rules& rules) {
  rules["ExtractImagePatches"] = {extract_patches, {open_window}};
  rules["Dilation2D"] = {dilation, {open_window}};
  note_limit(rules, {"Dilation2D"}, open_filter);
}

} // namespace lanner::tensorflow
