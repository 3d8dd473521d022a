#include "importers/importer.h"

#include <algorithm>

#include <fmt/format.h>

#include <lanner/error.h>

#include "importers/onnx/onnx_importer.h"
#include "importers/onnx/onnx_reader.h"

namespace lanner {
namespace {

/// A format: how its content is recognised and read. The first that recognises the content reads it.
struct Format {
  const char* name;
  bool (*recognises)(std::span<const std::byte> bytes);
  std::unique_ptr<Graph> (*import)(const SourcePtr& source, const ImportOptions& options);
};

constexpr Format formats[] = {
    {"ONNX", onnx::looks_like_onnx, onnx::import_onnx},
};

std::string first_bytes(std::span<const std::byte> bytes) {
  std::string hex;
  for (std::byte b : bytes.first(std::min<std::size_t>(bytes.size(), 8))) hex += fmt::format("{:02x} ", static_cast<unsigned>(b));
  return hex.empty() ? "nothing" : hex.substr(0, hex.size() - 1);
}

} // namespace

std::unique_ptr<Graph> import_model(const SourcePtr& source, const ImportOptions& options) {
  const Content content = read_all(source, options.limits);
  for (const Format& format : formats)
    if (format.recognises(content.bytes)) return format.import(source, options);
  std::string known;
  for (const Format& format : formats) known += (known.empty() ? "" : ", ") + std::string(format.name);
  fail(ErrorCode::bad_data, "not a model of a known format ({}): it has {} bytes and starts with {}", known, content.bytes.size(),
       first_bytes(content.bytes));
}

} // namespace lanner
