#pragma once
// Options of encoders beside the few that every writer of video has.

#include <lanner/option_table.h>

namespace lanner {

OptionTable<EncoderOptions> with_encoder_rows(OptionTable<EncoderOptions> table);

} // namespace lanner
