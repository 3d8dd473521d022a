// Changes of an encoder's options while it runs, and HDR metadata as messages.

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/check.h"
#include "video/write/encoder_options.h"

namespace lanner {

EncoderOptions changed_options(const EncoderOptions& options, const EncoderReconfigure& change) {
  EncoderOptions changed = options;
  const auto take = [](auto& member, auto value) {
    check(value >= 0, ErrorCode::invalid_argument, "reconfigure: {}, expected 0 (no change) or more", value);
    if (value > 0) member = value;
  };
  if (change.rate_control != RateControl::unspecified) {
    changed.rate_control = change.rate_control;
    if (change.rate_control == RateControl::cbr) changed.max_bit_rate = 0;
    if (change.rate_control != RateControl::constqp && change.bit_rate > 0)
      changed.const_qp.reset(), changed.crf = -1;
  }
  if (change.multipass != Multipass::unspecified) changed.multipass = change.multipass;
  take(changed.bit_rate, change.bit_rate);
  take(changed.max_bit_rate, change.max_bit_rate);
  take(changed.vbv_buffer_size, change.vbv_buffer_size);
  take(changed.vbv_initial, change.vbv_initial);
  take(changed.width, change.width);
  take(changed.height, change.height);
  if (change.rate.num != 0 || change.rate.den != 0) {
    if (options.time_base.den <= 0) changed.time_base = {options.rate.den, options.rate.num};
    changed.rate = change.rate;
  }
  if (effective_rate_control(changed) == RateControl::cbr && change.max_bit_rate == 0)
    changed.max_bit_rate = 0;
  if (change.vbv_initial == 0) changed.vbv_initial = std::min(changed.vbv_initial, vbv_bits(changed));
  const bool resized = changed.width != options.width || changed.height != options.height;
  check(!resized || options.max_width > 0, ErrorCode::invalid_argument,
        "reconfigure: size {}x{}, but the encoder was created for {}x{} alone; give max_width and max_height "
        "to create_encoder()",
        changed.width, changed.height, options.width, options.height);
  check(!resized || (changed.width <= options.max_width && changed.height <= options.max_height),
        ErrorCode::invalid_argument,
        "reconfigure: size {}x{}, expected at most {}x{} (max_width, max_height)", changed.width,
        changed.height, options.max_width, options.max_height);
  check_encoder_options(changed, true);
  return changed;
}

std::string changes_between(const EncoderOptions& before, const EncoderOptions& after) {
  std::string names;
  const auto note = [&](bool differs, std::string_view name) {
    if (!differs) return;
    if (!names.empty()) names += ", ";
    names += name;
  };
  note(effective_rate_control(before) != effective_rate_control(after), "rate control");
  note(before.multipass != after.multipass && after.multipass > Multipass::disabled, "multipass");
  note(before.bit_rate != after.bit_rate, "bit rate");
  note(before.max_bit_rate != after.max_bit_rate, "maximum bit rate");
  note(before.vbv_buffer_size != after.vbv_buffer_size, "VBV buffer size");
  note(before.vbv_initial != after.vbv_initial, "VBV initial fill");
  note(before.rate != after.rate, "frame rate");
  note(before.width != after.width || before.height != after.height, "size");
  return names;
}

EncoderReconfigure reconfigurable_state(const EncoderOptions& options) {
  EncoderReconfigure state;
  state.rate_control = effective_rate_control(options);
  state.multipass = options.multipass;
  state.bit_rate = options.bit_rate;
  state.max_bit_rate = options.max_bit_rate;
  state.vbv_buffer_size = vbv_bits(options);
  state.vbv_initial = options.vbv_initial;
  state.rate = options.rate;
  state.width = options.width;
  state.height = options.height;
  return state;
}

namespace {

/// `NAME(first,second)` at the front of `text`, which it is taken from.
std::optional<std::array<double, 2>> take_pair(std::string_view& text, std::string_view name) {
  if (!text.starts_with(name)) return std::nullopt;
  std::string_view rest = text.substr(name.size());
  std::array<double, 2> pair{};
  for (std::size_t i = 0; i < 2; ++i) {
    if (!rest.starts_with(i == 0 ? '(' : ',')) return std::nullopt;
    rest.remove_prefix(1);
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), pair[i]);
    if (error != std::errc{} || !std::isfinite(pair[i])) return std::nullopt;
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  }
  if (!rest.starts_with(')')) return std::nullopt;
  text = rest.substr(1);
  return pair;
}

void put(std::vector<std::byte>& bytes, std::uint64_t value, int count) {
  for (int i = count - 1; i >= 0; --i) bytes.push_back(static_cast<std::byte>(value >> (8 * i)));
}

std::uint64_t scaled(double value, double scale) {
  return static_cast<std::uint64_t>(std::llround(value * scale));
}

} // namespace

bool is_valid(const MasteringDisplay& display) {
  constexpr double most_luminance = 100'000;
  const std::array<double, 2> points[] = {display.red, display.green, display.blue, display.white};
  const auto in_range = [](double value, double most) { return value >= 0 && value <= most; };
  return std::ranges::all_of(points,
                             [&](const auto& at) { return in_range(at[0], 1) && in_range(at[1], 1); }) &&
         in_range(display.max_luminance, most_luminance) && display.min_luminance >= 0 &&
         display.max_luminance > display.min_luminance;
}

MasteringDisplay parse_mastering_display(std::string_view text) {
  MasteringDisplay display;
  std::string_view rest = text;
  std::array<double, 2> luminance{};
  bool whole = true;
  const std::pair<std::string_view, std::array<double, 2>*> parts[] = {{"G", &display.green},
                                                                       {"B", &display.blue},
                                                                       {"R", &display.red},
                                                                       {"WP", &display.white},
                                                                       {"L", &luminance}};
  for (const auto& [name, pair] : parts) {
    const auto taken = take_pair(rest, name);
    whole = whole && taken.has_value();
    if (taken) *pair = *taken;
  }
  display.max_luminance = luminance[0];
  display.min_luminance = luminance[1];
  check(
      whole && rest.empty() && is_valid(display), ErrorCode::invalid_argument,
      "mastering display '{}': expected G(x,y)B(x,y)R(x,y)WP(x,y)L(max,min), CIE 1931 coordinates from 0 to "
      "1 and candela per square metre, like "
      "G(0.265,0.69)B(0.15,0.06)R(0.68,0.32)WP(0.3127,0.329)L(1000,0.0001)",
      text);
  return display;
}

std::string to_text(const MasteringDisplay& display) {
  const auto pair = [](std::string_view name, double first, double second) {
    return fmt::format("{}({},{})", name, first, second);
  };
  return pair("G", display.green[0], display.green[1]) + pair("B", display.blue[0], display.blue[1]) +
         pair("R", display.red[0], display.red[1]) + pair("WP", display.white[0], display.white[1]) +
         pair("L", display.max_luminance, display.min_luminance);
}

SeiMessage mastering_display_message(const MasteringDisplay& display, bool av1) {
  // H.264 and H.265 begin with green and count in 0.00002 and 0.0001; AV1 begins with
  // red, 16.16, 24.8, 18.14.
  const double coordinates = av1 ? 65536 : 50000;
  SeiMessage message{av1 ? 2 : 137, {}};
  const auto primary = [&](const std::array<double, 2>& pair) {
    for (const double value : pair)
      put(message.bytes, std::min<std::uint64_t>(scaled(value, coordinates), 0xffff), 2);
  };
  if (av1) primary(display.red);
  primary(display.green);
  primary(display.blue);
  if (!av1) primary(display.red);
  primary(display.white);
  put(message.bytes, scaled(display.max_luminance, av1 ? 256 : 10000), 4);
  put(message.bytes, scaled(display.min_luminance, av1 ? 16384 : 10000), 4);
  return message;
}

SeiMessage content_light_message(const ContentLight& light, bool av1) {
  SeiMessage message{av1 ? 1 : 144, {}};
  put(message.bytes, light.max, 2);
  put(message.bytes, light.average, 2);
  return message;
}

} // namespace lanner
