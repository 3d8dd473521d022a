#pragma once
// The table of all limits.

#include <lanner/limits.h>

namespace lanner {

/// Calls `use(name, &Limits::name)` for each limit.
template<typename Use>
void for_each_limit(Use use) {
  use("file_bytes", &Limits::file_bytes);
  use("tensor_bytes", &Limits::tensor_bytes);
  use("total_bytes", &Limits::total_bytes);
  use("nodes", &Limits::nodes);
  use("depth", &Limits::depth);
  use("rank", &Limits::rank);
  use("pixels", &Limits::pixels);
  use("streams", &Limits::streams);
  use("packet_bytes", &Limits::packet_bytes);
  use("frames", &Limits::frames);
  use("seconds", &Limits::seconds);
}

} // namespace lanner
