#include "tasks/read/maps.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/check.h"

namespace lanner::tasks {
namespace {

constexpr std::int64_t least_semantic = 5, most_semantic = 1024;

std::string sized(TaskKind kind, std::int64_t classes) {
  return classes > 0 ? fmt::format("{} ({} classes)", to_string(kind), classes)
                     : std::string(to_string(kind));
}

Reading reading_of(TaskKind kind, const Binding& output, Ground ground, std::int64_t classes = -1) {
  Reading reading;
  reading.task.kind = kind;
  reading.task.outputs[std::string(map_part(kind))] = output.name;
  reading.classes = classes;
  reading.ground = ground;
  reading.text = sized(kind, classes);
  return reading;
}

/// Whether a side equals the input's, a small multiple of it or, for `divided`, a fraction.
bool fits_side(std::int64_t side, std::int64_t input, bool divided) {
  if (side < 0 || input <= 0) return true;
  for (const std::int64_t by : {1, 2, 3, 4, 8})
    if (side == input * by || (divided && side == (input + by - 1) / by)) return true;
  return false;
}
bool fits_input(const Facts& facts, std::int64_t height, std::int64_t width, bool divided) {
  return fits_side(height, facts.height, divided) && fits_side(width, facts.width, divided);
}

/// A kind's output: the given one, the one with its name, or the only one.
const Binding* output_of(const Facts& facts, TaskKind kind, std::initializer_list<std::string_view> names) {
  if (const Binding* given = facts.given(std::string(map_part(kind)))) return given;
  if (const Binding* named = facts.named(names)) return named;
  return facts.outputs.size() == 1 ? &facts.outputs[0] : nullptr;
}

void propose_classes(const Facts& facts, std::vector<Reading>& readings) {
  const bool asked = facts.asked(TaskKind::classify);
  const Binding* output = asked                       ? output_of(facts, TaskKind::classify, {"logits"})
                          : facts.outputs.size() == 1 ? &facts.outputs[0]
                                                      : nullptr;
  if (!output) return;
  const auto classes = class_count(*output);
  if (!classes || *classes == 0) return;
  // One number is not a class, and a list of open length is not a list of classes.
  if (!asked && (*classes == 1 || (*classes < 0 && output->dims.size() != 2))) return;
  readings.push_back(reading_of(TaskKind::classify, *output, Ground::shapes, *classes));
}

void propose_embedding(const Facts& facts, std::vector<Reading>& readings) {
  if (!facts.asked(TaskKind::embed)) return;
  const Binding* output = output_of(facts, TaskKind::embed,
                                    {"embedding", "embeddings", "image_embeds", "pooler_output", "features"});
  if (output && output->ranked && !output->dims.empty())
    readings.push_back(reading_of(TaskKind::embed, *output, Ground::shapes));
}

/// Integer maps: [N, H, W], [N, 1, H, W] or [N, H, W, 1].
bool is_class_map(const Binding& output) {
  if (!is_integer(output.dtype)) return false;
  return has_rank(output, 3) || (has_rank(output, 4) && ((output.dims[1] == 1) != (output.dims[3] == 1)));
}

void propose_semantic(const Facts& facts, std::vector<Reading>& readings) {
  const bool asked = facts.asked(TaskKind::semantic);
  const Binding* output = output_of(facts, TaskKind::semantic, {"out", "logits", "semantic"});
  if (!output || !output->ranked) return;
  if (!asked && class_count(*output)) return; // [N, C, 1, 1]: a map one pixel wide is not accepted.
  const auto& dims = output->dims;
  if (is_class_map(*output)) {
    const bool bytes = output->dtype == DType::u8 && has_rank(*output, 4);
    const bool known = facts.width > 0 && std::ranges::all_of(std::span(dims).subspan(1),
                                                              [](std::int64_t dim) { return dim > 0; });
    if (asked || (!bytes && known &&
                  fits_input(facts, dims[has_rank(*output, 4) && dims[1] == 1 ? 2 : 1],
                             dims[has_rank(*output, 4) && dims[1] == 1 ? 3 : 2], true)))
      readings.push_back(reading_of(TaskKind::semantic, *output, Ground::names));
    return;
  }
  if (!has_rank(*output, 4) || !is_float(output->dtype)) return;
  const auto last = channels_last(std::span(dims).subspan(1), facts.wanted.channels_last, facts.labels(),
                                  facts.width, facts.height);
  if (!last) {
    if (asked) readings.push_back(reading_of(TaskKind::semantic, *output, Ground::shapes));
    return;
  }
  const std::int64_t channels = dims[*last ? 3 : 1], height = dims[*last ? 1 : 2],
                     width = dims[*last ? 2 : 3];
  const bool plain = channels >= least_semantic && channels <= most_semantic,
             small = channels == 1 || channels == 3;
  if (!asked && !((plain || small) && fits_input(facts, height, width, plain))) return;
  Reading reading = reading_of(TaskKind::semantic, *output, Ground::shapes, channels == 1 ? 2 : channels);
  reading.task.channels_last = *last;
  readings.push_back(std::move(reading));
}

void propose_depth(const Facts& facts, std::vector<Reading>& readings) {
  const Binding* output = output_of(facts, TaskKind::depth, {"predicted_depth", "depth"});
  if (!output || !output->ranked || !is_float(output->dtype)) return;
  const bool asked = facts.asked(TaskKind::depth);
  const auto& dims = output->dims;
  const bool plane = dims.size() == 3, first = dims.size() == 4 && dims[1] == 1,
             last = dims.size() == 4 && dims[3] == 1;
  if (!plane && !first && !last) return;
  const std::size_t at = first ? 2 : 1;
  const bool named = output == facts.named({"predicted_depth", "depth"});
  // Three dims may also be a sequence of features.
  if (!asked && (!fits_input(facts, dims[at], dims[at + 1], false) || dims[at] < 0 || facts.width <= 0) &&
      !named)
    return;
  readings.push_back(reading_of(TaskKind::depth, *output, named ? Ground::names : Ground::shapes));
}

void propose_image(const Facts& facts, std::vector<Reading>& readings) {
  const Binding* output = output_of(facts, TaskKind::image, {"image"});
  if (!output || !output->ranked) return;
  const bool asked = facts.asked(TaskKind::image), bytes = output->dtype == DType::u8;
  const auto& dims = output->dims;
  if (!bytes && !is_float(output->dtype)) return;
  if (dims.size() == 3) {
    const bool fits = facts.width > 0 && dims[1] > 0 && fits_input(facts, dims[1], dims[2], false);
    if (asked || fits) readings.push_back(reading_of(TaskKind::image, *output, Ground::shapes));
    return;
  }
  if (dims.size() != 4) return;
  if (!asked && class_count(*output)) return;
  const auto last =
      channels_last(std::span(dims).subspan(1), facts.wanted.channels_last, 0, facts.width, facts.height);
  if (!last) return;
  const std::int64_t channels = dims[*last ? 3 : 1];
  if (channels >= 0 && channels != 1 && channels != 3) return;
  if (!asked && (channels < 0 || !fits_input(facts, dims[*last ? 1 : 2], dims[*last ? 2 : 3], true))) return;
  Reading reading =
      reading_of(TaskKind::image, *output, bytes && channels == 3 ? Ground::names : Ground::shapes);
  reading.task.channels_last = *last;
  readings.push_back(std::move(reading));
}

} // namespace

std::string_view map_part(TaskKind kind) noexcept {
  switch (kind) {
  case TaskKind::classify:
    return "scores";
  case TaskKind::semantic:
    return "classes";
  case TaskKind::depth:
    return "depth";
  case TaskKind::image:
    return "image";
  case TaskKind::embed:
    return "embedding";
  default:
    return {};
  }
}

std::optional<std::int64_t> class_count(const Binding& output) {
  if (!output.ranked || output.dims.empty()) return std::nullopt;
  const std::size_t at = output.dims.size() == 1 ? 0 : 1;
  for (std::size_t d = at + 1; d < output.dims.size(); ++d)
    if (output.dims[d] != 1) return std::nullopt;
  return output.dims[at];
}

std::optional<bool> channels_last(std::span<const std::int64_t> dims, std::optional<bool> declared,
                                  std::int64_t channels, std::int64_t width, std::int64_t height) {
  if (declared) return *declared;
  const auto counts = [&](std::int64_t dim) { return channels > 0 ? dim == channels : dim == 1 || dim == 3; };
  if (counts(dims[0]) != counts(dims[2])) return counts(dims[2]);
  // Sides in the input's proportion.
  const auto sides = [&](std::int64_t down, std::int64_t across) {
    return down > 0 && across > 0 && width > 0 && height > 0 && fits_side(down, height, true) &&
           fits_side(across, width, true);
  };
  if (sides(dims[1], dims[2]) != sides(dims[0], dims[1])) return sides(dims[0], dims[1]);
  if (dims[0] > 0 && dims[1] < 0 && dims[2] < 0) return false;
  if (dims[2] > 0 && dims[0] < 0 && dims[1] < 0) return true;
  return std::nullopt;
}

void propose_maps(const Facts& facts, std::vector<Reading>& readings) {
  propose_classes(facts, readings);
  propose_semantic(facts, readings);
  propose_depth(facts, readings);
  propose_image(facts, readings);
  propose_embedding(facts, readings);
}

} // namespace lanner::tasks
