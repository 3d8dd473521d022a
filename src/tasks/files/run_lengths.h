#pragma once
// Masks as run lengths, in COCO's format.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <lanner/task.h>

namespace lanner {

/// Numbers of pixels outside, then inside, then outside of the mask and so on, down the picture's columns
/// from left to right. The mask must be within the picture.
std::vector<std::uint32_t> run_lengths(const Mask& mask, std::int32_t width, std::int32_t height);

/// The counts as text: each, from the fourth on less the one two before, in groups of five bits, the lowest
/// first, as characters from `0` on; a sixth bit says that more follow, the last group's fifth bit is the
/// sign.
std::string packed_run_lengths(std::span<const std::uint32_t> counts);

} // namespace lanner
