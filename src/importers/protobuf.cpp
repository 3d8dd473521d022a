#include "importers/protobuf.h"

#include <bit>
#include <map>
#include <vector>

#include <fmt/format.h>
#include <protozero/pbf_reader.hpp>

#include <lanner/error.h>

#include "base/check.h"
#include "base/limits/account.h"
#include "base/limits/limit_error.h"

namespace lanner {
namespace {

// Least memory that one element of a parsed file takes: a small field must not turn into a large object for
// free.
constexpr std::uint64_t scalar_cost = 8, text_cost = 48, message_cost = 256;

/// Reads nested messages, and keeps their path for error messages.
class BinaryReader {
public:
  BinaryReader(std::span<const std::byte> bytes, const Limits& limits)
      : begin_(reinterpret_cast<const char*>(bytes.data())), at_(begin_), limits_(limits) {}

  void read(protozero::data_view view, std::span<const FieldEntry> table, void* object);

  std::string where() const {
    std::string path;
    for (const std::string& part : path_) path += (path.empty() ? "" : ".") + part;
    if (field_) path += (path.empty() ? "" : ".") + std::string(field_);
    return fmt::format("byte {}{}{}", at_ - begin_, path.empty() ? "" : ", ", path);
  }
  void charge(std::uint64_t bytes) {
    taken_ += bytes;
    check_limit("total_bytes", taken_, limits_.total_bytes, "the file unpacks to {} bytes", taken_);
    count_bytes(bytes);
  }

private:
  friend class BinaryValue;
  const char* begin_;
  const char* at_;              ///< Data of the field being read.
  const char* field_ = nullptr; ///< Its name, unless it is a message.
  const Limits& limits_;
  std::uint64_t taken_ = 0;
  std::vector<std::string> path_;
};

/// A value in the binary encoding.
class BinaryValue : public FieldValue {
public:
  BinaryValue(BinaryReader& reader, const FieldEntry& entry, std::size_t index)
      : reader_(reader), entry_(entry), index_(index) {}
  void set_integer(std::uint64_t value) {
    reader_.charge(scalar_cost);
    integer_ = static_cast<std::int64_t>(value), kind_ = 0;
  }
  void set_real(double value) {
    reader_.charge(scalar_cost);
    real_ = value, kind_ = 1;
  }
  void set_bytes(protozero::data_view view) {
    reader_.charge(entry_.wire == Wire::message ? message_cost : text_cost + view.size());
    view_ = view, kind_ = 2;
  }

  std::int64_t integer() override { return kind_ == 0 ? integer_ : mismatch(); }
  std::int64_t enumerator(std::span<const EnumName>) override { return integer(); }
  double real() override { return kind_ == 1 ? real_ : static_cast<double>(mismatch()); }
  std::string_view bytes() override {
    return kind_ == 2 ? std::string_view(view_.data(), view_.size()) : (mismatch(), std::string_view{});
  }
  void message(std::span<const FieldEntry> table, void* object) override {
    if (kind_ != 2) mismatch();
    check_deadline();
    check_limit("depth", reader_.path_.size() + 1, reader_.limits_.depth, "messages are nested {} deep",
                reader_.path_.size() + 1);
    reader_.path_.push_back(index_ ? fmt::format("{}[{}]", entry_.name, index_) : entry_.name);
    reader_.read(view_, table, object);
    reader_.path_.pop_back();
  }

private:
  [[noreturn]] std::int64_t mismatch() const {
    fail(ErrorCode::bad_data, "field {} has another type than the schema says", entry_.name);
  }

  BinaryReader& reader_;
  const FieldEntry& entry_;
  std::size_t index_;
  int kind_ = 0;
  std::int64_t integer_ = 0;
  double real_ = 0;
  protozero::data_view view_;
};

const FieldEntry* find(std::span<const FieldEntry> table, std::uint32_t number) {
  for (const FieldEntry& entry : table)
    if (entry.number == number && entry.read) return &entry;
  return nullptr;
}

/// Packed scalars: calls the same entry for each.
template<typename Range, typename Set>
void each(const Range& range, BinaryValue& value, const FieldEntry& entry, void* object, Set set) {
  for (const auto element : range) {
    set(element);
    entry.read(object, value);
  }
}

void read_packed(protozero::pbf_reader& message, BinaryValue& value, const FieldEntry& entry, void* object) {
  if (entry.wire == Wire::varint)
    each(message.get_packed_uint64(), value, entry, object, [&](std::uint64_t v) { value.set_integer(v); });
  else if (entry.wire == Wire::bits32)
    each(message.get_packed_fixed32(), value, entry, object, [&](std::uint32_t v) { value.set_integer(v); });
  else if (entry.wire == Wire::fixed32)
    each(message.get_packed_float(), value, entry, object,
         [&](float v) { value.set_real(static_cast<double>(v)); });
  else
    each(message.get_packed_double(), value, entry, object, [&](double v) { value.set_real(v); });
}

void read_field(protozero::pbf_reader& message, BinaryValue& value, const FieldEntry& entry, void* object) {
  const bool scalar = entry.wire != Wire::bytes && entry.wire != Wire::message;
  switch (message.wire_type()) {
  case protozero::pbf_wire_type::length_delimited:
    if (scalar) return read_packed(message, value, entry, object);
    value.set_bytes(message.get_view());
    break;
  case protozero::pbf_wire_type::varint:
    value.set_integer(message.get_uint64());
    break;
  case protozero::pbf_wire_type::fixed32:
    if (entry.wire == Wire::bits32)
      value.set_integer(message.get_fixed32());
    else
      value.set_real(static_cast<double>(message.get_float()));
    break;
  case protozero::pbf_wire_type::fixed64:
    value.set_real(message.get_double());
    break;
  default:
    fail(ErrorCode::bad_data, "field {} has an unknown wire type", entry.name);
  }
  entry.read(object, value);
}

void BinaryReader::read(protozero::data_view view, std::span<const FieldEntry> table, void* object) {
  std::map<std::uint32_t, std::size_t> seen;
  protozero::pbf_reader message(view);
  while (message.next()) {
    at_ = message.data().data();
    const FieldEntry* entry = find(table, message.tag());
    if (!entry) {
      message.skip();
      continue;
    }
    BinaryValue value(*this, *entry, seen[entry->number]++);
    // A message adds itself to the path; for any other field the path keeps the name when reading it fails.
    field_ = entry->wire == Wire::message ? nullptr : entry->name;
    read_field(message, value, *entry, object);
    field_ = nullptr;
  }
}

} // namespace

void read_protobuf(std::span<const std::byte> bytes, std::span<const FieldEntry> table, void* object,
                   const Limits& limits) {
  BinaryReader reader(bytes, limits);
  try {
    reader.read({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, table, object);
  } catch (const protozero::exception& error) {
    fail(ErrorCode::bad_data, "{}: not a whole protobuf message ({}); the file is cut off or damaged",
         reader.where(), error.what());
  } catch (const Error& error) {
    throw error.within(reader.where());
  }
}

} // namespace lanner
