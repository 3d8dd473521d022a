#include "input/files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include <lanner/error.h>

#include "check.h"

namespace lanner::tool {
namespace {

namespace fs = std::filesystem;

FileIdentity made_of(const struct stat& status, std::string rest) {
  return {status.st_dev, status.st_ino, std::move(rest)};
}

/// Standard output, where it is redirected to a regular file.
std::optional<FileIdentity> output_file() {
  struct stat status {};
  if (::fstat(STDOUT_FILENO, &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return made_of(status, {});
}

std::optional<FileIdentity> folder_of(const std::string& path) {
  const fs::path folder = fs::path(path).parent_path();
  return identity_of(folder.empty() ? fs::path(".") : folder);
}

} // namespace

std::optional<FileIdentity> identity_of(const fs::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) return made_of(status, {});
  fs::path folder = path, rest;
  while (folder.has_relative_path()) {
    const fs::path name = folder.filename();
    rest = rest.empty() ? name : name / rest;
    folder = folder.parent_path();
    if (::stat(folder.empty() ? "." : folder.c_str(), &status) == 0) return made_of(status, rest.string());
  }
  return std::nullopt;
}

void Files::add(Named file) {
  for (const Filled& folder : folders_) keep_apart(file, folder);
  if (file.identity) {
    const auto& places = file.written ? first_ : first_written_;
    if (const auto found = places.find(*file.identity); found != places.end())
      refuse(file, files_[found->second]);
    first_.emplace(*file.identity, files_.size());
    if (file.written) first_written_.emplace(*file.identity, files_.size());
  }
  files_.push_back(std::move(file));
}

void Files::refuse(const Named& file, const Named& before) {
  const Named& output = file.written ? file : before;
  const Named& other = file.written ? before : file;
  check(!other.written, ErrorCode::invalid_argument,
        "{}: {} and {} would both be written to this file; give each its own", output.path, other.role,
        output.role);
  fail(ErrorCode::invalid_argument,
       "{} {}: would overwrite {}, which is also read ({}); give the output another name", output.role,
       output.path, other.path, other.role);
}

void Files::keep_apart(const Named& file, const Filled& folder) {
  check(fs::path(file.path).extension() != folder.extension || folder_of(file.path) != folder.identity,
        ErrorCode::invalid_argument,
        "{} {}: {} ({}) is in this folder and might be overwritten; give another folder", folder.option,
        folder.path, file.path, file.role);
}

void Files::reads(std::string_view role, const std::string& path) {
  if (!path.empty()) add({std::string(role), path, identity_of(path), false});
}

void Files::writes(std::string_view option, const std::string& path) {
  if (path.empty()) return;
  std::error_code ignored;
  if (path != "-" && fs::exists(path, ignored) && fs::is_other(path, ignored)) return;
  add({std::string(option), path, path == "-" ? output_file() : identity_of(path), true});
}

void Files::writes_into(std::string_view option, const std::string& folder, std::string_view extension) {
  if (folder.empty()) return;
  const Filled filled{std::string(option), folder, std::string(extension), identity_of(fs::path(folder))};
  for (const Named& file : files_) keep_apart(file, filled);
  folders_.push_back(filled);
}

} // namespace lanner::tool
