#pragma once
// Functions of one number.

#include "ops/formulas/row.h"

namespace lanner::formulas {

inline constexpr auto function_list =
    list(unary("exp", [](auto x) { return exp(x); }),                //
         unary("log", [](auto x) { return log(x); }),                //
         unary("sqrt", [](auto x) { return sqrt(x); }),              //
         unary("reciprocal", [](auto x) { return 1 / x; }),          //
         unary("erf", [](auto x) { return erf(x); }),                //
         unary("sigmoid", [](auto x) { return 1 / (1 + exp(-x)); }), //
         // log(1 + e^x) = max(x, 0) + log(1 + e^-|x|), which does not overflow.
         unary("softplus", [](auto x) { return at_least(x, 0) + log1p(exp(-abs(x))); }), //
         unary("softsign", [](auto x) { return x / (1 + abs(x)); }),                     //
         unary("sin", [](auto x) { return sin(x); }).by_library(),                       //
         unary("cos", [](auto x) { return cos(x); }).by_library(),                       //
         unary("tan", [](auto x) { return tan(x); }).by_library(),                       //
         unary("asin", [](auto x) { return asin(x); }).by_library(),                     //
         unary("acos", [](auto x) { return acos(x); }).by_library(),                     //
         unary("atan", [](auto x) { return atan(x); }).by_library(),                     //
         unary("sinh", [](auto x) { return sinh(x); }).by_library(),                     //
         unary("cosh", [](auto x) { return cosh(x); }).by_library(),                     //
         unary("tanh", [](auto x) { return tanh(x); }),                                  //
         unary("asinh", [](auto x) { return asinh(x); }).by_library(),                   //
         unary("acosh", [](auto x) { return acosh(x); }).by_library(),                   //
         unary("atanh", [](auto x) { return atanh(x); }).by_library(),                   //
         unary("floor", [](auto x) { return floor(x); }),                                //
         unary("ceil", [](auto x) { return ceil(x); }),                                  //
         unary("round", [](auto x) { return round(x); }),                                //
         unary("abs", [](auto x) { return abs(x); }).with_integers(),                    //
         unary("neg", [](auto x) { return -x; }).with_integers(),                        //
         // Zero and NaN are their own sign.
         unary("sign", [](auto x) { return choose(x > 0, 1, choose(x < 0, -1, x)); }).with_integers());

} // namespace lanner::formulas
