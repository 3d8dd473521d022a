#pragma once
// Protobuf messages by field tables: one table per message, read from the binary or the text encoding.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <lanner/limits.h>

namespace lanner {

struct FieldEntry;

/// The text name of an enumerator.
struct EnumName {
  const char* name;
  std::int64_t number;
};

/// The value of one field while it is read. A repeated scalar field calls its entry once per element.
class FieldValue {
public:
  virtual ~FieldValue() = default;
  virtual std::int64_t integer() = 0;
  virtual double real() = 0;
  virtual std::int64_t enumerator(std::span<const EnumName> names) = 0;
  /// A view into the source or, for text with escapes, into memory that the reader keeps until it returns.
  virtual std::string_view bytes() = 0;
  /// Reads a message into `object`; `table` lists the fields.
  virtual void message(std::span<const FieldEntry> table, void* object) = 0;
};

/// A field's binary encoding: fixed32 and fixed64 are float and double, bits32 a fixed 32-bit integer.
enum class Wire : std::uint8_t { varint, fixed32, fixed64, bytes, message, bits32 };

/// One field of a message: its number, its name in the schema, and its setter.
struct FieldEntry {
  std::uint32_t number;
  const char* name;
  Wire wire;
  void (*read)(void* object, FieldValue& value);
};

/// `field<Node, [](Node& node, FieldValue& value) {...}>(1, "input", Wire::bytes)`
template<typename Message, auto set>
constexpr FieldEntry field(std::uint32_t number, const char* name, Wire wire) {
  return {number, name, wire,
          [](void* object, FieldValue& value) { set(*static_cast<Message*>(object), value); }};
}

/// A field that is known and ignored.
constexpr FieldEntry ignored_field(const char* name) {
  return {0, name, Wire::message, nullptr};
}
/// At a table's end: text may have no other fields or, with `but`, only fields whose name ends in it and is
/// not a near miss of one in the table. Without this entry unknown fields in text are skipped.
constexpr FieldEntry no_other_fields(const char* but = "") {
  return {0, but, Wire::varint, nullptr};
}

/// Reads binary protobuf. Unknown fields are skipped. Throws Error{bad_data, limit_exceeded} with the path of
/// the message (`graph.node[12].attribute`) and the byte at which the unreadable field begins.
void read_protobuf(std::span<const std::byte> bytes, std::span<const FieldEntry> table, void* object,
                   const Limits& limits);

/// Reads protobuf's text format likewise, fields by name; errors also give the line.
void read_protobuf_text(std::span<const std::byte> bytes, std::span<const FieldEntry> table, void* object,
                        const Limits& limits);

/// The names of the first fields of a text, at most `most`; none where it is not protobuf text.
std::vector<std::string> leading_fields(std::span<const std::byte> bytes, std::size_t most);

} // namespace lanner
