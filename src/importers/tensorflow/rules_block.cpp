// Blocks of pixels moved to channels or batch, and back (space_to_depth, batch_to_space, ...).

#include <lanner/error.h>

#include "base/check.h"
#include "importers/tensorflow/rules.h"

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

Blocks known_blocks(const RuleContext& context) {
  Blocks blocks{known_integers(context, 1), known_integers(context, 2)};
  check(!blocks.sizes.empty() && blocks.borders.size() == 2 * blocks.sizes.size() &&
            blocks.sizes.size() < rank_of(context, 0),
        ErrorCode::bad_data, "{} block sizes and {} borders", blocks.sizes.size(), blocks.borders.size());
  for (std::int64_t size : blocks.sizes)
    check(size >= 1 && size <= largest_block, ErrorCode::bad_data, "a block size is {}", size);
  for (std::int64_t border : blocks.borders)
    check(border >= 0 && border < (std::int64_t{1} << 32), ErrorCode::bad_data, "a border is {}", border);
  return blocks;
}

std::int64_t known_size(const Value* value, std::size_t d) {
  const auto size = value->type.dims()[d].constant();
  check(size && *size <= largest_size, ErrorCode::unsupported,
        "dim {} of input 0 must be known before running and not too large", d);
  return *size;
}

std::vector<std::int64_t> sizes_from(const Value* value, std::size_t first) {
  std::vector<std::int64_t> sizes;
  for (std::size_t d = first; d < value->type.rank(); ++d) sizes.push_back(known_size(value, d));
  return sizes;
}

void append(std::vector<std::int64_t>& to, const std::vector<std::int64_t>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

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
  std::vector<std::int64_t> apart{-1}, order, together{-1};
  for (std::size_t d = 0; d < count; ++d) {
    const std::int64_t size = known_size(x, d + 1);
    check(size % blocks[d] == 0, ErrorCode::bad_data, "a size of {} is not a multiple of its block of {}",
          size, blocks[d]);
    append(apart, {size / blocks[d], blocks[d]});
    together.push_back(size / blocks[d]);
    order.push_back(static_cast<std::int64_t>(2 * d + 2));
  }
  order.push_back(0);
  for (std::size_t d = 0; d < count; ++d) order.push_back(static_cast<std::int64_t>(2 * d + 1));
  for (std::size_t d = count + 1; d < rank; ++d) order.push_back(static_cast<std::int64_t>(d + count));
  append(apart, sizes_from(x, count + 1));
  append(together, sizes_from(x, count + 1));
  Value* turned = transpose(context, context.emit("reshape", {x, context.ints(apart)}), order);
  context.set_output(0, context.emit("reshape", {turned, context.ints(together)}));
}

void batch_to_space(RuleContext& context) {
  const auto [blocks, borders] = known_blocks(context);
  const std::size_t count = blocks.size(), rank = rank_of(context, 0);
  Value* x = context.required(0);
  std::vector<std::int64_t> apart = blocks, order{static_cast<std::int64_t>(count)}, together{-1}, axes, from,
                            to;
  apart.push_back(-1);
  append(apart, sizes_from(x, 1));
  for (std::size_t d = 0; d < count; ++d) {
    append(order, {static_cast<std::int64_t>(count + 1 + d), static_cast<std::int64_t>(d)});
    const std::int64_t size = known_size(x, d + 1) * blocks[d];
    together.push_back(size);
    axes.push_back(static_cast<std::int64_t>(d) + 1);
    from.push_back(borders[2 * d]);
    to.push_back(size - borders[2 * d + 1]);
  }
  for (std::size_t d = count + 1; d < rank; ++d) order.push_back(static_cast<std::int64_t>(d + count));
  append(together, sizes_from(x, count + 1));
  Value* turned = transpose(context, context.emit("reshape", {x, context.ints(apart)}), order);
  Value* whole = context.emit("reshape", {turned, context.ints(together)});
  context.set_output(
      0, context.emit("slice", {whole, context.ints(from), context.ints(to), context.ints(axes)}));
}

} // namespace

void add_block_rules(Rules& rules) {
  rules["SpaceToDepth"] = channel_blocks("space_to_depth");
  rules["DepthToSpace"] = channel_blocks("depth_to_space");
  rules["SpaceToBatchND"] = space_to_batch;
  rules["BatchToSpaceND"] = batch_to_space;
}

} // namespace lanner::tensorflow
