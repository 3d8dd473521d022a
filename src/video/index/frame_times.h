#pragma once
// When the frames of an index are shown, also those that their container gives no time for.

#include <cstdint>
#include <vector>

#include <lanner/video_reader.h>

namespace lanner {

/// A pts for each frame of `index`, never falling. A frame without one gets that which its neighbours leave:
/// the end of the frame before, or the next one's begin less the frame's own duration. A missing duration is
/// that of all others, or the distance of all frames where none has one. Between two frames with times the
/// durations have to fill the gap exactly; where there are none it is parted equally. Where times fall, the
/// longest series of those that do not is believed, and frames between are spread evenly. Empty where no
/// frame has a time, or where they leave no answer or several.
std::vector<std::int64_t> shown_times(const StreamIndex& index);

} // namespace lanner
