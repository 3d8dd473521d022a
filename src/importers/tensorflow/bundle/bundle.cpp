#include "importers/tensorflow/bundle/bundle.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include <lanner/error.h>
#include <lanner/nearest.h>
#include <lanner/source.h>

#include "base/check.h"
#include "base/crc32c.h"
#include "base/file/regular_file.h"
#include "base/limits/account.h"
#include "base/limits/limit_error.h"
#include "base/text/one_line.h"
#include "importers/tensorflow/bundle/bundle_index.h"
#include "importers/tensorflow/bundle/cursor.h"
#include "importers/tensorflow/bundle/table.h"
#include "importers/tensorflow/tensor_record.h"
#include "tensor/strings.h"

namespace lanner::tensorflow {
namespace {

using OnFile = std::function<void(const std::filesystem::path&)>;

constexpr std::size_t longest_shown = 200;

std::string_view as_text(const Tensor& bytes) {
  return {static_cast<const char*>(bytes.data()), static_cast<std::size_t>(bytes.elements())};
}

/// Whether a file ends as a table does. False for what cannot be read.
bool is_table(const std::filesystem::path& path, const Limits& limits) {
  try {
    const SourcePtr source = open_regular_file(path, limits);
    std::byte end[footer_bytes];
    const auto size = static_cast<std::uint64_t>(source->size());
    return size >= footer_bytes && source->read_at(size - footer_bytes, end) == footer_bytes &&
           ends_table(end);
  } catch (const Error&) {
    return false;
  }
}

/// Format V1 has no index: one table, or one a shard, with the values inside.
bool is_version_1(const std::filesystem::path& prefix, const Limits& limits) {
  if (prefix.extension() == ".index") return false; // of format V2, whose name was given in full
  if (is_table(prefix, limits)) return true;
  const std::string first = prefix.filename().string() + "-00000-of-";
  const std::filesystem::path folder = prefix.has_parent_path() ? prefix.parent_path() : ".";
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    check_deadline();
    if (entry->path().filename().string().starts_with(first) && is_table(entry->path(), limits)) return true;
  }
  return false;
}

Content read_index(const std::filesystem::path& prefix, const Limits& limits, const OnFile& on_file) {
  const std::string name = prefix.filename().string() + ".index";
  const std::filesystem::path path = prefix.parent_path() / name;
  if (on_file) on_file(path);
  try {
    return read_all(open_beneath(prefix.parent_path(), name, limits), limits);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::not_found) throw;
    check(!is_version_1(prefix, limits), ErrorCode::unsupported,
          "{}: is a checkpoint in format V1; expected V2: in TensorFlow, build the model's graph, then "
          "saver = tf.compat.v1.train.Saver(), saver.restore(session, \"{}\") and saver.save(session, NEW)",
          prefix.string(), prefix.string());
    fail(ErrorCode::not_found, "{}; a checkpoint is named by the path of its index without \".index\"",
         error.message());
  }
}

void require_booleans(const Tensor& tensor) {
  const auto* data = static_cast<const std::uint8_t*>(tensor.data());
  check(std::all_of(data, data + tensor.elements(), [](std::uint8_t byte) { return byte <= 1; }),
        ErrorCode::bad_data, "a boolean is neither 0 nor 1");
}

/// Throws when a tensor of this size is over a limit; its number of elements does not overflow then.
std::uint64_t checked_bytes(DType type, const Shape& shape, const Limits& limits) {
  const std::uint64_t element = type == DType::string ? sizeof(std::string) : bit_width(type) / 8;
  std::uint64_t bytes = element;
  for (const std::int64_t size : shape)
    bytes =
        limited_product("tensor_bytes", limits.tensor_bytes, bytes,
                        std::max<std::uint64_t>(static_cast<std::uint64_t>(size), 1), "bytes of a tensor");
  return element * static_cast<std::uint64_t>(shape.elements());
}

} // namespace

class Bundle::State {
public:
  State(std::filesystem::path prefix, const Limits& limits, OnFile on_file)
      : prefix_(std::move(prefix)), limits_(limits), on_file_(std::move(on_file)) {
    check(prefix_.has_filename() && prefix_.native().find('\0') == std::string::npos, ErrorCode::not_found,
          "{}: names no checkpoint; expected the path of its index without \".index\"",
          one_line(prefix_.string(), longest_shown));
    const Content file = read_index(prefix_, limits_, on_file_);
    index_ = with_context([&] { return prefix_.string() + ".index"; },
                          [&] { return read_bundle_index(file.bytes, limits_); });
  }

  const std::map<std::string, BundleEntry, std::less<>>& entries() const { return index_.entries; }

  const BundleEntry& find(std::string_view key) const {
    const auto found = index_.entries.find(key);
    if (found != index_.entries.end()) return found->second;
    fail(ErrorCode::not_found, "{}: the checkpoint has no tensor '{}'{}", prefix_.string(),
         one_line(key, longest_shown), did_you_mean(key, names()));
  }

  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& [key, entry] : index_.entries)
      if (key.front() != '\0') names.push_back(key); // slices' own keys begin with it
    return names;
  }

  Tensor read(std::string_view key) const {
    const BundleEntry& entry = find(key);
    return with_context(
        [&] { return fmt::format("{}: tensor '{}'", prefix_.string(), one_line(key, longest_shown)); },
        [&] { return entry.slices.empty() ? stored(entry) : joined(key, entry); });
  }

private:
  Tensor allocate(DType type, const Shape& shape) const {
    take(checked_bytes(type, shape, limits_));
    return Tensor::allocate(type, shape);
  }

  /// Counts memory of results: few bytes of an index may name a large tensor many times.
  void take(std::uint64_t bytes) const {
    const std::lock_guard lock(mutex_);
    taken_ += bytes;
    check_limit("total_bytes", taken_, limits_.total_bytes, "the checkpoint's tensors take {} bytes", taken_);
  }

  Tensor stored(const BundleEntry& entry) const {
    const DType type = dtype_of_tensorflow(entry.data_type);
    const std::uint64_t bytes = checked_bytes(type, entry.shape, limits_);
    if (type == DType::string) return strings(entry);
    check(static_cast<std::uint64_t>(entry.size) == bytes, ErrorCode::bad_data,
          "{}{} takes {} bytes, the checkpoint has {}", to_string(type), entry.shape.to_string(), bytes,
          entry.size);
    require_in_shard(entry);
    Tensor tensor = allocate(type, entry.shape);
    const std::span<std::byte> content(static_cast<std::byte*>(tensor.data()),
                                       static_cast<std::size_t>(bytes));
    read_shard(entry, content);
    require_crc(entry, crc32c(content));
    if (type == DType::boolean) require_booleans(tensor);
    return tensor;
  }

  /// The lengths, their checksum, and the characters. Checksums count a length as a number of 4 bytes, or of
  /// 8 where it needs more.
  Tensor strings(const BundleEntry& entry) const {
    const std::int64_t count = entry.shape.elements();
    constexpr std::int64_t crc_bytes = 4;
    check(entry.size >= crc_bytes && count <= entry.size - crc_bytes, ErrorCode::bad_data,
          "{} strings in {} bytes", count, entry.size);
    require_in_shard(entry);
    const Tensor bytes = allocate(DType::u8, Shape{entry.size});
    read_shard(entry, {static_cast<std::byte*>(const_cast<void*>(bytes.data())),
                       static_cast<std::size_t>(entry.size)});
    Cursor lengths(as_text(bytes));
    std::uint32_t crc = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::uint64_t length = lengths.varint();
      std::byte number[sizeof length];
      for (std::size_t j = 0; j < sizeof length; ++j) number[j] = static_cast<std::byte>(length >> (8 * j));
      crc = crc32c(std::span(number).first(length >> 32 ? 8 : 4), crc);
    }
    Cursor characters = lengths;
    const std::string_view stored_crc = characters.take(crc_bytes);
    check(Cursor(stored_crc).fixed(crc_bytes) == masked_crc32c(crc), ErrorCode::bad_data,
          "the lengths of its strings do not match their checksum; the file is damaged");
    const std::string_view rest = as_text(bytes).substr(characters.position() - crc_bytes);
    require_crc(entry, crc32c(std::as_bytes(std::span(rest)), crc));
    Tensor tensor = allocate(DType::string, entry.shape);
    Cursor again(as_text(bytes));
    Meter meter;
    for (std::string& text : tensor.as<std::string>()) {
      const std::string_view part = characters.take(again.varint());
      count_bytes(character_bytes(part.size()));
      text = part;
    }
    check(characters.left() == 0, ErrorCode::bad_data, "{} bytes follow its strings", characters.left());
    own_characters(tensor);
    return tensor;
  }

  Tensor joined(std::string_view key, const BundleEntry& entry) const {
    const DType type = dtype_of_tensorflow(entry.data_type);
    check(type != DType::string, ErrorCode::unsupported, "strings in slices");
    checked_bytes(type, entry.shape, limits_);
    const std::vector<Slice> places = checked_slices(entry.slices, entry.shape);
    std::vector<const BundleEntry*> parts;
    for (std::size_t i = 0; i < places.size(); ++i)
      parts.push_back(&slice_entry(key, entry, entry.slices[i], places[i]));
    Tensor whole = allocate(type, entry.shape);
    for (std::size_t i = 0; i < places.size(); ++i) put_slice(stored(*parts[i]), places[i], whole);
    return whole;
  }

  const BundleEntry& slice_entry(std::string_view key, const BundleEntry& whole, const Slice& slice,
                                 const Slice& place) const {
    const auto found = index_.entries.find(slice_key(key, slice));
    const Shape shape = shape_of(place);
    check(found != index_.entries.end(), ErrorCode::bad_data, "the checkpoint lacks its slice of {}",
          shape.to_string());
    const BundleEntry& entry = found->second;
    check(entry.slices.empty() && entry.shape == shape && entry.data_type == whole.data_type,
          ErrorCode::bad_data, "a slice of {} and type {} is stored as {} and type {}", shape.to_string(),
          whole.data_type, entry.shape.to_string(), entry.data_type);
    require_in_shard(entry);
    return entry;
  }

  static void require_crc(const BundleEntry& entry, std::uint32_t crc) {
    check(entry.crc == masked_crc32c(crc), ErrorCode::bad_data,
          "its {} bytes at byte {} of shard {} do not match their checksum; the file is damaged", entry.size,
          entry.offset, entry.shard);
  }

  /// Before memory is allocated for it.
  void require_in_shard(const BundleEntry& entry) const {
    const std::lock_guard lock(mutex_);
    const std::int64_t size = shard(entry.shard).size();
    check(entry.offset <= size && entry.size <= size - entry.offset, ErrorCode::bad_data,
          "{} bytes expected at byte {} of shard {}, which has {}; it is cut short or of another checkpoint",
          entry.size, entry.offset, entry.shard, size);
  }

  void read_shard(const BundleEntry& entry, std::span<std::byte> into) const {
    const std::lock_guard lock(mutex_);
    const std::size_t done = shard(entry.shard).read_at(static_cast<std::uint64_t>(entry.offset), into);
    check(done == into.size(), ErrorCode::io, "shard {} was cut while being read", entry.shard);
  }

  /// Called with the mutex locked.
  ByteSource& shard(std::int64_t number) const {
    if (const auto open = open_.find(number); open != open_.end()) return *open->second;
    constexpr std::size_t most_open = 32; // a process may have few descriptors
    if (open_.size() >= most_open) open_.clear();
    const std::string name =
        fmt::format("{}.data-{:05}-of-{:05}", prefix_.filename().string(), number, index_.shards);
    if (announced_.insert(number).second && on_file_) on_file_(prefix_.parent_path() / name);
    return *open_.emplace(number, open_beneath(prefix_.parent_path(), name, limits_)).first->second;
  }

  const std::filesystem::path prefix_;
  const Limits limits_;
  const OnFile on_file_;
  BundleIndex index_;
  mutable std::mutex mutex_; ///< Of what follows.
  mutable std::map<std::int64_t, SourcePtr> open_;
  mutable std::set<std::int64_t> announced_;
  mutable std::uint64_t taken_ = 0;
};

Bundle Bundle::open(const std::filesystem::path& prefix, const Limits& limits,
                    std::function<void(const std::filesystem::path&)> on_file) {
  return Bundle(std::make_shared<const State>(prefix, limits, std::move(on_file)));
}

bool Bundle::contains(std::string_view key) const {
  return state_->entries().contains(key);
}

std::vector<std::string> Bundle::keys() const {
  return state_->names();
}

DType Bundle::dtype(std::string_view key) const {
  return dtype_of_tensorflow(state_->find(key).data_type);
}

Shape Bundle::shape(std::string_view key) const {
  return state_->find(key).shape;
}

Tensor Bundle::read(std::string_view key) const {
  return state_->read(key);
}

std::string Bundle::read_string(std::string_view key) const {
  const Tensor tensor = read(key);
  check(tensor.dtype() == DType::string && tensor.elements() == 1, ErrorCode::bad_data,
        "tensor '{}' is {}{}; expected one string", one_line(key, longest_shown), to_string(tensor.dtype()),
        tensor.shape().to_string());
  return tensor.as<std::string>()[0];
}

} // namespace lanner::tensorflow
