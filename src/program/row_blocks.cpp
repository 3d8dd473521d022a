#include "program/row_blocks.h"

#include <algorithm>
#include <limits>

#include <lanner/error.h>

#include "base/check.h"
#include "program/lowered/lowered.h"
#include "program/memory/memory.h"

namespace lanner {

/// BlockChoice has an entry for each number of rows.
constexpr std::int64_t most_rows = 1 << 16;

RowBlocks row_blocks_of(const Node& node) {
  RowBlocks blocks;
  blocks.sizes = node.attributes.get<std::vector<std::int64_t>>("sizes");
  const auto counted = static_cast<std::size_t>(node.attributes.get<std::int64_t>("counted"));
  check(blocks.sizes.back() <= most_rows, ErrorCode::bad_data, "a block of {} rows, expected at most {}",
        blocks.sizes.back(), most_rows);
  const auto largest = static_cast<std::uint64_t>(blocks.sizes.back());
  const auto part = [&](const Value& value) {
    check(is_planned(value) && bit_width(value.type.dtype()) % 8 == 0, ErrorCode::bad_data,
          "%{} of a block of rows is {}", value.name(), value.type.to_string());
    const RowBlocks::Part made{storage_bytes(value) / largest, blocks.workspace};
    blocks.workspace = add_aligned(blocks.workspace, storage_bytes(value));
    return made;
  };
  const Region& region = *node.regions().back();
  for (std::size_t i = 0; i < counted; ++i) blocks.inputs.push_back(part(*region.parameter(i)));
  for (const Value* output : region.outputs()) blocks.outputs.push_back(part(*output));
  return blocks;
}

/// Finds the cheapest sequence of blocks for each number of rows; the last block may be larger than the rest.
BlockChoice::BlockChoice(std::vector<std::int64_t> sizes, const std::vector<double>& seconds)
    : sizes_(std::move(sizes)) {
  std::vector<double> costs{0};
  next_.push_back(0);
  for (std::int64_t left = 1; left < sizes_.back(); ++left) {
    double best = std::numeric_limits<double>::infinity();
    std::size_t chosen = sizes_.size() - 1;
    for (std::size_t b = 0; b < sizes_.size(); ++b) {
      const auto rest = static_cast<std::size_t>(std::max<std::int64_t>(0, left - sizes_[b]));
      const double cost = seconds[b] + costs[rest];
      if (cost < best) best = cost, chosen = b;
    }
    costs.push_back(best);
    next_.push_back(chosen);
  }
}

std::size_t BlockChoice::next(std::int64_t left) const {
  return left < sizes_.back() ? next_[static_cast<std::size_t>(left)] : sizes_.size() - 1;
}

} // namespace lanner
