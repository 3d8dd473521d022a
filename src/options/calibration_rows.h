#pragma once
// Options of builds in INT8.

#include <lanner/option_table.h>

namespace lanner {

void add_calibration_rows(OptionTable<BuildOptions>& table);

} // namespace lanner
