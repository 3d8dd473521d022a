#include <lanner/error.h>
#include <lanner/tf_records.h>

#include "fuzz/targets.h"

namespace lanner::fuzz {

/// A TFRecord file of examples and, as checksums keep most mutations out of them, one example alone.
void read_tfrecord(std::span<const std::byte> input) {
  try {
    tf::RecordReader reader(open_bytes(input), small_limits());
    while (const auto record = reader.next()) tf::read_example(*record, small_limits());
  } catch (const Error& error) {
    if (error.code() == ErrorCode::internal) throw;
  }
  tf::read_example(input, small_limits());
}

} // namespace lanner::fuzz
