#pragma once
// TFRecord files and the message tf.Example (example.proto, feature.proto), in which TensorFlow's data sets
// are kept. Read without TensorFlow.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include <lanner/limits.h>
#include <lanner/source.h>

namespace lanner::tf {

/// The records of a file in order. Movable; one thread at a time.
class RecordReader {
public:
  /// `offset` is where a record begins, as offset() gave it.
  explicit RecordReader(SourcePtr source, const Limits& limits = {}, std::uint64_t offset = 0);
  RecordReader(RecordReader&&) noexcept;
  RecordReader& operator=(RecordReader&&) noexcept;
  ~RecordReader();

  /// The next record, valid until the next call; nothing at the end of the file. Both checksums are checked.
  /// Throws Error{bad_data} for a file that is cut short or damaged, Error{limit_exceeded} for a record over
  /// `packet_bytes`, Error{unsupported} for a compressed file. After an error it gives no more records.
  std::optional<std::span<const std::byte>> next();

  /// How many records were given.
  std::uint64_t count() const noexcept;
  /// Where the next record begins.
  std::uint64_t offset() const noexcept;

private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Whether these first bytes of a file, at least 12, are the beginning of a TFRecord file: a length and its
/// checksum.
bool looks_like_records(std::span<const std::byte> bytes);

/// A feature's values; none where the feature says no kind.
using FeatureValues =
    std::variant<std::monostate, std::vector<std::string>, std::vector<float>, std::vector<std::int64_t>>;

/// The features of one example by name. Of two with one name the last one counts, as in TensorFlow.
using Example = std::map<std::string, FeatureValues, std::less<>>;

/// Throws Error{bad_data, limit_exceeded}.
Example read_example(std::span<const std::byte> record, const Limits& limits = {});

} // namespace lanner::tf
