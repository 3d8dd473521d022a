// Blocks of pixels moved to channels or batch, and back (space_to_depth, batch_to_space, ...).

#include <cstdint>

#include <lanner/error.h>

#include "base/check.h"
#include "importers/tensorflow/rules/rules.h"

namespace lanner::tensorflow {
namespace {

constexpr std::int64_t largest_block = 1 << 16, largest_size = std::int64_t{1} << 40;

/// The channel order is TensorFlow's in both of our operators: block row, block column, channel.
Rule channel_blocks(const char* op) {
  return [op](RuleContext& context) {
    const DataFormat format = data_format(context);
    Value* y = context.emit(op, {channels_first(context, context.required(0), format)},
                            with("blocksize", context.integer("block_size", 0)));
    context.set_output(0, as_source(context, y, format));
  };
}

struct Blocks {
  std::vector<std::int64_t> sizes, borders; ///< Borders: before and after, dim by dim.
};

/// The old forms have one block size, as an attribute, for height and width.
Blocks known_blocks(const RuleContext& context) {
  const bool squares = context.inputs() == 2;
  Blocks blocks{squares ? std::vector<std::int64_t>(2, context.integer("block_size", 0))
                        : known_integers(context, 1),
                known_integers(context, squares ? 1 : 2)};
  check(!blocks.sizes.empty() && blocks.borders.size() == 2 * blocks.sizes.size() &&
            blocks.sizes.size() < rank_of(context, 0),
        ErrorCode::bad_data, "{} block sizes and {} borders", blocks.sizes.size(), blocks.borders.size());
  for (std::int64_t size : blocks.sizes)
    check(size >= 1 && size <= largest_block, ErrorCode::bad_data, "a block size is {}", size);
  for (std::int64_t border : blocks.borders)
    check(border >= 0 && border < (std::int64_t{1} << 32), ErrorCode::bad_data, "a border is {}", border);
  return blocks;
}

/// A list of sizes, some of them known only at run time.
class Sizes {
public:
  explicit Sizes(RuleContext& context) : context_(context) {}
  void add(std::int64_t size) { parts_.push_back(context_.ints({size})); }
  /// A dim of `value`, divided or multiplied.
  void add(Value* value, std::size_t d, std::int64_t divisor = 1, std::int64_t factor = 1) {
    if (const auto size = known_size(value, d)) {
      check(*size <= largest_size, ErrorCode::bad_data, "a size of {}", *size);
      check(*size % divisor == 0, ErrorCode::bad_data, "a size of {} is not a multiple of its block of {}",
            *size, divisor);
      return add(*size / divisor * factor);
    }
    AttributeMap attributes = with("start", static_cast<std::int64_t>(d));
    attributes.set("end", static_cast<std::int64_t>(d) + 1);
    Value* one = context_.emit("shape", {value}, std::move(attributes));
    if (divisor != 1) one = context_.emit("div", {one, context_.ints({divisor})});
    if (factor != 1) one = context_.emit("mul", {one, context_.ints({factor})});
    parts_.push_back(one);
  }
  void add_from(Value* value, std::size_t first) {
    for (std::size_t d = first; d < value->type.rank(); ++d) add(value, d);
  }
  Value* reshape(Value* value) const {
    return context_.emit("reshape", {value, context_.emit("concat", parts_, with("axis", std::int64_t{0}))});
  }

private:
  RuleContext& context_;
  std::vector<Value*> parts_;
};

void space_to_batch(RuleContext& context) {
  const auto [blocks, borders] = known_blocks(context);
  const std::size_t count = blocks.size(), rank = rank_of(context, 0);
  Value* x = context.required(0);
  std::vector<std::int64_t> pads(2 * rank, 0);
  for (std::size_t d = 0; d < count; ++d) {
    pads[d + 1] = borders[2 * d];
    pads[d + 1 + rank] = borders[2 * d + 1];
  }
  x = context.emit("pad", {x, context.ints(pads)});
  Sizes apart(context), together(context);
  std::vector<std::int64_t> order;
  apart.add(-1);
  together.add(-1);
  for (std::size_t d = 0; d < count; ++d) {
    apart.add(x, d + 1, blocks[d]);
    apart.add(blocks[d]);
    together.add(x, d + 1, blocks[d]);
    order.push_back(static_cast<std::int64_t>(2 * d + 2));
  }
  order.push_back(0);
  for (std::size_t d = 0; d < count; ++d) order.push_back(static_cast<std::int64_t>(2 * d + 1));
  for (std::size_t d = count + 1; d < rank; ++d) order.push_back(static_cast<std::int64_t>(d + count));
  apart.add_from(x, count + 1);
  together.add_from(x, count + 1);
  context.set_output(0, together.reshape(transpose(context, apart.reshape(x), order)));
}

void batch_to_space(RuleContext& context) {
  const auto [blocks, borders] = known_blocks(context);
  const std::size_t count = blocks.size(), rank = rank_of(context, 0);
  Value* x = context.required(0);
  Sizes apart(context), together(context);
  std::vector<std::int64_t> order{static_cast<std::int64_t>(count)}, axes, from, to;
  for (std::int64_t block : blocks) apart.add(block);
  apart.add(-1);
  apart.add_from(x, 1);
  together.add(-1);
  for (std::size_t d = 0; d < count; ++d) {
    for (const std::size_t place : {count + 1 + d, d}) order.push_back(static_cast<std::int64_t>(place));
    together.add(x, d + 1, 1, blocks[d]);
    axes.push_back(static_cast<std::int64_t>(d) + 1);
    from.push_back(borders[2 * d]);
    to.push_back(borders[2 * d + 1] == 0 ? INT64_MAX : -borders[2 * d + 1]);
  }
  for (std::size_t d = count + 1; d < rank; ++d) order.push_back(static_cast<std::int64_t>(d + count));
  together.add_from(x, count + 1);
  Value* whole = together.reshape(transpose(context, apart.reshape(x), order));
  context.set_output(
      0, context.emit("slice", {whole, context.ints(from), context.ints(to), context.ints(axes)}));
}

} // namespace

void add_block_rules(Rules& rules) {
  rules["SpaceToDepth"] = channel_blocks("space_to_depth");
  rules["DepthToSpace"] = channel_blocks("depth_to_space");
  rules["SpaceToBatch"] = rules["SpaceToBatchND"] = space_to_batch;
  rules["BatchToSpace"] = rules["BatchToSpaceND"] = batch_to_space;
  note_limit(rules, {"SpaceToBatch", "SpaceToBatchND", "BatchToSpace", "BatchToSpaceND"}, open_setting);
}

} // namespace lanner::tensorflow
