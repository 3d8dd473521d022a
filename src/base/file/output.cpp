#include <lanner/output.h>

#include <string>

#include <lanner/error.h>

#include "base/check.h"
#include "base/file/file.h"

namespace lanner {
namespace {

constexpr std::size_t gathered_bytes = 1 << 16;

} // namespace

struct OutputFile::State {
  explicit State(const std::filesystem::path& path) : file(path) {}

  void flush() {
    file.write(gathered);
    gathered.clear();
  }

  AtomicFile file;
  std::string gathered;
  bool committed = false;
};

OutputFile::OutputFile(const std::filesystem::path& path) : state_(std::make_unique<State>(path)) {}
OutputFile::~OutputFile() = default;
OutputFile::OutputFile(OutputFile&&) noexcept = default;
OutputFile& OutputFile::operator=(OutputFile&&) noexcept = default;

const std::filesystem::path& OutputFile::path() const noexcept {
  return state_->file.path();
}

void OutputFile::write(std::string_view text) {
  check(!state_->committed, ErrorCode::invalid_argument, "{}: write after commit", path().string());
  state_->gathered += text;
  if (state_->gathered.size() >= gathered_bytes) state_->flush();
}

void OutputFile::write(std::span<const std::byte> bytes) {
  write(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

void OutputFile::commit(bool to_disk) {
  check(!state_->committed, ErrorCode::invalid_argument, "{}: committed before", path().string());
  state_->flush();
  state_->file.commit(to_disk);
  state_->committed = true;
}

} // namespace lanner
