#include "importers/onnx/onnx_summary.h"

#include <fmt/format.h>
#include <protozero/pbf_reader.hpp>

#include "base/text/one_line.h"

namespace lanner::onnx {
namespace {

constexpr std::size_t longest_name = 60;

/// OperatorSetIdProto: the version alone for ONNX's default domain.
std::string opset(protozero::pbf_reader record) {
  std::string domain;
  std::int64_t version = 0;
  while (record.next()) {
    if (record.tag() == 1)
      domain = record.get_string();
    else if (record.tag() == 2)
      version = record.get_int64();
    else
      record.skip();
  }
  if (domain.empty() || domain == "ai.onnx") return std::to_string(version);
  return fmt::format("{} {}", one_line(domain, longest_name), version);
}

} // namespace

std::string summary(std::span<const std::byte> bytes) {
  std::int64_t ir = 0;
  std::string opsets, producer, version;
  try {
    protozero::pbf_reader model(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    while (model.next()) {
      switch (model.tag_and_type()) {
      case protozero::tag_and_type(1, protozero::pbf_wire_type::varint):
        ir = model.get_int64();
        break;
      case protozero::tag_and_type(2, protozero::pbf_wire_type::length_delimited):
        producer = one_line(model.get_string(), longest_name);
        break;
      case protozero::tag_and_type(3, protozero::pbf_wire_type::length_delimited):
        version = one_line(model.get_string(), longest_name);
        break;
      case protozero::tag_and_type(8, protozero::pbf_wire_type::length_delimited):
        opsets += (opsets.empty() ? "" : ", ") + opset(model.get_message());
        break;
      default:
        model.skip();
      }
    }
  } catch (const protozero::exception&) { // The importer reports the error; here we show the fields read
                                          // before it.
  }
  std::string text = fmt::format("IR {}", ir);
  if (!opsets.empty()) text += ", opset " + opsets;
  if (!producer.empty()) text += ", by " + producer + (version.empty() ? "" : " " + version);
  return text;
}

} // namespace lanner::onnx
