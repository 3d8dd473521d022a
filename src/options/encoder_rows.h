#pragma once
// Options of encoders beside the few that every writer of video has.

#include <optional>
#include <string>
#include <string_view>

#include <lanner/option_table.h>
#include <lanner/packet.h>

namespace lanner {

/// Why options of writers have no member in C.
inline constexpr std::string_view no_writer = "the C interface has no writer";

/// `first` and `second` of `first?second` with that separator; nothing for others.
std::optional<Rational> fraction_of(const std::string& text, char separator);

OptionTable<EncoderOptions> with_encoder_rows(OptionTable<EncoderOptions> table);

} // namespace lanner
