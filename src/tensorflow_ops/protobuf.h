#pragma once
// Walks over serialised messages.

#include <cstdint>
#include <string_view>

#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include <lanner/error.h>

namespace lanner::tensorflow_ops {

inline std::string_view text(const protozero::data_view& view) {
  return {view.data(), view.size()};
}

/// The bytes of the field that the reader is at: text, bytes or a message.
inline std::string_view bytes_of(protozero::pbf_reader& reader) {
  if (reader.wire_type() != protozero::pbf_wire_type::length_delimited)
    throw protozero::unknown_pbf_wire_type_exception();
  return text(reader.get_view());
}
/// The integer that the reader is at.
inline std::int64_t integer_of(protozero::pbf_reader& reader) {
  if (reader.wire_type() != protozero::pbf_wire_type::varint)
    throw protozero::unknown_pbf_wire_type_exception();
  return reader.get_int64();
}

/// Calls `visit(reader)` at each field, which must read or skip it. Throws Error{bad_data} for bytes that are
/// no message.
template<typename Visit>
void each_field(std::string_view message, const char* what, Visit&& visit) {
  try {
    protozero::pbf_reader reader(message.data(), message.size());
    while (reader.next()) visit(reader);
  } catch (const protozero::exception& error) {
    errors::fail(ErrorCode::bad_data, "{} is no protobuf message: {}", what, error.what());
  }
}

/// Copies the field that the reader is at.
inline void copy_field(protozero::pbf_reader& reader, protozero::pbf_writer& to) {
  const auto tag = reader.tag();
  switch (reader.wire_type()) {
  case protozero::pbf_wire_type::varint:
    to.add_uint64(tag, reader.get_uint64());
    break;
  case protozero::pbf_wire_type::fixed64:
    to.add_fixed64(tag, reader.get_fixed64());
    break;
  case protozero::pbf_wire_type::length_delimited:
    to.add_bytes(tag, reader.get_view());
    break;
  case protozero::pbf_wire_type::fixed32:
    to.add_fixed32(tag, reader.get_fixed32());
    break;
  default:
    throw protozero::unknown_pbf_wire_type_exception();
  }
}

} // namespace lanner::tensorflow_ops
