#pragma once
// One source for several demuxers.

#include <lanner/source.h>

namespace lanner {

/// The same bytes for any number of threads: reads take turns. A source that was shared already is returned
/// as it is.
SourcePtr shared_source(SourcePtr source);

/// The source that `source` shares, or itself.
const ByteSource& original_source(const ByteSource& source) noexcept;

} // namespace lanner
