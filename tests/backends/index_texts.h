#pragma once
// Graphs, following `graph @g`, whose last node reads or writes at given indices: for GPU kernels and the
// fake driver's.

namespace lanner::test {

inline constexpr const char* index_texts[] = {
    "(%x: f32[2, 5, 3]) -> (%y: f32[*] as \"y\") {\n"
    "%i: i64[2, 2] = constant() {value = i64[2, 2](4, 0, -1, 2)}\n"
    "%y: f32[*] = gather(%x, %i) {axis = 1}\n"
    "}",
    "(%x: f32[6]) -> (%y: f32[*] as \"y\") {\n"
    "%i: i32[] = constant() {value = i32[](-2)}\n"
    "%y: f32[*] = gather(%x, %i)\n"
    "}",
    "(%x: f32[4, 3, 2]) -> (%y: f32[*] as \"y\") {\n"
    "%i: i64[2, 3, 2] = constant() {value = i64[2, 3, 2](0, 1, 2, 3, -1, -4, 3, 2, 1, 0, 2, 2)}\n"
    "%y: f32[*] = gather_elements(%x, %i)\n"
    "}",
    "(%x: f32[3, 4]) -> (%y: f32[*] as \"y\") {\n"
    "%i: i64[3, 2] = constant() {value = i64[3, 2](3, -3, 0, 0, 1, 2)}\n"
    "%y: f32[*] = gather_elements(%x, %i) {axis = -1}\n"
    "}",
    "(%x: f32[3, 4], %u: f32[2, 3]) -> (%y: f32[*] as \"y\") {\n"
    "%i: i64[2, 3] = constant() {value = i64[2, 3](2, 0, -1, 2, 1, 0)}\n"
    "%y: f32[*] = scatter_elements(%x, %i, %u)\n"
    "}",
    "(%x: f32[2, 5, 3], %u: f32[2, 3, 3]) -> (%y: f32[*] as \"y\") {\n"
    "%i: i64[2, 3, 3] = constant() {value = i64[2, 3, 3](4, 0, -1, 2, 1, 0, 4, 4, 4, 0, 1, 2, 3, 2, 1, -5, "
    "-4, 2)}\n"
    "%y: f32[*] = scatter_elements(%x, %i, %u) {axis = 1}\n"
    "}"};

/// Of these the definitions reject the shapes when they run.
inline constexpr const char* refused_index_texts[] = {
    "(%x: f32[4, 2], %i: i64[4, 3]) -> (%y: f32[4, 3] as \"y\") {\n"
    "%y: f32[4, 3] = gather_elements(%x, %i)\n"
    "}",
    "(%x: f32[4, 2], %i: i64[2, 3], %u: f32[2, 3]) -> (%y: f32[4, 2] as \"y\") {\n"
    "%y: f32[4, 2] = scatter_elements(%x, %i, %u)\n"
    "}",
    "(%x: f32[4, 2], %i: i64[4, 2], %u: f32[1, 2]) -> (%y: f32[4, 2] as \"y\") {\n"
    "%y: f32[4, 2] = scatter_elements(%x, %i, %u)\n"
    "}"};

inline constexpr const char* region_texts[] = {
    "(%x: f32[2, 5, 9, 7]) -> (%y: f32[*] as \"y\") {\n"
    "%b: f32[4, 4] = constant() {value = f32[4, 4](0.0, 0.0, 6.5, 8.5, 2.25, 1.5, 3.0, 9.0, -3.0, -2.0, "
    "30.0, 20.0, 5.0, 5.0, 4.0, 2.0)}\n"
    "%n: i64[4] = constant() {value = i64[4](0, 1, 1, 0)}\n"
    "%y: f32[*] = roi_align(%x, %b, %n) {output_height = 3, output_width = 2, sampling_ratio = 2}\n"
    "}",
    "(%x: f32[2, 5, 9, 7]) -> (%y: f32[*] as \"y\") {\n"
    "%b: f32[4, 4] = constant() {value = f32[4, 4](0.0, 0.0, 6.5, 8.5, 2.25, 1.5, 3.0, 9.0, -3.0, -2.0, "
    "30.0, 20.0, 5.0, 5.0, 4.0, 2.0)}\n"
    "%n: i64[4] = constant() {value = i64[4](0, 1, 1, 0)}\n"
    "%y: f32[*] = roi_align(%x, %b, %n) {output_height = 2, output_width = 3, spatial_scale = 0.5}\n"
    "}",
    "(%x: f32[2, 5, 9, 7]) -> (%y: f32[*] as \"y\") {\n"
    "%b: f32[4, 4] = constant() {value = f32[4, 4](0.0, 0.0, 6.5, 8.5, 2.25, 1.5, 3.0, 9.0, -3.0, -2.0, "
    "30.0, 20.0, 5.0, 5.0, 4.0, 2.0)}\n"
    "%n: i64[4] = constant() {value = i64[4](0, 1, 1, 0)}\n"
    "%y: f32[*] = roi_align(%x, %b, %n) {output_height = 2, output_width = 2, mode = \"max\", sampling_ratio "
    "= 3}\n"
    "}",
    "(%x: f32[2, 5, 9, 7]) -> (%y: f32[*] as \"y\") {\n"
    "%b: f32[4, 4] = constant() {value = f32[4, 4](0.0, 0.0, 6.5, 8.5, 2.25, 1.5, 3.0, 9.0, -3.0, -2.0, "
    "30.0, 20.0, 5.0, 5.0, 4.0, 2.0)}\n"
    "%n: i64[4] = constant() {value = i64[4](0, 1, 1, 0)}\n"
    "%y: f32[*] = roi_align(%x, %b, %n) {output_height = 4, output_width = 4, coordinate_transformation_mode "
    "= \"output_half_pixel\"}\n"
    "}"};

} // namespace lanner::test
