#pragma once
// A model that is not in a file: a source that makes a graph.

#include <functional>
#include <memory>
#include <string>

#include <lanner/source.h>

#include "importers/importer.h"

namespace lanner {

using GraphMaker = std::function<std::unique_ptr<Graph>(const ImportOptions& options)>;

/// A source without bytes, for which import_model() calls `make`, as often as the model is built.
class GraphSource final : public ByteSource {
public:
  GraphSource(std::string name, GraphMaker make) : name_(std::move(name)), make_(std::move(make)) {}

  const std::string& name() const noexcept override { return name_; }
  std::int64_t size() const noexcept override { return 0; }
  bool seekable() const noexcept override { return true; }
  std::size_t read_at(std::uint64_t, std::span<std::byte>) override { return 0; }
  std::span<const std::byte> map() override { return {}; }

  std::unique_ptr<Graph> graph(const ImportOptions& options) const { return make_(options); }

private:
  std::string name_;
  GraphMaker make_;
};

} // namespace lanner
