#pragma once
// Which files one command reads and writes.

#include <compare>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lanner::tool {

/// A file whatever it is called: by device and number where it exists, else by its folder's and the name that
/// it will have.
struct FileIdentity {
  std::uint64_t device = 0, number = 0;
  std::string rest; ///< Of the path, behind the last folder that exists; empty for a file that does.
  friend auto operator<=>(const FileIdentity&, const FileIdentity&) = default;
};
/// Nothing for a path that cannot be looked up; reading or writing it says why.
std::optional<FileIdentity> identity_of(const std::filesystem::path& path);

/// Keeps a command from writing over what it reads, and from writing two things to one file, however the
/// files are spelled or linked. Everything is declared before the work begins; each call throws
/// Error{invalid_argument} for a file that does not go with those before.
class Files {
public:
  /// `role` says how the file came in: `the model`, `--labels`. An empty path is none.
  void reads(std::string_view role, const std::string& path);
  /// `option` says how the file was asked for: `-o`. An empty path is none; `-` is standard output, which may
  /// lead to a file. What is no file, /dev/null or a pipe, goes with everything.
  void writes(std::string_view option, const std::string& path);
  /// Files of that extension in a folder, whose names are not known yet.
  void writes_into(std::string_view option, const std::string& folder, std::string_view extension);

private:
  struct Named {
    std::string role, path;
    std::optional<FileIdentity> identity;
    bool written = false;
  };
  struct Filled {
    std::string option, path, extension;
    std::optional<FileIdentity> identity;
  };
  void add(Named file);
  [[noreturn]] static void refuse(const Named& file, const Named& before);
  static void keep_apart(const Named& file, const Filled& folder);

  std::vector<Named> files_;                                  ///< In the order of declaration.
  std::map<FileIdentity, std::size_t> first_, first_written_; ///< Places in files_.
  std::vector<Filled> folders_;
};

} // namespace lanner::tool
