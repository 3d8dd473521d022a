#pragma once
// TFRecord files and the message tf.Example (example.proto, feature.proto), in which TensorFlow's data sets
// are kept.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include <lanner/limits.h>
#include <lanner/source.h>

#include "base/limits/counted_vector.h"

namespace lanner::tf {

/// The records of a file in order. One thread at a time.
class RecordReader {
public:
  explicit RecordReader(SourcePtr source, const Limits& limits = {});

  /// The next record, valid until the next call; nothing at the end of the file. Both checksums are checked.
  /// Throws Error{bad_data} for a file that is cut short or damaged, Error{limit_exceeded} for a record over
  /// `packet_bytes`, Error{unsupported} for a compressed file. After an error it gives no more records.
  std::optional<std::span<const std::byte>> next();

  /// How many records were given.
  std::uint64_t count() const noexcept { return count_; }

private:
  std::size_t read(std::uint64_t offset, std::span<std::byte> into);
  std::optional<std::uint64_t> read_length();
  void read_content(std::uint64_t length);

  SourcePtr source_;
  const Limits limits_;
  std::uint64_t offset_ = 0, count_ = 0;
  CountedVector<std::byte> record_;
  bool ended_ = false;
};

/// A feature's values; none where the feature says no kind.
using FeatureValues =
    std::variant<std::monostate, std::vector<std::string>, std::vector<float>, std::vector<std::int64_t>>;

/// The features of one example by name. Of two with one name the last one counts, as in TensorFlow.
using Example = std::map<std::string, FeatureValues, std::less<>>;

/// Throws Error{bad_data, limit_exceeded}.
Example read_example(std::span<const std::byte> record, const Limits& limits = {});

} // namespace lanner::tf
