#pragma once
// Measures of lanner eval as text.

#include <string>

#include <lanner/evaluation.h>

namespace lanner::tool {

/// Four digits; `-` where there was nothing to measure.
std::string metric_text(double value);
/// What ground truth counts for a class: pictures, objects, pixels.
const char* counted_noun(TaskKind kind);
/// `5000 pictures in 61.20 s, 81.7 a second; 3 could not be read`.
std::string lead_text(const Evaluation& evaluation);
/// How the worst images were chosen.
std::string worst_note(const Evaluation& evaluation);
/// All of it as lines: numbers, classes, worst images.
std::string evaluation_text(const Evaluation& evaluation);

} // namespace lanner::tool
