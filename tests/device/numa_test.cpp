#include "device/numa.h"

#include <algorithm>
#include <fstream>

#include <gtest/gtest.h>

#include "temporary_folder.h"

namespace lanner {
namespace {

const std::vector<Cores> two_sockets{{0, 1, 4, 5}, {2, 3, 6, 7}};

TEST(Numa, NodesAreReadFromTheSystem) {
  const TemporaryFolder folder;
  const auto write = [&](const char* node, const char* cores) {
    std::filesystem::create_directory(folder.path() / node);
    std::ofstream(folder.path() / node / "cpulist") << cores << "\n";
  };
  write("node0", "0-1,4-5");
  write("node10", "9");
  write("node1", "2-3,6,7");
  write("node2", ""); // memory without cores
  write("node3", "5-4");
  write("nodes", "0-7");
  EXPECT_EQ(memory_nodes(folder.path()), (std::vector<Cores>{{0, 1, 4, 5}, {2, 3, 6, 7}, {9}}));
  EXPECT_TRUE(memory_nodes(folder.path() / "missing").empty());
}

TEST(Numa, ThisProcessHasCores) {
  const Cores allowed = allowed_cores();
  ASSERT_FALSE(allowed.empty());
  EXPECT_TRUE(std::ranges::is_sorted(allowed));
  const int one = cores_of_one_node(memory_nodes(), allowed);
  EXPECT_GE(one, 1);
  EXPECT_LE(one, static_cast<int>(allowed.size()));
}

TEST(Numa, EngineUsesTheCoresOfOneNode) {
  EXPECT_EQ(cores_of_one_node(two_sockets, {0, 1, 2, 3, 4, 5, 6, 7}), 4);
  EXPECT_EQ(cores_of_one_node(two_sockets, {0, 2, 3}), 2);
  EXPECT_EQ(cores_of_one_node(two_sockets, {8, 9}), 2) << "of no node that is known";
  EXPECT_EQ(cores_of_one_node({}, {0, 1, 2}), 3);
}

TEST(Numa, TeamUsesItsCallersNodeWhereItFits) {
  const Cores all{0, 1, 2, 3, 4, 5, 6, 7};
  EXPECT_EQ(node_of(two_sockets, 6), 1);
  EXPECT_EQ(node_of(two_sockets, 8), -1);
  EXPECT_EQ(cores_for_team(two_sockets, all, 1, 4), (Cores{2, 3, 6, 7}));
  EXPECT_EQ(cores_for_team(two_sockets, all, 1, 5), all);
  EXPECT_EQ(cores_for_team(two_sockets, {0, 1, 2}, 1, 1), (Cores{2}));
  EXPECT_EQ(cores_for_team(two_sockets, {0, 1, 2}, 1, 2), (Cores{0, 1, 2}));
  EXPECT_EQ(cores_for_team(two_sockets, all, -1, 2), all);
}

TEST(Numa, KeepToSetsTheAffinity) {
  const Cores before = allowed_cores();
  keep_to(::pthread_self(), {before.back()});
  EXPECT_EQ(allowed_cores(), (Cores{before.back()}));
  keep_to(::pthread_self(), {1 << 15}); // there is no such core
  EXPECT_EQ(allowed_cores(), (Cores{before.back()}));
  keep_to(::pthread_self(), before);
  EXPECT_EQ(allowed_cores(), before);
}

} // namespace
} // namespace lanner
