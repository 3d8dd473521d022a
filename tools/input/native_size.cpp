#include "input/native_size.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include <lanner/demuxer.h>
#include <lanner/error.h>
#include <lanner/upright.h>

#include "interrupt.h"
#include "options/limit_option.h"
#include "output/console.h"

namespace lanner::tool {
namespace {

struct Size {
  std::int32_t width, height;
  friend bool operator==(const Size&, const Size&) = default;
};

/// Upright, as a player shows it; none for what cannot be read, which is reported when it is run, unless it
/// is
/// `alone`.
std::optional<Size> size_of(const RunInput& input, bool alone) try {
  if (input.source) return std::nullopt; // Can be read only once.
  if (input.still) {
    const Image image = load_image(input.path, given_limits());
    return Size{image.width, image.height};
  }
  DemuxerOptions options;
  options.cancel = interrupt_token();
  options.limits = given_limits();
  const auto demuxer = open_demuxer(open_path(input.path, given_limits()), options);
  const int best = demuxer->best_video();
  if (best < 0) return std::nullopt;
  const StreamInfo stream = upright_stream(demuxer->streams()[static_cast<std::size_t>(best)]);
  return stream.width > 0 && stream.height > 0 ? std::optional(Size{stream.width, stream.height})
                                               : std::nullopt;
} catch (const Error& error) {
  interrupt_token().check();
  if (alone) about("run", input.path, [&]() -> void { throw error; });
  return std::nullopt;
}

} // namespace

bool has_native_size(TaskKind kind) {
  return kind == TaskKind::image || kind == TaskKind::semantic || kind == TaskKind::depth;
}

namespace {

/// Whether nothing is padded: the image fills the target, which was made from its rounded size.
bool fills(const Preprocess& spec, const PixelRect& part, const Preprocess& own) {
  const Placement place = placement(spec, part.x + part.width, part.y + part.height);
  const double columns = std::abs(place.xx) * part.width + std::abs(place.xy) * part.height;
  const double rows = std::abs(place.yx) * part.width + std::abs(place.yy) * part.height;
  return std::abs(columns - own.width) < 0.5 && std::abs(rows - own.height) < 0.5;
}

} // namespace

Preprocess with_native_size(const Preprocess& spec, std::int32_t width, std::int32_t height) {
  const Shape shape = output_shape(spec, width, height);
  const std::size_t rows = spec.channels_last ? 0 : 1;
  Preprocess own = spec;
  own.height = static_cast<std::int32_t>(shape[rows]);
  own.width = static_cast<std::int32_t>(shape[rows + 1]);
  own.shorter_side = own.longer_side = 0;
  own.multiple = 1;
  const PixelRect part = spec.region.whole() ? PixelRect{0, 0, width, height} : spec.region;
  if (spec.multiple > 1 && spec.fit != Fit::stretch && fills(spec, part, own)) own.fit = Fit::stretch;
  return own;
}

NativeSize find_native_size(const std::vector<RunInput>& inputs, const Preprocess& spec) {
  NativeSize own;
  std::optional<Size> first;
  const auto stills = std::ranges::count_if(inputs, [](const RunInput& input) { return input.still; });
  own.several = stills > 1; // To know, all of them would have to be read.
  for (const RunInput& input : inputs) {
    interrupt_token().check();
    if (first && own.several) break;
    const auto size = size_of(input, inputs.size() == 1);
    if (first || !size) own.several = own.several || (first && size != first) || (!size && inputs.size() > 1);
    if (first || !size) continue;
    first = size;
    const Preprocess sized =
        about("run", input.path, [&] { return with_native_size(spec, size->width, size->height); });
    own.width = sized.width, own.height = sized.height;
    own.spec = sized;
    own.name = input.path;
  }
  return own;
}

Error about_size(const Error& error, const Preprocess& spec) {
  if (error.code() != ErrorCode::invalid_argument && error.code() != ErrorCode::bad_data &&
      error.code() != ErrorCode::unsupported)
    return error;
  return Error(error.code(),
               fmt::format("{}; at the image's native size, {}x{}: if the network does not take it, "
                           "give one by --size WIDTHxHEIGHT",
                           error.message(), spec.width, spec.height));
}

} // namespace lanner::tool
