"""Derives the coefficients of vector_math-inl.h and prints them with their errors.

The fit computes in decimals of 90 digits. It is a weighted least squares fit on Chebyshev points; the weights change
until the largest relative errors are equal (Lawson), and contain the denominator of the iteration before (Loeb). It
needs only Python itself.
"""

from decimal import Decimal as D, getcontext

getcontext().prec = 90
PI = D("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798")


def cos(x):
    term, total, n = D(1), D(1), 0
    while abs(term) > D(10) ** -88:
        n += 2
        term *= -x * x / (n * (n - 1))
        total += term
    return total


def solve(a, b):
    """x with a x = b, by elimination."""
    n = len(b)
    a = [row[:] + [b[i]] for i, row in enumerate(a)]
    for i in range(n):
        pivot = max(range(i, n), key=lambda r: abs(a[r][i]))
        a[i], a[pivot] = a[pivot], a[i]
        for r in range(i + 1, n):
            f = a[r][i] / a[i][i]
            for c in range(i, n + 1):
                a[r][c] -= f * a[i][c]
    x = [D(0)] * n
    for i in reversed(range(n)):
        x[i] = (a[i][n] - sum(a[i][c] * x[c] for c in range(i + 1, n))) / a[i][i]
    return x


def polynomial(c, x):
    """c[0] + c[1] x + …"""
    total = D(0)
    for k in reversed(c):
        total = total * x + k
    return total


def fit(f, weight, low, high, m, n, turns=12):
    """P of degree m over Q of degree n (Q(0) = 1) such that weight·(P/Q − f) is small on [low, high]."""
    count = 6 * (m + n + 1)
    xs = [(low + high) / 2 + (high - low) / 2 * cos(PI * (2 * k + 1) / (2 * count)) for k in range(count)]
    fs = [f(x) for x in xs]
    ws = [weight(x) for x in xs]
    level = [D(1)] * count
    q = [D(1)]
    best = None
    for _ in range(turns):
        rows = []
        for x, y, w, l in zip(xs, fs, ws, level):
            s = w / polynomial(q, x) * l.sqrt()
            rows.append(([s * x**i for i in range(m + 1)] + [-s * y * x**j for j in range(1, n + 1)], s * y))
        size = m + n + 1
        a = [[sum(r[i] * r[j] for r, _ in rows) for j in range(size)] for i in range(size)]
        b = [sum(r[i] * y for r, y in rows) for i in range(size)]
        c = solve(a, b)
        p, q = c[: m + 1], [D(1)] + c[m + 1 :]
        errors = [abs(w * (polynomial(p, x) / polynomial(q, x) - y)) for x, y, w in zip(xs, fs, ws)]
        worst = max(errors)
        if best is None or worst < best[0]:
            best = (worst, p, q)
        level = [l * e for l, e in zip(level, errors)]
        total = sum(level)
        level = [l / total * count + D(10) ** -12 for l in level]
    return best


def exp_tail(x):
    """(e^x − 1 − x)/x²"""
    term, total, n = D("0.5"), D("0.5"), 2
    while abs(term) > D(10) ** -88:
        n += 1
        term *= x / n
        total += term
    return total


def scaled_normal_tail(z):
    """e^(z²/2) Φ(−z) for z >= 0: by the series of Φ(z) − 1/2 = φ(z) Σ z^(2k+1)/(2k+1)!!"""
    getcontext().prec = 150
    term, total, k = z, z, 1
    while term and abs(term) > D(10) ** -140:
        k += 2
        term *= z * z / k
        total += term
    result = (z * z / 2).exp() / 2 - total / (2 * PI).sqrt()
    getcontext().prec = 90
    return +result


def show(name, coefficients, single):
    suffix = "f" if single else ""
    digits = 9 if single else 17
    print(f"{name}: " + ", ".join(f"{float(c):.{digits}g}{suffix}" for c in coefficients))


def main():
    half_ln2 = D(2).ln() / 2
    for name, high in (("float", "0x1.63p-1"), ("double", "0x1.62e42fefap-1")):
        print(f"ln 2 for {name}: {high} + {float(D(2).ln() - D(float.fromhex(high))):.17g}")
    for single, degree in ((True, 4), (False, 9)):
        error, p, _ = fit(exp_tail, lambda x: x * x / x.exp(), -half_ln2, half_ln2, degree, 0)
        show("(e^x - 1 - x)/x^2", p, single)
        print(f"  relative error {float(error):.2g}")
    for single, m, n, high in ((True, 4, 5, 8), (False, 8, 9, 10)):
        error, p, q = fit(scaled_normal_tail, lambda z: 1 / scaled_normal_tail(z), D(0), D(high), m, n)
        show("normal_tail numerator", p, single)
        show("normal_tail denominator", q, single)
        print(f"  relative error {float(error):.2g}")


if __name__ == "__main__":
    main()
