#include <gtest/gtest.h>

#include "base/text/nearest.h"

namespace lanner {

TEST(Nearest, CountsEdits) {
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("form", "from"), 1u);
}

TEST(Nearest, SuggestsOnlySimilarNamesNearestFirst) {
  const std::vector<std::string> names{"softmax", "softplus", "relu", "max", "soft_max"};
  EXPECT_EQ(nearest_names("sofmax", names), (std::vector<std::string>{"softmax", "soft_max"}));
  EXPECT_TRUE(nearest_names("convolution", names).empty());
  EXPECT_EQ(did_you_mean("rulu", names), "; did you mean relu?");
  EXPECT_EQ(did_you_mean("xyz", names), "");
}

} // namespace lanner
