#pragma once
// The files that one command reads and writes.

#include <compare>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lanner::tool {

/// The identity of a file under any name: device and number where it exists, else the folder's and the name
/// that it will have.
struct FileIdentity {
  std::uint64_t device = 0, number = 0;
  std::string rest; ///< The part of the path below the last folder that exists; empty for an existing file.
  friend auto operator<=>(const FileIdentity&, const FileIdentity&) = default;
};
/// None for a path that cannot be looked up; reading or writing it reports why.
std::optional<FileIdentity> identity_of(const std::filesystem::path& path);

/// Prevents a command from overwriting its inputs and from writing two outputs to one file, under whatever
/// name or link. Everything is declared before the work begins; each call throws Error{invalid_argument} for
/// a file that conflicts with earlier ones.
class Files {
public:
  /// `role` says where the file was named: `the model`, `--labels`. An empty path is ignored.
  void reads(std::string_view role, const std::string& path);
  /// `option` says where the file was named: `-o`. An empty path is ignored; `-` is standard output, which
  /// may be redirected to a file. Anything that is not a file, like /dev/null or a pipe, never conflicts.
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
  std::map<FileIdentity, std::size_t> first_, first_written_; ///< Indices into files_.
  std::vector<Filled> folders_;
};

} // namespace lanner::tool
