#pragma once
// The safetensors format: named row-major tensors after a JSON header
// (https://github.com/huggingface/safetensors). Every file written here is valid; every file read is treated
// as untrusted.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <lanner/limits.h>
#include <lanner/source.h>
#include <lanner/tensor.h>

#include "base/parts.h"

namespace lanner {

using SafetensorsMetadata = std::map<std::string, std::string>;

/// The metadata key that marks a plan among files of this format.
inline constexpr const char* plan_key = "lanner.plan";

/// One tensor of a file.
struct SafetensorsEntry {
  std::string name;
  DType dtype = DType::u8;
  Shape shape;
  std::uint64_t begin = 0, end = 0; ///< In bytes from the end of the header.
};

/// A file that was opened and validated. Its tensors are read-only views of the source's bytes and keep them
/// alive. Any number of threads may read.
class Safetensors {
public:
  /// Reads the source and checks the header. Throws Error{bad_data, limit_exceeded, unsupported}, and what
  /// the source throws, prefixed with the source's name.
  static Safetensors open(const SourcePtr& source, const Limits& limits = {});
  /// The same for content that was read already.
  static Safetensors open(Content content, std::string name, const Limits& limits);

  const SafetensorsMetadata& metadata() const noexcept { return metadata_; }
  /// In the order of their bytes, without padding tensors.
  const std::vector<SafetensorsEntry>& entries() const noexcept { return entries_; }
  /// Padding tensors, in the order of their bytes. Their bytes may have any value.
  const std::vector<SafetensorsEntry>& pads() const noexcept { return pads_; }
  /// nullptr when there is no such tensor.
  const SafetensorsEntry* find(std::string_view name) const noexcept;
  /// The bytes of an entry of this file.
  std::span<const std::byte> bytes(const SafetensorsEntry& entry) const;
  /// The tensor of that name; copied only where the file leaves it unaligned for its type. Throws
  /// Error{not_found}, and Error{bad_data} for a bool that is neither 0 nor 1.
  Tensor tensor(std::string_view name) const;

private:
  std::string name_;
  Content content_;
  std::uint64_t data_begin_ = 0;
  SafetensorsMetadata metadata_;
  std::vector<SafetensorsEntry> entries_, pads_;
  std::map<std::string, std::size_t, std::less<>> by_name_;
};

/// A tensor to write: `bytes` is its content in row-major order (little endian, packed types as in memory)
/// and must stay valid while writing.
struct SafetensorsItem {
  std::string name;
  DType dtype = DType::u8;
  Shape shape;
  std::span<const std::byte> bytes;
};

/// The item for a row-major host tensor, which must outlive it.
SafetensorsItem safetensors_item(std::string name, const Tensor& tensor);

/// Whether the format has a name for `type` (it has none for strings, 2 and 4 bit integers, c128 and FNUZ
/// floats).
bool safetensors_has(DType type) noexcept;

/// Writes a file through AtomicFile. Every tensor starts at a multiple of 64 bytes in the file: gaps are
/// filled by U8 tensors named `__pad_0`, `__pad_1`... Same input, same bytes. `done` receives the progress in
/// bytes of the items. Throws Error{invalid_argument, unsupported, io}, and what check_deadline() throws.
void write_safetensors(const std::filesystem::path& path, std::span<const SafetensorsItem> items,
                       const SafetensorsMetadata& metadata = {}, const BytesDone& done = {});

} // namespace lanner
