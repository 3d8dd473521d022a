#include "tasks/draw/strokes.h"

#include <array>
#include <cstdint>

namespace lanner {
namespace {

/// Strokes of one letter in a small language: `Mxy` moves the pen, `Lxy` draws a line, `Qabxy` a quadratic
/// curve with control point (a, b). Coordinates are one character each, 0 to 9 and a to g for 10 to 16;
/// capitals extend from 0 to c, small letters from 4 to c.
struct Glyph {
  const char* pen;
  std::int8_t width;
};

// From space to tilde.
constexpr Glyph glyphs[] = {
    {"", 4},                                                      // space
    {"M00L08M0cL0c", 0},                                          // !
    {"M00L03M30L33", 3},                                          // "
    {"M30L1cM70L5cM04L84M08L88", 8},                              // #
    {"M82Q7141Q0103Q0646Q8689Q8b4bQ1b0aM40L4c", 8},               // $
    {"M90L0cM20Q0002Q0424Q4442Q4020M88Q686aQ6c8cQacaaQa888", 10}, // %
    {"M9cL24Q1221Q3040Q6062Q6435Q0709Q0c3cQ6c87", 9},             // &
    {"M00L03", 0},                                                // '
    {"M30Q0206Q0a3c", 3},                                         // (
    {"M00Q3236Q3a0c", 3},                                         // )
    {"M31L37M02L66M62L06", 6},                                    // *
    {"M43L4bM07L87", 8},                                          // +
    {"M1bL0e", 1},                                                // ,
    {"M07L57", 5},                                                // -
    {"M0cL0c", 0},                                                // .
    {"M60L0c", 6},                                                // /
    {"M40Q0006Q0c4cQ8c86Q8040", 8},                               // 0
    {"M02L30L3c", 3},                                             // 1
    {"M03Q0040Q8083Q8548L0cL8c", 8},                              // 2
    {"M02Q1040Q8083Q8636M36Q8689Q8c4cQ1c0a", 8},                  // 3
    {"M6cL60L08L88", 8},                                          // 4
    {"M70L10L06Q1444Q8488Q8c4cQ1c0a", 8},                         // 5
    {"M71Q6050Q0008Q0c4cQ8c88Q8444Q0408", 8},                     // 6
    {"M00L80L3c", 8},                                             // 7
    {"M40Q0003Q0646Q8683Q8040M46Q0609Q0c4cQ8c89Q8646", 8},        // 8
    {"M84Q8848Q0804Q0040Q8084Q8c3cQ2c1b", 8},                     // 9
    {"M05L05M0cL0c", 0},                                          // :
    {"M15L15M1bL0e", 1},                                          // ;
    {"M73L07L7b", 7},                                             // <
    {"M05L75M09L79", 7},                                          // =
    {"M03L77L0b", 7},                                             // >
    {"M02Q0030Q7073Q7535Q3638M3cL3c", 7},                         // ?
    {"M74Q3336Q3959Q7974L78Q8a98Qa593Q7050Q0006Q0c5cL8c", 10},    // @
    {"M0cL40L8cM19L79", 8},                                       // A
    {"M00L0cL4cQ8c89Q8646L06M00L40Q7073Q7646", 8},                // B
    {"M82Q7050Q0006Q0c5cQ7c8a", 8},                               // C
    {"M00L0cL3cQ8c86Q8030L00", 8},                                // D
    {"M70L00L0cL7cM06L66", 7},                                    // E
    {"M70L00L0cM06L66", 7},                                       // F
    {"M82Q7050Q0006Q0c5cQ8c88L87L57", 8},                         // G
    {"M00L0cM80L8cM06L86", 8},                                    // H
    {"M00L0c", 0},                                                // I
    {"M60L69Q6c3cQ0c09", 6},                                      // J
    {"M00L0cM80L07M34L8c", 8},                                    // K
    {"M00L0cL7c", 7},                                             // L
    {"M0cL00L5aLa0Lac", 10},                                      // M
    {"M0cL00L8cL80", 8},                                          // N
    {"M50Q0006Q0c5cQaca6Qa050", 10},                              // O
    {"M0cL00L40Q8083Q8747L07", 8},                                // P
    {"M50Q0006Q0c5cQaca6Qa050M79Lad", 10},                        // Q
    {"M0cL00L40Q8083Q8747L07M47L8c", 8},                          // R
    {"M82Q7040Q0003Q0646Q8689Q8c4cQ1c0a", 8},                     // S
    {"M00L80M40L4c", 8},                                          // T
    {"M00L08Q0c4cQ8c88L80", 8},                                   // U
    {"M00L4cL80", 8},                                             // V
    {"M00L3cL60L9cLc0", 12},                                      // W
    {"M00L8cM80L0c", 8},                                          // X
    {"M00L46L80M46L4c", 8},                                       // Y
    {"M00L80L0cL8c", 8},                                          // Z
    {"M30L00L0cL3c", 3},                                          // [
    {"M00L6c", 6},                                                // backslash
    {"M00L30L3cL0c", 3},                                          // ]
    {"M04L30L64", 6},                                             // ^
    {"M0eL8e", 8},                                                // _
    {"M00L22", 2},                                                // `
    {"M74L7cM78Q7444Q0408Q0c4cQ7c78", 7},                         // a
    {"M00L0cM08Q0434Q7478Q7c3cQ0c08", 7},                         // b
    {"M65Q5444Q0408Q0c4cQ5c6b", 6},                               // c
    {"M70L7cM78Q7444Q0408Q0c4cQ7c78", 7},                         // d
    {"M08L78Q7444Q0408Q0c4cQ6c7a", 7},                            // e
    {"M50Q2023L2cM04L54", 5},                                     // f
    {"M74L7dQ7g3gQ1g0fM78Q7444Q0408Q0c4cQ7c78", 7},               // g
    {"M00L0cM08Q0444Q7477L7c", 7},                                // h
    {"M04L0cM01L01", 0},                                          // i
    {"M34L3eQ3g0gM31L31", 3},                                     // j
    {"M00L0cM64L09M27L6c", 6},                                    // k
    {"M00L0aQ0c2c", 2},                                           // l
    {"M04L0cM07Q0434Q6467L6cM67Q6494Qc4c7Lcc", 12},               // m
    {"M04L0cM08Q0444Q7477L7c", 7},                                // n
    {"M44Q0408Q0c4cQ8c88Q8444", 8},                               // o
    {"M04L0gM08Q0434Q7478Q7c3cQ0c08", 7},                         // p
    {"M74L7gM78Q7444Q0408Q0c4cQ7c78", 7},                         // q
    {"M04L0cM08Q0444", 4},                                        // r
    {"M65Q5434Q0406Q0838Q686aQ6c3cQ1c0b", 6},                     // s
    {"M20L29Q2c5cM04L54", 5},                                     // t
    {"M04L09Q0c3cQ7c78M74L7c", 7},                                // u
    {"M04L3cL64", 6},                                             // v
    {"M04L2cL54L8cLa4", 10},                                      // w
    {"M04L6cM64L0c", 6},                                          // x
    {"M04L4cM74L4cQ3g0g", 7},                                     // y
    {"M04L64L0cL6c", 6},                                          // z
    {"M40Q2023Q2606Q2629Q2c4c", 4},                               // {
    {"M00L0e", 0},                                                // |
    {"M00Q2023Q2646Q2629Q2c0c", 4},                               // }
    {"M07Q2547Q6987", 8},                                         // ~
};
constexpr Glyph unknown = {"M02L62L6cL0cL02", 6};
constexpr int curve_pieces = 6;

float coordinate(char c) {
  return static_cast<float>(c <= '9' ? c - '0' : c - 'a' + 10);
}

void draw(const Glyph& glyph, float left, std::vector<Stroke>& strokes) {
  float x = 0, y = 0;
  for (const char* pen = glyph.pen; *pen;) {
    const char command = *pen++;
    const float a = coordinate(*pen++), b = coordinate(*pen++);
    if (command == 'M') {
      x = a;
      y = b;
    } else if (command == 'L') {
      strokes.push_back({left + x, y, left + a, b});
      x = a;
      y = b;
    } else {
      const float end_x = coordinate(*pen++), end_y = coordinate(*pen++);
      float from_x = x, from_y = y;
      for (int i = 1; i <= curve_pieces; ++i) {
        const float t = static_cast<float>(i) / curve_pieces, s = 1 - t;
        const float to_x = s * s * x + 2 * s * t * a + t * t * end_x,
                    to_y = s * s * y + 2 * s * t * b + t * t * end_y;
        strokes.push_back({left + from_x, from_y, left + to_x, to_y});
        from_x = to_x;
        from_y = to_y;
      }
      x = end_x;
      y = end_y;
    }
  }
}

} // namespace

bool has_strokes(char32_t code) {
  return code >= U' ' && code <= U'~';
}

float draw_strokes(char32_t code, float left, std::vector<Stroke>& strokes) {
  const Glyph& glyph = has_strokes(code) ? glyphs[code - U' '] : unknown;
  draw(glyph, left, strokes);
  return static_cast<float>(glyph.width);
}

} // namespace lanner
