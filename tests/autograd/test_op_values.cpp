// Forward values against plain loops, in f64, on views.
#include <array>
#include <functional>

#include "autograd/ops/ops.h"
#include "autograd/tensor/allocator.h"
#include "tests/autograd/support.h"

using namespace tapeformer;

namespace {

// One element, by its place.
double at(const Tensor& x, const Dims& place) {
  Tensor element = x;
  for (int axis = 0; axis < place.rank(); ++axis) element = element.slice(axis, place[axis], place[axis] + 1);
  return element.item();
}

// Checks every element of x against f(place).
void check_elements(const Tensor& x, const Dims& sizes, const std::function<double(const Dims&)>& f) {
  REQUIRE(x.sizes() == sizes);
  Dims place = Dims::filled(sizes.rank(), 0);
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    for (std::int64_t axis = sizes.rank() - 1, rest = i; axis >= 0; --axis) {
      place[static_cast<int>(axis)] = rest % sizes[static_cast<int>(axis)];
      rest /= sizes[static_cast<int>(axis)];
    }
    CAPTURE(place);
    CHECK(at(x, place) == doctest::Approx(f(place)).epsilon(1e-12));
  }
}

Tensor apply(const std::function<Variable(Tape&)>& f, const TapeOptions& options = no_grad) {
  Tape tape(options);
  return f(tape).value();
}

Variable on(Tape& tape, const Tensor& x) { return Variable::constant(tape, x); }

// A strided (3, 4): neither axis lies densely, and it does not begin at the start of its storage.
Tensor strided(std::uint64_t stream) {
  return random_normal({9, 7}, stream).slice(0, 1, 9, 2).slice(1, 1, 7, 2).transpose(0, 1);
}

}  // namespace

TEST_CASE("softmax: the example of a lecture") {
  const Tensor x = Tensor::from<double>({1.3, 5.1, 2.2, 0.7, 1.1}, {5});
  const std::vector<double> expected{0.02, 0.90, 0.05, 0.01, 0.02};
  for (const Tensor& in : {x, x.to(DType::f32)}) {
    const std::vector<double> y = values_of(apply([&](Tape& tape) { return softmax(on(tape, in)); }));
    double total = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
      CHECK(std::round(y[i] * 100) / 100 == doctest::Approx(expected[i]));
      total += y[i];
    }
    CHECK(total == doctest::Approx(1));
  }
}

TEST_CASE("softmax and log_softmax: large, small and masked scores") {
  const Tensor x = Tensor::from<double>({1000, 999, -1000, 0, -INFINITY, 1, -INFINITY, -INFINITY, -INFINITY}, {3, 3});
  const Tensor y = apply([&](Tape& tape) { return softmax(on(tape, x)); });
  const double e = std::exp(1);
  const std::vector<double> expected{e / (1 + e), 1 / (1 + e), 0, 1 / (1 + e), 0, e / (1 + e), 0, 0, 0};
  CHECK(distance(y, Tensor::from(std::span(expected), {3, 3})) < 1e-15);
  const Tensor log_y = apply([&](Tape& tape) { return log_softmax(on(tape, x.slice(0, 0, 1))); });
  CHECK(at(log_y, {0, 2}) == doctest::Approx(-2000 - std::log(1 + 1 / e)));
}

TEST_CASE("arithmetic: values with broadcasting, of strided views") {
  const Tensor a = strided(1), b = random_normal({4}, 2), c = random_normal({3, 1}, 3);
  const auto binary = [&](Variable (*op)(const Variable&, const Variable&), const Tensor& x, const Tensor& y) {
    return apply([&](Tape& tape) { return op(on(tape, x), on(tape, y)); });
  };
  check_elements(binary(add, a, b), {3, 4}, [&](const Dims& i) { return at(a, i) + at(b, {i[1]}); });
  check_elements(binary(sub, c, a), {3, 4}, [&](const Dims& i) { return at(c, {i[0], 0}) - at(a, i); });
  check_elements(binary(mul, b, c), {3, 4}, [&](const Dims& i) { return at(b, {i[1]}) * at(c, {i[0], 0}); });
  check_elements(binary(div, a, c), {3, 4}, [&](const Dims& i) { return at(a, i) / at(c, {i[0], 0}); });
  const auto unary = [&](auto op) { return apply([&](Tape& tape) { return op(on(tape, a)); }); };
  check_elements(unary([](auto x) { return scale(x, 3); }), {3, 4}, [&](const Dims& i) { return 3 * at(a, i); });
  check_elements(unary([](auto x) { return add_scalar(x, 3); }), {3, 4}, [&](const Dims& i) { return 3 + at(a, i); });
  check_elements(unary([](auto x) { return exp(x); }), {3, 4}, [&](const Dims& i) { return std::exp(at(a, i)); });
  check_elements(unary([](auto x) { return log(exp(x)); }), {3, 4}, [&](const Dims& i) { return at(a, i); });
  check_elements(unary([](auto x) { return sqrt(mul(x, x)); }), {3, 4},
                 [&](const Dims& i) { return std::abs(at(a, i)); });
}

TEST_CASE("reductions: values along every axis, kept and dropped") {
  const Tensor x = random_normal({2, 6, 4}, 1).slice(1, 0, 6, 2).transpose(0, 2);  // (4, 3, 2)
  const auto reduce = [&](auto op, int axis, bool keep) {
    return apply([&](Tape& tape) { return op(on(tape, x), axis, keep); });
  };
  const auto total = [](auto... terms) { return (terms + ...); };
  check_elements(reduce([](auto v, int axis, bool keep) { return sum(v, axis, keep); }, 1, false), {4, 2},
                 [&](const Dims& i) {
                   return total(at(x, {i[0], 0, i[1]}), at(x, {i[0], 1, i[1]}), at(x, {i[0], 2, i[1]}));
                 });
  check_elements(reduce([](auto v, int axis, bool keep) { return mean(v, axis, keep); }, -1, true), {4, 3, 1},
                 [&](const Dims& i) {
                   return total(at(x, {i[0], i[1], 0}), at(x, {i[0], i[1], 1})) / 2;
                 });
  check_elements(
      reduce([](auto v, int axis, bool keep) { return max(v, axis, keep); }, 0, true), {1, 3, 2}, [&](const Dims& i) {
        return std::max(
            {at(x, {0, i[1], i[2]}), at(x, {1, i[1], i[2]}), at(x, {2, i[1], i[2]}), at(x, {3, i[1], i[2]})});
      });
  double all = 0;
  for (double value : values_of(x)) all += value;
  CHECK(apply([&](Tape& tape) { return sum(on(tape, x)); }).item() == doctest::Approx(all));
  CHECK(apply([&](Tape& tape) { return mean(on(tape, x)); }).item() == doctest::Approx(all / 24));
}

TEST_CASE("max: the gradient goes to the first of equal maxima") {
  const std::vector<Tensor> inputs{Tensor::from<double>({1, 5, 5, 2, 2, 2}, {2, 3})};
  Tape tape;
  const Variable x = Variable::parameter(inputs[0]);
  tape.backward(sum(max(x.on(tape), 1)));
  CHECK(values_of(x.grad()) == std::vector<double>{0, 1, 0, 1, 0, 0});
}

TEST_CASE("max: an infinite gradient of another use of its input stays infinite") {
  const Variable x = Variable::parameter(Tensor::from({1.0, 3.0}, {2}));
  Tape tape;
  const Variable factor = Variable::constant(tape, Tensor::from<double>({INFINITY, 2}, {2}));
  const Variable most = max(x.on(tape), 0);  // its backward comes last
  tape.backward(add(most, sum(mul(x, factor))));
  CHECK(values_of(x.grad()) == std::vector<double>{INFINITY, 3});
}

TEST_CASE("views: share the storage, whatever their order") {
  Tape tape;
  const Variable x = Variable::parameter(random_normal({2, 6, 4}, 1)).on(tape);
  const auto parts = split(x, std::array<std::int64_t, 2>{2, 4}, 1);
  for (const Variable& view :
       {transpose(x, 0, -1), permute(x, {1, 0, 2}), slice(x, 1, 1, 5, 2), expand(slice(x, 0, 0, 1), {3, 6, 4}),
        reshape(x, {4, -1}), reshape(slice(x, 0, 1, 2), {24}), parts[0], transpose(parts[1], 1, 2),
        reshape(parts[1], {2, 2, 2, 4})}) {
    CHECK(view.value().shares_storage_with(x.value()));
  }
  CHECK_FALSE(reshape(transpose(x, 0, 1), {-1}).value().shares_storage_with(x.value()));
  check_elements(permute(x, {2, 0, 1}).value(), {4, 2, 6}, [&](const Dims& i) {
    return at(x.value(), {i[1], i[2], i[0]});
  });
  check_elements(slice(x, 1, 1, 6, 2).value(), {2, 3, 4}, [&](const Dims& i) {
    return at(x.value(), {i[0], 1 + 2 * i[1], i[2]});
  });
  check_elements(parts[1].value(), {2, 4, 4}, [&](const Dims& i) { return at(x.value(), {i[0], 2 + i[1], i[2]}); });
  check_elements(reshape(transpose(x, 1, 2), {8, 6}).value(), {8, 6}, [&](const Dims& i) {
    return at(x.value(), {i[0] / 4, i[1], i[0] % 4});
  });
}

TEST_CASE("concat: values of strided parts, also of ids") {
  const Tensor a = strided(1), b = random_normal({3, 2}, 2);
  const auto join = [](Tape& tape, const Tensor& x, const Tensor& y, int axis) {
    return concat(std::span<const Variable>(std::array{on(tape, x), on(tape, y)}), axis);
  };
  check_elements(apply([&](Tape& tape) { return join(tape, a, b, -1); }), {3, 6}, [&](const Dims& i) {
    return i[1] < 4 ? at(a, i) : at(b, {i[0], i[1] - 4});
  });
  const Tensor ids = Tensor::from<std::int32_t>({1, 2, 3, 4}, {2, 2});
  const Tensor joined = apply([&](Tape& tape) { return join(tape, ids, ids.transpose(0, 1), 1); });
  CHECK(joined.to_vector<std::int32_t>() == std::vector<std::int32_t>{1, 2, 1, 3, 3, 4, 2, 4});
}

TEST_CASE("matmul: values for every kind of stride and batch") {
  const auto product = [](const Tensor& a, const Tensor& b) {
    return apply([&](Tape& tape) { return matmul(on(tape, a), on(tape, b)); });
  };
  const auto cell = [](const Tensor& a, const Tensor& b, Dims left, Dims right) {
    double total = 0;
    for (std::int64_t k = 0; k < a.size(-1); ++k) {
      left[left.rank() - 1] = right[right.rank() - 2] = k;
      total += at(a, left) * at(b, right);
    }
    return total;
  };
  const Tensor dense = random_normal({4, 5}, 2), row = random_normal({1, 4}, 3);
  for (const Tensor& a : {random_normal({3, 4}, 1), random_normal({4, 3}, 1).transpose(0, 1), strided(1),
                          random_normal({5, 9}, 1).slice(0, 1, 4).slice(1, 3, 7), row.expand({3, 4})}) {
    for (const Tensor& b : {dense, random_normal({5, 4}, 2).transpose(0, 1), dense.slice(1, 0, 5, 3),
                            random_normal({4, 1}, 2).expand({4, 6})}) {
      check_elements(product(a, b), {3, b.size(1)}, [&](const Dims& i) { return cell(a, b, {i[0], 0}, {0, i[1]}); });
    }
  }
  const Tensor batch = random_normal({2, 4, 3, 5}, 4).permute({0, 3, 2, 1});  // (2, 5, 3, 4)
  check_elements(product(batch, dense), {2, 5, 3, 5}, [&](const Dims& i) {
    return cell(batch, dense, {i[0], i[1], i[2], 0}, {0, i[3]});
  });
  const Tensor other = random_normal({2, 1, 4, 2}, 5);
  check_elements(product(batch, other), {2, 5, 3, 2}, [&](const Dims& i) {
    return cell(batch, other, {i[0], i[1], i[2], 0}, {i[0], 0, 0, i[3]});
  });
  check_elements(product(strided(6), random_normal({5, 4, 2}, 7)), {5, 3, 2}, [&](const Dims& i) {
    return cell(strided(6), random_normal({5, 4, 2}, 7), {i[1], 0}, {i[0], 0, i[2]});
  });
}

TEST_CASE("matmul and linear: hand strided inputs to BLAS without copies") {
  const Tensor a = random_normal({200, 100}, 1), b = random_normal({300, 100}, 2), wide = random_normal({200, 250}, 3);
  const auto extra_bytes = [](const std::function<Variable(Tape&)>& f) {
    Tape tape(no_grad);
    const std::int64_t before = memory_stats().in_use;
    reset_peak_memory();
    const Variable result = f(tape);
    return memory_stats().peak - before - (memory_stats().in_use - before);
  };
  const auto product = [&](const Tensor& x, const Tensor& y) {
    return extra_bytes([&](Tape& tape) { return matmul(on(tape, x), on(tape, y)); });
  };
  CHECK(product(a, b.transpose(0, 1)) == 0);
  CHECK(product(a.transpose(0, 1), wide) == 0);
  CHECK(product(b, a.transpose(0, 1)) == 0);
  CHECK(product(wide.slice(1, 20, 120), b.transpose(0, 1)) == 0);
  CHECK(product(a.reshape({4, 50, 100}), b.transpose(0, 1)) == 0);
  CHECK(product(a.reshape({4, 50, 100}).transpose(1, 2), wide.reshape({4, 50, 250})) == 0);
  CHECK(product(wide.slice(1, 0, 200, 2), b.transpose(0, 1)) > 0);  // no leading dimension for a step
  const auto affine = [&](const Tensor& x, const Tensor& w) {
    return extra_bytes([&](Tape& tape) { return linear(on(tape, x), on(tape, w), {}); });
  };
  CHECK(affine(a, b) == 0);
  CHECK(affine(wide.slice(1, 20, 120), b) == 0);
  CHECK(affine(a.reshape({4, 50, 100}), random_normal({100, 300}, 4).transpose(0, 1)) == 0);
}

TEST_CASE("arithmetic: operators are the ops of the same meaning") {
  const Tensor a = strided(1), b = random_normal({4}, 2);
  const auto value = [&](const auto& f) { return apply([&](Tape& tape) { return f(on(tape, a), on(tape, b)); }); };
  using V = const Variable&;
  CHECK(distance(value([](V x, V y) { return x + y; }), value([](V x, V y) { return add(x, y); })) == 0);
  CHECK(distance(value([](V x, V y) { return x - y; }), value([](V x, V y) { return sub(x, y); })) == 0);
  CHECK(distance(value([](V x, V y) { return x * y; }), value([](V x, V y) { return mul(x, y); })) == 0);
  CHECK(distance(value([](V x, V y) { return x / y; }), value([](V x, V y) { return div(x, y); })) == 0);
  const auto check_scalar = [&](const auto& f, const std::function<double(double)>& expected) {
    check_elements(value([&](V x, V) { return f(x); }), {3, 4}, [&](const Dims& i) { return expected(at(a, i)); });
  };
  check_scalar([](V x) { return -x; }, [](double x) { return -x; });
  check_scalar([](V x) { return neg(x); }, [](double x) { return -x; });
  check_scalar([](V x) { return x + 2; }, [](double x) { return x + 2; });
  check_scalar([](V x) { return 2 + x; }, [](double x) { return x + 2; });
  check_scalar([](V x) { return x - 0.5; }, [](double x) { return x - 0.5; });
  check_scalar([](V x) { return 0.5 - x; }, [](double x) { return 0.5 - x; });
  check_scalar([](V x) { return x * 3; }, [](double x) { return 3 * x; });
  check_scalar([](V x) { return 3 * x; }, [](double x) { return 3 * x; });
  check_scalar([](V x) { return x / 3; }, [](double x) { return x / 3; });
  check_scalar([](V x) { return 3 / x; }, [](double x) { return 3 / x; });
}

TEST_CASE("square, abs, clamp, softplus: values, of strided views") {
  const Tensor a = strided(1);
  const auto check_unary = [&](const auto& f, const std::function<double(double)>& expected) {
    const Tensor y = apply([&](Tape& tape) { return f(on(tape, a)); });
    check_elements(y, {3, 4}, [&](const Dims& i) { return expected(at(a, i)); });
  };
  check_unary(square, [](double x) { return x * x; });
  check_unary([](const Variable& x) { return abs(x); }, [](double x) { return std::abs(x); });
  check_unary([](const Variable& x) { return clamp(x, -0.5, 0.25); },
              [](double x) { return std::min(std::max(x, -0.5), 0.25); });
  check_unary(softplus, [](double x) { return std::log1p(std::exp(x)); });
}

TEST_CASE("softplus: exact far from 0 on both sides") {
  const Tensor x = Tensor::from<double>({-INFINITY, -700, -40, -20, -1, 0, 1, 20, 40, 800, INFINITY}, {11});
  for (DType dtype : {DType::f64, DType::f32}) {
    const std::vector<double> y = values_of(apply([&](Tape& tape) { return softplus(on(tape, x.to(dtype))); }));
    const std::vector<double> in = values_of(x);
    for (std::size_t i = 0; i < in.size(); ++i) {
      CAPTURE(in[i]);
      const double expected = in[i] > 0 ? in[i] + std::log1p(std::exp(-in[i])) : std::log1p(std::exp(in[i]));
      if (std::isinf(expected) || (dtype == DType::f32 && in[i] < -80)) {
        CHECK((y[i] == expected || y[i] < 1e-35));
      } else {
        CHECK(y[i] == doctest::Approx(expected).epsilon(dtype == DType::f64 ? 1e-14 : 1e-6));
      }
    }
  }
}

TEST_CASE(
    "minimum and maximum: values with broadcasting, NaN from either side, and half a gradient for equal elements") {
  const Tensor a = strided(1), b = random_normal({4}, 2);
  const auto binary = [&](Variable (*op)(const Variable&, const Variable&), const Tensor& x, const Tensor& y) {
    return apply([&](Tape& tape) { return op(on(tape, x), on(tape, y)); });
  };
  check_elements(binary(minimum, a, b), {3, 4}, [&](const Dims& i) { return std::min(at(a, i), at(b, {i[1]})); });
  check_elements(binary(maximum, a, b), {3, 4}, [&](const Dims& i) { return std::max(at(a, i), at(b, {i[1]})); });
  const Tensor left = Tensor::from<double>({NAN, 1, NAN}, {3}), right = Tensor::from<double>({1, NAN, NAN}, {3});
  for (double value : values_of(binary(minimum, left, right))) CHECK(std::isnan(value));
  for (double value : values_of(binary(maximum, left, right))) CHECK(std::isnan(value));

  for (const auto& op : {minimum, maximum}) {
    const Variable x = Variable::parameter(Tensor::from<double>({1, 2, 3}, {3})),
                   y = Variable::parameter(Tensor::from<double>({3, 2, 1}, {3}));
    Tape tape;
    tape.backward(sum(op(x.on(tape), y)));
    const bool smaller = op == minimum;
    CHECK(values_of(x.grad()) == (smaller ? std::vector<double>{1, 0.5, 0} : std::vector<double>{0, 0.5, 1}));
    CHECK(values_of(y.grad()) == (smaller ? std::vector<double>{0, 0.5, 1} : std::vector<double>{1, 0.5, 0}));
  }
}

TEST_CASE("abs and clamp: the gradient where the derivative jumps is PyTorch's") {
  const Variable x = Variable::parameter(Tensor::from<double>({-2, -1, 0, 1, 2}, {5}));
  Tape first;
  first.backward(sum(abs(x.on(first))));
  CHECK(values_of(x.grad()) == std::vector<double>{-1, -1, 0, 1, 1});
  x.zero_grad();
  Tape second;
  second.backward(sum(clamp(x.on(second), -1, 1)));
  CHECK(values_of(x.grad()) == std::vector<double>{0, 1, 1, 1, 0});
}
