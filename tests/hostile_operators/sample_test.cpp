// The sample of hostile operators that every test run covers; docs/HACKING.md says how to run all of them.

#include <cstdio>
#include <filesystem>
#include <string>

#include <sys/wait.h>

#include <gtest/gtest.h>

namespace lanner {
namespace {

TEST(HostileOperators, GiveAnAnswerOrAnError) {
  const auto program =
      std::filesystem::read_symlink("/proc/self/exe").parent_path() / "lanner_hostile_operators";
  const std::string command = program.string() + " --every 29 --mixed 20 2>&1";
  std::FILE* pipe = ::popen(command.c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::string told;
  char part[4096];
  while (const std::size_t size = std::fread(part, 1, sizeof part, pipe)) told.append(part, size);
  const int status = ::pclose(pipe);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << told;
}

} // namespace
} // namespace lanner
