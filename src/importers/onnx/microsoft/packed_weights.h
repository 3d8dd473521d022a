#pragma once
// Unpacks numbers of a few bits from bytes.

#include <cstdint>
#include <vector>

#include "importers/builder.h"

namespace lanner::onnx {

/// The numbers of `bits` bits found in each byte at `shifts`, along the last axis.
Value* numbers_at(RuleContext& context, Value* packed, std::int64_t bits,
                  const std::vector<std::uint8_t>& shifts);

/// Unpacks from the low bits up, as blocks are packed.
Value* unpacked_numbers(RuleContext& context, Value* packed, std::int64_t bits);

} // namespace lanner::onnx
