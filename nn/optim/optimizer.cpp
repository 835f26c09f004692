#include "nn/optim/optimizer.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "autograd/kernels/elementwise/elementwise.h"
#include "autograd/kernels/reduce.h"
#include "core/random.h"

namespace tapeformer {
namespace {

constexpr std::uint64_t kRoundingStream = mix64(0x726f756e64);  // "round"

// The moving average takes a smaller share than this of the weights for several steps together, since f32 would round
// most of it away.
constexpr double kLeastShare = 1e-4;

// Throws Error unless the state has exactly the names of `places`, with their sizes and dtypes. `Value` is a Tensor or
// a SafetensorsFile::Entry.
template <class Value>
void check_fit(const NamedTensors& places, const std::map<std::string, Value>& state) {
  std::set<std::string> known;
  for (const auto& [name, place] : places) {
    const auto found = state.find(name);
    check(found != state.end() && found->second.sizes() == place.sizes() && found->second.dtype() == place.dtype(),
          "optimizer state: ", name, ": expected ", place.sizes(), " ", place.dtype(),
          found == state.end() ? std::string(", which is missing")
                               : str_cat(", got ", found->second.sizes(), " ", found->second.dtype()));
    known.insert(name);
  }
  for (const auto& entry : state) {
    check(known.contains(entry.first), "optimizer state: ", entry.first, " is unknown to this optimizer or model");
  }
}

// average = decay·average + (1 − decay)·values
void add_share(const Tensor& average, const Tensor& values, double decay) {
  dispatch_floating(values.dtype(), [&]<class T>(T) {
    // The two shares add up to exactly 1. If both were rounded, the average would grow or shrink a little in every
    // step.
    const T kept = static_cast<T>(decay);
    kernels::axpby(average.data<T>(), T{1} - kept, values.data<T>(), kept, values.numel());
  });
}

}  // namespace

Optimizer::Optimizer(const ParameterSlab& slab, double clip) : slab_(slab), clip_(clip) {}

Tensor Optimizer::add_slab(const std::string& prefix, DType dtype, std::int64_t elements, TakesPart takes) {
  StateSlab& slab = state_.emplace_back(StateSlab{prefix, {}, std::move(takes), elements});
  std::int64_t places = 0;
  for (const ParameterSlab::Part& part : slab_.parts()) places += slab.has(part) ? slab.places(part.size) : 0;
  return slab.values = Tensor::zeros({places}, dtype);
}

Tensor Optimizer::add_state(const std::string& prefix, TakesPart takes) {
  return add_slab(prefix, slab_.values().dtype(), 1, std::move(takes));
}

MomentSlab Optimizer::add_moment(const std::string& prefix, StateFormat format, bool has_sign, const TakesPart& takes) {
  MomentSlab moment{.format = format, .has_sign = has_sign, .values = {}, .scales = {}, .ranges = {}};
  DType dtype = slab_.values().dtype();
  check(!moment.is_reduced() || dtype == DType::f32, "optimizer state: ", word_of(format),
        ": expected parameters of f32, got ", dtype);
  if (format == StateFormat::bf16) dtype = DType::bf16;
  if (format == StateFormat::int8) {
    dtype = DType::u8;
    moment.scales = add_slab(prefix + "_scale", DType::f32, kernels::kStateBlock, takes);
  }
  moment.values = add_slab(prefix, dtype, 1, takes);
  std::int64_t begin = 0, block = 0;
  for (const ParameterSlab::Part& part : slab_.parts()) {
    if (takes && !takes(part)) continue;
    check(!moment.is_reduced() || part.first.value_or(0) % kernels::kStateBlock == 0,
          "optimizer state: ", part.state_name(), ": a block is cut in two");
    moment.ranges.push_back({part.begin, begin, part.size, block});
    begin += ParameterSlab::padded(part.size);
    block += kernels::state_blocks(part.size);
  }
  return moment;
}

kernels::StateLayout Optimizer::layout(const MomentSlab& moment, const OptimizerStep& step) const {
  return {.ranges = moment.ranges,
          .key = {.seed = step.seed, .step = static_cast<std::uint32_t>(step.step), .stream = kRoundingStream},
          .offset = slab_.offset()};
}

double Optimizer::step(double lr, std::int64_t step) {
  const double norm = gradient_norm();
  if (std::isfinite(norm)) apply(clipped(lr, step, norm));
  return norm;
}

double Optimizer::gradient_norm() {
  slab_.complete_gradients();
  return std::sqrt(squared_norm());
}

double Optimizer::squared_norm() const {
  const Tensor& gradients = slab_.gradients();
  return dispatch_floating(gradients.dtype(),
                           [&]<class T>(T) { return kernels::sum_of_squares(gradients.data<T>(), gradients.numel()); });
}

void Optimizer::apply(const OptimizerStep& step) {
  apply_update(step);
  add_to_average(step.step);
}

void Optimizer::apply_update(const OptimizerStep& step) {
  check(step.step >= 1, "optimizer: steps are counted from 1, got ", step.step);
  slab_.values().mark_changed();
  update(step);
}

void Optimizer::keep_moving_average(double decay) {
  average_decay_ = decay;
  average_ = add_state(std::string(kMovingAverage));
  for (const auto& [name, buffer] : slab_.buffers()) {
    buffer_averages_.emplace_back(str_cat(kMovingAverage, ".", name), Tensor::zeros(buffer.sizes(), buffer.dtype()));
  }
}

void Optimizer::add_to_average(std::int64_t step) {
  if (!average_.defined()) return;
  double decay = std::min(average_decay_, 1 - 1 / static_cast<double>(step));
  const auto together = std::max(std::int64_t{1}, static_cast<std::int64_t>(kLeastShare / (1 - decay)));
  if (step % together != 0 && !buffers_begin_) return;
  decay = std::pow(decay, together);
  add_share(average_, slab_.values(), decay);
  for (std::size_t i = 0; i < buffer_averages_.size(); ++i) {
    add_share(buffer_averages_[i].second, slab_.buffers()[i].second, buffers_begin_ ? 0 : decay);
  }
  buffers_begin_ = false;
}

NamedTensors Optimizer::state() const {
  NamedTensors state;
  for (const StateSlab& slab : state_) {
    std::int64_t begin = 0;
    for (const ParameterSlab::Part& part : slab_.parts()) {
      if (!slab.has(part)) continue;
      const std::int64_t count = slab.count(part.size);
      const Tensor values = slab.values.slice(0, begin, begin + count);
      state.emplace_back(slab.prefix + "." + part.state_name(slab.elements),
                         slab.elements == 1 ? values.reshape(part.sizes) : values);
      begin += slab.places(part.size);
    }
  }
  state.insert(state.end(), buffer_averages_.begin(), buffer_averages_.end());
  return state;
}

void Optimizer::load_state(const std::map<std::string, Tensor>& state) {
  const NamedTensors places = this->state();
  check_fit(places, state);
  for (const auto& [name, place] : places) place.copy_from(state.at(name));
}

void Optimizer::load_state(const SafetensorsFile& file) {
  NamedTensors places = this->state();
  const auto is_missing = [&](const auto& place) { return !file.entries().contains(place.first); };
  buffers_begin_ = !buffer_averages_.empty() && std::ranges::all_of(buffer_averages_, is_missing);
  if (buffers_begin_) places.erase(places.end() - std::ssize(buffer_averages_), places.end());
  check_fit(places, file.entries());
  for (const auto& [name, place] : places) file.read(name, place);
}

}  // namespace tapeformer
