#pragma once
// What every encoder asks of its options.

#include <lanner/encoder.h>

namespace lanner {

/// Throws Error{invalid_argument} for numbers that make no sense, and for options that exclude one another.
/// `with_size`: the size is known; else 0 stands for one that the first picture says.
void check_encoder_options(const EncoderOptions& options, bool with_size);

/// An option that was given, by its name in the tables of options, with its value as a text.
struct GivenEncoderOption {
  std::string_view name;
  std::string value;
};
/// Those that differ from their defaults and that not every encoder has; the size, the rate, the format and
/// the like are left out.
std::vector<GivenEncoderOption> given_encoder_options(const EncoderOptions& options);

/// The options after a change. Throws Error{invalid_argument} where it makes no sense.
EncoderOptions changed_options(const EncoderOptions& options, const EncoderReconfigure& change);
/// The members that a change names and that differ from what is: `bit rate, size`; empty for none.
std::string changes_between(const EncoderOptions& before, const EncoderOptions& after);
/// Where what reconfigure() may change stands.
EncoderReconfigure reconfigurable_state(const EncoderOptions& options);

/// Bits that the VBV holds: what is said, else one second of the bound of the rate; 0 without one.
std::int64_t vbv_bits(const EncoderOptions& options);
/// The bound of the rate: `max_bit_rate`, of cbr the rate itself; 0 for none.
std::int64_t bound_of_rate(const EncoderOptions& options);
/// What stands behind RateControl::unspecified; unspecified for constant quality and lossless.
RateControl effective_rate_control(const EncoderOptions& options);

/// `20`, or `20,22,24` where they differ.
std::string to_text(const QpByType& qp);
/// `G(x,y)B(x,y)R(x,y)WP(x,y)L(max,min)` in candela per square metre and CIE coordinates. Throws
/// Error{invalid_argument}.
MasteringDisplay parse_mastering_display(std::string_view text);
/// Whether an encoder can be given it: coordinates from 0 to 1, luminances of at most 100,000 candela per
/// square metre that differ. Streams say zeros where they do not know.
bool is_valid(const MasteringDisplay& display);
std::string to_text(const MasteringDisplay& display);

/// As SEI (H.264 D.1.29, H.265 D.2.28) or, with `av1`, as metadata OBU (AV1 5.8.4).
SeiMessage mastering_display_message(const MasteringDisplay& display, bool av1);
SeiMessage content_light_message(const ContentLight& light, bool av1);

} // namespace lanner
