#include "video/read/shared_source.h"

#include <mutex>
#include <utility>

namespace lanner {

namespace {

class SharedSource final : public ByteSource {
public:
  explicit SharedSource(SourcePtr source) : source_(std::move(source)) {}

  const std::string& name() const noexcept override { return source_->name(); }
  std::int64_t size() const noexcept override { return source_->size(); }
  bool seekable() const noexcept override { return source_->seekable(); }
  std::size_t read_at(std::uint64_t offset, std::span<std::byte> into) override {
    const std::lock_guard lock(mutex_);
    return source_->read_at(offset, into);
  }
  std::span<const std::byte> map() override {
    const std::lock_guard lock(mutex_);
    return source_->map();
  }
  const ByteSource& original() const noexcept { return *source_; }

private:
  SourcePtr source_;
  std::mutex mutex_;
};

} // namespace

SourcePtr shared_source(SourcePtr source) {
  if (!source || std::dynamic_pointer_cast<SharedSource>(source)) return source;
  return std::make_shared<SharedSource>(std::move(source));
}

const ByteSource& original_source(const ByteSource& source) noexcept {
  const auto* shared = dynamic_cast<const SharedSource*>(&source);
  return shared ? shared->original() : source;
}

} // namespace lanner
