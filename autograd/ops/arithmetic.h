// Arithmetic and elementwise functions (arithmetic.cpp, piecewise.cpp). Ops of two inputs broadcast as in NumPy, using
// the view op expand. They throw Error for shapes that cannot be broadcast.
#pragma once

#include "autograd/tape/variable.h"

namespace tapeformer {

Variable add(const Variable& a, const Variable& b);
Variable sub(const Variable& a, const Variable& b);
Variable mul(const Variable& a, const Variable& b);
Variable div(const Variable& a, const Variable& b);
Variable scale(const Variable& x, double factor);
Variable add_scalar(const Variable& x, double value);
Variable neg(const Variable& x);
Variable square(const Variable& x);
Variable exp(const Variable& x);
Variable log(const Variable& x);
Variable sqrt(const Variable& x);

// Where the derivative is not defined, its value is the one that PyTorch chose (given at the right).
Variable abs(const Variable& x);                             // derivative 0 at x = 0
Variable clamp(const Variable& x, double low, double high);  // limits x to [low, high]; derivative 1 at both ends
Variable minimum(const Variable& a, const Variable& b);      // equal elements: each gets half of the gradient
Variable maximum(const Variable& a, const Variable& b);

inline Variable operator+(const Variable& a, const Variable& b) { return add(a, b); }
inline Variable operator-(const Variable& a, const Variable& b) { return sub(a, b); }
inline Variable operator*(const Variable& a, const Variable& b) { return mul(a, b); }
inline Variable operator/(const Variable& a, const Variable& b) { return div(a, b); }
inline Variable operator-(const Variable& x) { return neg(x); }
inline Variable operator+(const Variable& x, double value) { return add_scalar(x, value); }
inline Variable operator+(double value, const Variable& x) { return add_scalar(x, value); }
inline Variable operator-(const Variable& x, double value) { return add_scalar(x, -value); }
inline Variable operator-(double value, const Variable& x) { return add_scalar(neg(x), value); }
inline Variable operator*(const Variable& x, double factor) { return scale(x, factor); }
inline Variable operator*(double factor, const Variable& x) { return scale(x, factor); }
inline Variable operator/(const Variable& x, double divisor) { return scale(x, 1 / divisor); }
Variable operator/(double value, const Variable& x);

}  // namespace tapeformer
