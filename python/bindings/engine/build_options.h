#pragma once
// Options of builds from Python's keywords.

#include <map>
#include <span>
#include <string>

#include <lanner/engine.h>

#include "calls/option_rows.h"

namespace lanner::python {

/// Keywords of lanner.build().
std::span<const Keyword> build_keywords();

using CalibrationBatch = std::map<std::string, Item>;

/// A copy of a dict from name to array, as an iterable may use the memory of a batch again for the next one.
CalibrationBatch batch_of(nb::handle names);

/// Sets options from keywords that are among `known`; a callable `progress` is returned.
void take_build_options(const char* function, const nb::kwargs& given, std::span<const Keyword> known,
                        BuildOptions& options, nb::object& progress);

} // namespace lanner::python
