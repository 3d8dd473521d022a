#include "base/file/module.h"

#include "expect_error.h"
#include "temporary_folder.h"

namespace lanner {
namespace {

TEST(Module, EveryAttemptIsRecordedWithItsReason) {
  const TemporaryFolder folder;
  folder.write("b/liblanner-none.so", "not a library");
  const std::vector<std::filesystem::path> folders{folder / "a", folder / "b"};
  const ModuleResult result = find_module("none", 1, folders);
  EXPECT_EQ(result.table, nullptr);
  ASSERT_EQ(result.attempts.size(), 2u);
  EXPECT_EQ(result.attempts[0].path, (folder / "a/liblanner-none.so").string());
  EXPECT_EQ(result.attempts[0].reason, "there is no such file");
  EXPECT_NE(result.attempts[1].reason.find("liblanner-none.so"), std::string::npos)
      << result.attempts[1].reason;
  EXPECT_NE(result.reason.find("LANNER_MODULE_PATH"), std::string::npos) << result.reason;
}

TEST(Module, ForeignLibraryIsRefused) {
  const TemporaryFolder folder;
  std::filesystem::create_symlink(std::filesystem::canonical("/proc/self/exe"), folder / "liblanner-x.so");
  const std::vector<std::filesystem::path> folders{folder.path()};
  const ModuleResult result = find_module("x", 1, folders);
  EXPECT_EQ(result.table, nullptr);
  EXPECT_FALSE(result.attempts.at(0).reason.empty());
}

TEST(Module, VersionMustAgree) {
  const std::uint32_t table[2] = {3, 0};
  EXPECT_EQ(refuse_table(table, 3), "");
  EXPECT_NE(refuse_table(table, 4).find("version 3, expected 4"), std::string::npos);
  EXPECT_FALSE(refuse_table(nullptr, 3).empty());
}

TEST(Module, ResultIsCached) {
  const ModuleResult& first = load_module("there-is-no-such-module", 1);
  EXPECT_EQ(&first, &load_module("there-is-no-such-module", 1));
  EXPECT_FALSE(first.reason.empty());
  EXPECT_FALSE(first.attempts.empty()) << "the library's own folder was not found";
}

} // namespace
} // namespace lanner
