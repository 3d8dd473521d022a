#include "tasks/draw/color_maps.h"

#include <cstddef>

#include "base/check.h"

namespace lanner {
namespace {

// Every fifth of the 256 colours of each map; linear interpolation is less than one level off. Magma
// and viridis are by Nathaniel Smith and Stefan van der Walt (2015, CC0), turbo by Anton Mikhailov (2019,
// "Turbo, An Improved Rainbow Colormap for Visualization").
constexpr std::size_t knots = 52, knot_step = 5;
constexpr std::uint32_t magma_knots[knots] = {
    0x000004, 0x02020b, 0x050416, 0x090720, 0x0e0b2b, 0x140e36, 0x1a1042, 0x21114e, 0x29115a,
    0x311165, 0x390f6e, 0x420f75, 0x4a1079, 0x52137c, 0x5a167e, 0x621980, 0x6a1c81, 0x721f81,
    0x792282, 0x812581, 0x892881, 0x912b81, 0x992d80, 0xa1307e, 0xaa337d, 0xb2357b, 0xba3878,
    0xc23b75, 0xca3e72, 0xd2426f, 0xd9466b, 0xe04c67, 0xe75263, 0xec5860, 0xf1605d, 0xf4695c,
    0xf7725c, 0xf97b5d, 0xfb8560, 0xfc8e64, 0xfd9869, 0xfea16e, 0xfeaa74, 0xfeb47b, 0xfebd82,
    0xfec68a, 0xfecf92, 0xfed89a, 0xfde2a3, 0xfdebac, 0xfcf4b6, 0xfcfdbf,
};
constexpr std::uint32_t viridis_knots[knots] = {
    0x440154, 0x46085c, 0x471063, 0x481769, 0x481d6f, 0x482475, 0x472a7a, 0x46307e, 0x453781,
    0x433d84, 0x414287, 0x3f4889, 0x3d4e8a, 0x3a538b, 0x38598c, 0x355e8d, 0x33638d, 0x31688e,
    0x2e6d8e, 0x2c718e, 0x2a768e, 0x297b8e, 0x27808e, 0x25848e, 0x23898e, 0x218e8d, 0x20928c,
    0x1f978b, 0x1e9c89, 0x1fa188, 0x21a585, 0x24aa83, 0x28ae80, 0x2eb37c, 0x35b779, 0x3dbc74,
    0x46c06f, 0x50c46a, 0x5ac864, 0x65cb5e, 0x70cf57, 0x7cd250, 0x89d548, 0x95d840, 0xa2da37,
    0xb0dd2f, 0xbddf26, 0xcae11f, 0xd8e219, 0xe5e419, 0xf1e51d, 0xfde725,
};
constexpr std::uint32_t turbo_knots[knots] = {
    0x30123b, 0x36215f, 0x3b2f80, 0x3f3e9c, 0x424bb5, 0x4559cb, 0x4666dd, 0x4773eb, 0x4680f6,
    0x458cfd, 0x4099ff, 0x38a5fb, 0x2fb2f4, 0x27bee9, 0x1fc9dd, 0x1ad4d0, 0x18ddc2, 0x1ae4b6,
    0x22ebaa, 0x2ff19b, 0x3ff68a, 0x52fa7a, 0x65fd69, 0x79fe59, 0x8bff4b, 0x9cfe40, 0xa9fb39,
    0xb7f735, 0xc3f134, 0xd0ea34, 0xdbe236, 0xe5d938, 0xeecf3a, 0xf5c53a, 0xfaba39, 0xfdae35,
    0xfea130, 0xfe932a, 0xfc8423, 0xf9751d, 0xf46617, 0xef5811, 0xe84b0c, 0xe14109, 0xd83706,
    0xce2d04, 0xc32503, 0xb71d02, 0xa91601, 0x9b0f01, 0x8b0902, 0x7a0403,
};

constexpr ColorMap between(const std::uint32_t (&colors)[knots]) {
  ColorMap map{};
  for (std::size_t i = 0; i < map.size(); ++i) {
    const std::size_t knot = i / knot_step, next = knot + 1 < knots ? knot + 1 : knot, part = i % knot_step;
    for (std::size_t c = 0; c < 3; ++c) {
      const unsigned shift = static_cast<unsigned>(16 - 8 * c);
      const std::size_t from = colors[knot] >> shift & 0xff, to = colors[next] >> shift & 0xff;
      map[i][c] =
          static_cast<std::uint8_t>((from * (knot_step - part) + to * part + knot_step / 2) / knot_step);
    }
  }
  return map;
}

constexpr ColorMap levels() {
  ColorMap map{};
  for (std::size_t i = 0; i < map.size(); ++i) map[i].fill(static_cast<std::uint8_t>(i));
  return map;
}

constexpr ColorMap magma = between(magma_knots), viridis = between(viridis_knots),
                   turbo = between(turbo_knots), gray = levels();

} // namespace

const ColorMap& color_map(std::string_view name) {
  if (name.empty() || name == "magma") return magma;
  if (name == "viridis") return viridis;
  if (name == "turbo") return turbo;
  check(name == "gray", ErrorCode::invalid_argument, "color map '{}': expected magma, viridis, turbo or gray",
        name);
  return gray;
}

} // namespace lanner
