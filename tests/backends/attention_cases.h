#pragma once
// Graphs that compute attention.

#include <algorithm>
#include <ostream>
#include <string>

#include <fmt/format.h>

namespace lanner::test {

/// As in vision transformers: one projection for q, k and v, which are slices of it.
inline const std::string packed_projection =
    "graph @g(%x: f32[2, 5, 48]) -> (%y) {\n"
    "%a1 = constant() {value = i64[5](2, 5, 3, 2, 8)}\n%a = reshape(%x, %a1)\n"
    "%t = transpose(%a) {perm = [2, 0, 3, 1, 4]}\n"
    "%i0 = constant() {value = i64[1](0)}\n%i1 = constant() {value = i64[1](1)}\n"
    "%i2 = constant() {value = i64[1](2)}\n%i3 = constant() {value = i64[1](3)}\n"
    "%d = constant() {value = i64[4](2, 2, 5, 8)}\n"
    "%qs = slice(%t, %i0, %i1, %i0)\n%qz = reshape(%qs, %d)\n"
    "%ks = slice(%t, %i1, %i2, %i0)\n%kz = reshape(%ks, %d)\n"
    "%vs = slice(%t, %i2, %i3, %i0)\n%vz = reshape(%vs, %d)\n"
    "%c = constant() {value = f32[](0.25)}\n%m = mul(%qz, %c)\n"
    "%kt = transpose(%kz) {perm = [0, 1, 3, 2]}\n"
    "%p = matmul(%m, %kt)\n%s = softmax(%p) {axis = -1}\n%v = matmul(%s, %vz)\n"
    "%w = transpose(%v) {perm = [0, 2, 1, 3]}\n"
    "%e = constant() {value = i64[3](2, 5, 16)}\n%y = reshape(%w, %e)\n}\n";

/// softmax(q k^T / 4 + biases) v as the body of a fused node.
struct AttentionCase {
  std::string q, k, v;   ///< Shapes; k is keys x depth.
  std::string bias = ""; ///< Broadcast to the scores; empty: none.
  std::string type = "f32";
  bool guarded = false;   ///< NaN weights become 0.
  std::string moved = ""; ///< Nodes from `%r` of the product to `%y`.

  std::string fused() const {
    const std::string more = bias.empty() ? "" : fmt::format(", %b: {}{}", type, bias);
    std::string body = "%kt = transpose(%ki) {perm = " + exchanged() + "}\n";
    const char* const quarter = type == "f32" ? "0.25" : type == "f16" ? "hex 0034" : "hex 803e";
    body += fmt::format("%c = constant() {{value = {}[]({})}}\n", type, quarter);
    body += "%p = matmul(%qi, %kt)\n%m = mul(%p, %c)\n";
    body +=
        bias.empty() ? "%s = softmax(%m) {axis = -1}\n" : "%n = add(%m, %bi)\n%s = softmax(%n) {axis = -1}\n";
    if (guarded)
      body += fmt::format("%o = constant() {{value = {}[]({})}}\n%t = is_nan(%s)\n%g = where(%t, %o, %s)\n",
                          type, type == "f32" ? "0" : "hex 0000");
    const std::string weights = guarded ? "%g" : "%s";
    body +=
        moved.empty() ? "%y = matmul(" + weights + ", %vi)\n" : "%r = matmul(" + weights + ", %vi)\n" + moved;
    return fmt::format("graph @g(%q: {0}{1}, %k: {0}{2}, %v: {0}{3}{4}) -> (%z: {0}[*] as \"z\") {{\n"
                       "%z: {0}[*] = fused(%q, %k, %v{5}) {{kind = \"attention\"}} "
                       "((%qi: {0}{1}, %ki: {0}{2}, %vi: {0}{3}{6}) -> (%y) {{\n{7}}})\n}}\n",
                       type, q, k, v, more, bias.empty() ? "" : ", %b",
                       bias.empty() ? "" : fmt::format(", %bi: {}{}", type, bias), body);
  }

private:
  std::string exchanged() const {
    const auto rank = 1 + std::count(q.begin(), q.end(), ',');
    return rank == 3 ? "[0, 2, 1]" : "[0, 1, 3, 2]";
  }
};
inline void PrintTo(const AttentionCase& c, std::ostream* out) {
  *out << c.type << " " << c.q << c.k << c.v << " " << c.bias << " " << c.moved;
}

inline const AttentionCase attention_cases[] = {
    {"[2, 3, 49, 32]", "[2, 3, 49, 32]", "[2, 3, 49, 32]"},
    {"[2, 2, 197, 64]", "[2, 2, 197, 64]", "[2, 2, 197, 64]"},
    {"[1, 1, 1, 16]", "[1, 1, 1, 16]", "[1, 1, 1, 16]"},
    {"[3, 7, 24]", "[3, 130, 24]", "[3, 130, 40]"},
    {"[2, 65, 20]", "[2, 33, 20]", "[2, 33, 7]"},
    {"[1, 2, 17, 128]", "[1, 2, 300, 128]", "[1, 2, 300, 128]"},
    {"[1, 2, 40, 160]", "[1, 2, 40, 160]", "[1, 2, 40, 96]"},
    {"[1, 1, 70, 256]", "[1, 1, 50, 256]", "[1, 1, 50, 256]"},
    {"[2, 2, 128, 64]", "[2, 2, 128, 64]", "[2, 2, 128, 64]", "[2, 1, 1, 128]"},
    {"[4, 3, 49, 32]", "[4, 3, 49, 32]", "[4, 3, 49, 32]", "[1, 3, 49, 49]"},
    {"[4, 3, 16, 32]", "[4, 3, 16, 32]", "[4, 3, 16, 32]", "[4, 1, 16, 16]", "f16"},
    {"[2, 2, 20, 64]", "[2, 2, 20, 64]", "[2, 2, 20, 64]", "[2, 1, 1, 20]", "f32", true},
    {"[2, 3, 9, 16]", "[1, 3, 20, 16]", "[2, 1, 20, 16]", "[20]"},
    {"[2, 2, 33, 16]", "[2, 2, 33, 16]", "[2, 2, 33, 16]", "", "f32", false,
     "%w = transpose(%r) {perm = [0, 2, 1, 3]}\n%e = constant() {value = i64[3](2, 33, 32)}\n"
     "%y = reshape(%w, %e)\n"},
    {"[2, 2, 33, 12]", "[2, 2, 33, 12]", "[2, 2, 33, 12]", "", "bf16", false,
     "%y = transpose(%r) {perm = [0, 1, 3, 2]}\n"},
};

} // namespace lanner::test
