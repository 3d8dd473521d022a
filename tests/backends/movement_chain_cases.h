#pragma once
// Networks whose movements run as one kernel on a GPU.

#include <string>

namespace lanner::test {

/// A `fused` node with these operations on x and z of a type.
inline std::string fused(const std::string& type, const std::string& x, const std::string& z,
                         const std::string& ops) {
  const std::string xs = type + x, zs = type + z;
  return "graph @g(%x: " + xs + ", %z: " + zs + ") -> (%y: " + type + "[*] as \"y\") {\n%y: " + type +
         "[*] = fused(%x, %z) {kind = \"t\"} ((%a: " + xs + ", %b: " + zs + ") -> (%r) {\n" + ops + "})\n}";
}

inline std::string integers(const std::string& name, const std::string& values, int count) {
  return "%" + name + " = constant() {value = i64[" + std::to_string(count) + "](" + values + ")}\n";
}

/// Rolls rows and columns of [1, 8, 12, C] by three.
inline std::string roll() {
  return integers("zero", "0", 1) + integers("three", "3", 1) + integers("eight", "8", 1) +
         integers("twelve", "12", 1) + integers("one", "1", 1) + integers("two", "2", 1) +
         "%s = slice(%a, %three, %eight, %one)\n%t = slice(%a, %zero, %three, %one)\n"
         "%u = concat(%s, %t) {axis = 1}\n%v = slice(%u, %three, %twelve, %two)\n"
         "%w = slice(%u, %zero, %three, %two)\n%q = concat(%v, %w) {axis = 2}\n";
}

/// Splits roll()'s result into windows of four rows and four columns.
inline std::string windows() {
  return integers("sizes", "1, 2, 4, 3, 4, 16", 6) + integers("flat", "6, 16, 16", 3) +
         "%m = reshape(%q, %sizes)\n%n = transpose(%m) {perm = [0, 1, 3, 2, 4, 5]}\n%r = reshape(%n, "
         "%flat)\n";
}

} // namespace lanner::test
