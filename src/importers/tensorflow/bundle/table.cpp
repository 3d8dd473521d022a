#include "importers/tensorflow/bundle/table.h"

#include <optional>
#include <string>

#include <fmt/format.h>

#include "base/check.h"
#include "base/crc32c.h"
#include "base/limits/account.h"
#include "base/limits/limit_error.h"
#include "importers/tensorflow/bundle/cursor.h"
#include "importers/tensorflow/bundle/snappy.h"

namespace lanner::tensorflow {
namespace {

using UseRow = std::function<void(std::string_view key, std::string_view value)>;

constexpr std::uint64_t magic = 0xdb4775248b80fb57;
constexpr std::size_t magic_bytes = 8, type_bytes = 1, crc_bytes = 4;

std::string_view text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Where a block is, without the type and checksum that follow it.
struct Handle {
  std::uint64_t offset = 0, size = 0;
};

Handle read_handle(Cursor& cursor) {
  const std::uint64_t offset = cursor.varint();
  return {offset, cursor.varint()};
}

/// Reads the blocks of one file. Data blocks follow each other, so a file cannot show one block many times.
class TableReader {
public:
  TableReader(std::string_view file, const Limits& limits, const UseRow& use)
      : file_(file), limits_(limits), use_(use) {}

  void run() {
    check(file_.size() >= footer_bytes, ErrorCode::bad_data,
          "{} bytes are too few for the index of a checkpoint", file_.size());
    check(ends_table(std::as_bytes(std::span(file_))), ErrorCode::bad_data,
          "does not end as the index of a checkpoint does; it is cut short or another file");
    Cursor footer(file_.substr(file_.size() - footer_bytes, footer_bytes - magic_bytes));
    with_context([] { return "footer"; }, [&] { read_handle(footer); });
    const Handle index = with_context([] { return "footer"; }, [&] { return read_handle(footer); });
    const std::string blocks = content(index);
    each_row(blocks, [&](std::string_view, std::string_view value) {
      Cursor cursor(value);
      const Handle handle = read_handle(cursor);
      check(handle.offset >= end_, ErrorCode::bad_data, "the block at byte {} begins before byte {}",
            handle.offset, end_);
      const std::string block = content(handle);
      end_ = handle.offset + handle.size;
      with_context([&] { return fmt::format("block at byte {}", handle.offset); },
                   [&] { each_row(block, [&](auto key, auto row) { use_in_order(key, row); }); });
    });
  }

private:
  std::string content(const Handle& handle) {
    check_deadline();
    constexpr std::uint64_t trailer = type_bytes + crc_bytes;
    check(file_.size() >= trailer && handle.size <= file_.size() - trailer &&
              handle.offset <= file_.size() - trailer - handle.size,
          ErrorCode::bad_data, "a block of {} bytes at byte {} is outside of the file's {} bytes",
          handle.size, handle.offset, file_.size());
    const std::string_view stored =
        file_.substr(static_cast<std::size_t>(handle.offset), static_cast<std::size_t>(handle.size));
    Cursor end(file_.substr(stored.size() + static_cast<std::size_t>(handle.offset), trailer));
    const std::uint8_t type = end.byte();
    const std::uint32_t found =
        masked_crc32c(crc32c(std::as_bytes(std::span(stored.data(), stored.size() + type_bytes))));
    check(end.fixed(crc_bytes) == found, ErrorCode::bad_data,
          "the block of {} bytes at byte {} does not match its checksum; the file is damaged", handle.size,
          handle.offset);
    check(type <= 1, ErrorCode::bad_data,
          "the block at byte {} has the compression {}; expected 0 (none) or 1 (snappy)", handle.offset,
          type);
    return type == 0 ? std::string(stored) : read_snappy(stored, limits_);
  }

  void use_in_order(std::string_view key, std::string_view value) {
    check(!last_key_ || *last_key_ < key, ErrorCode::bad_data, "the keys do not ascend");
    last_key_ = key;
    use_(key, value);
  }

  void each_row(std::string_view block, const UseRow& use) {
    constexpr std::size_t number = 4;
    check(block.size() >= number, ErrorCode::bad_data, "a block of {} bytes", block.size());
    const std::uint64_t restarts = Cursor(block.substr(block.size() - number)).fixed(number);
    check(restarts <= (block.size() - number) / number, ErrorCode::bad_data,
          "a block of {} bytes cannot have {} restarts", block.size(), restarts);
    Cursor cursor(block.substr(0, block.size() - number * static_cast<std::size_t>(restarts + 1)));
    std::string key;
    while (cursor.left() > 0) {
      check_deadline();
      ++rows_;
      check_limit("nodes", rows_, limits_.nodes, "{} rows of a checkpoint's index", rows_);
      const std::uint64_t shared = cursor.varint(), added = cursor.varint(), size = cursor.varint();
      check(shared <= key.size(), ErrorCode::bad_data,
            "a key begins as the {} first bytes of one of {} bytes", shared, key.size());
      key.resize(static_cast<std::size_t>(shared));
      key += cursor.take(added);
      // Keys that share their beginning take more memory than the file has bytes for them.
      unpacked_ += key.size();
      check_limit("total_bytes", unpacked_, limits_.total_bytes, "the keys take {} bytes", unpacked_);
      use(key, cursor.take(size));
    }
  }

  std::string_view file_;
  const Limits& limits_;
  const UseRow& use_;
  std::optional<std::string> last_key_;
  std::uint64_t end_ = 0, rows_ = 0, unpacked_ = 0;
};

} // namespace

bool ends_table(std::span<const std::byte> end) {
  if (end.size() < magic_bytes) return false;
  return Cursor(text(end.last(magic_bytes))).fixed(magic_bytes) == magic;
}

void read_table(std::span<const std::byte> file, const Limits& limits, const UseRow& use) {
  TableReader(text(file), limits, use).run();
}

} // namespace lanner::tensorflow
