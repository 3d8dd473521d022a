#include "base/options.h"

#include <map>

#include <gtest/gtest.h>

namespace lanner {
namespace {

Options read(const std::map<std::string, std::string>& values) {
  return read_options([&](const char* name) -> const char* {
    const auto found = values.find(name);
    return found == values.end() ? nullptr : found->second.c_str();
  });
}

TEST(Options, DefaultsNeedNoEnvironment) {
  const Options none = read({});
  EXPECT_TRUE(none.cache_folder.empty());
  EXPECT_TRUE(none.module_path.empty());
  EXPECT_EQ(none.log, "off");
  EXPECT_EQ(none.threads, 0);
  EXPECT_TRUE(none.problems.empty());
}

TEST(Options, CacheFolderByPrecedence) {
  EXPECT_EQ(read({{"HOME", "/h"}}).cache_folder, "/h/.cache/lanner");
  EXPECT_EQ(read({{"HOME", "/h"}, {"XDG_CACHE_HOME", "/x"}}).cache_folder, "/x/lanner");
  EXPECT_EQ(read({{"HOME", "/h"}, {"XDG_CACHE_HOME", "relative"}}).cache_folder, "/h/.cache/lanner");
  EXPECT_EQ(read({{"HOME", "/h"}, {"LANNER_CACHE_DIR", "/own"}}).cache_folder, "/own");
}

TEST(Options, SplitsPaths) {
  const std::vector<std::filesystem::path> expected{"/a", "/b"};
  EXPECT_EQ(read({{"LANNER_MODULE_PATH", ":/a::/b:"}}).module_path, expected);
  EXPECT_EQ(read({{"LANNER_LIBRARY_PATH", "/a:/b"}}).library_path, expected);
}

TEST(Options, FontFoldersFollowXdg) {
  using Paths = std::vector<std::filesystem::path>;
  EXPECT_EQ(read({}).font_folders, (Paths{"/usr/local/share/fonts", "/usr/share/fonts"}));
  EXPECT_EQ(read({{"HOME", "/h"}, {"XDG_DATA_DIRS", "/a:relative:/b"}}).font_folders,
            (Paths{"/h/.local/share/fonts", "/h/.fonts", "/a/fonts", "/b/fonts"}));
  EXPECT_EQ(read({{"XDG_DATA_HOME", "/x"}, {"XDG_DATA_DIRS", "/a"}}).font_folders,
            (Paths{"/x/fonts", "/a/fonts"}));
}

TEST(Options, InvalidValuesAreReported) {
  const Options bad = read({{"LANNER_THREADS", "many"}, {"LANNER_LOG", "loud"}});
  EXPECT_EQ(bad.threads, 0);
  EXPECT_EQ(bad.log, "off");
  EXPECT_EQ(bad.problems.size(), 2u);
  EXPECT_EQ(read({{"LANNER_THREADS", "0"}}).problems.size(), 1u);
  const Options good = read({{"LANNER_THREADS", "2"}, {"LANNER_LOG", "debug"}});
  EXPECT_EQ(good.threads, 2);
  EXPECT_EQ(good.log, "debug");
  EXPECT_TRUE(good.problems.empty());
}

} // namespace
} // namespace lanner
