#include "tasks/language_model/language_objective.h"

#include <fmt/format.h>

#include <algorithm>

#include "generate/generator.h"
#include "tasks/common/text_start.h"
#include "tasks/text/text_baselines.h"
#include "tokenizer/special_tokens.h"

namespace tapeformer {
namespace {

// How many tokens of the validation text a sample continues if there is no other prompt.
constexpr std::int64_t kPromptTokens = 16;
// The share of a text that may be left unread without a word.
constexpr double kUnreadShare = 0.05;

}  // namespace

LanguageObjective::LanguageObjective(const ResolvedConfig& config, LanguageData data,
                                     std::shared_ptr<CausalModel> shared)
    : TextObjectiveOf(config, std::move(data), make_causal_model, std::move(shared)), recurrent_(model_->recurrent()) {
  const Config::Train& train = config.train;
  const TokenView tokens = data_.train.view();
  micro_step_size_.targets = micro_step_size_.tokens = train.batch * config.block_size();
  check((recurrent_ != nullptr) == (config.family().bptt > 0), config.family().name,
        ": a family has ModelFamily::bptt exactly if its model is recurrent");
  if (train.sample_every > 0 && !train.sample_prompt.empty()) check_sample_prompt();
  if (recurrent_) {
    streams_ = StreamBatcher::full_rows(tokens, train.accumulate * train.batch, config.block_size());
    states_.resize(train.accumulate);
  } else {
    batcher_.emplace(tokens, train.batch, config.block_size(), static_cast<std::uint64_t>(train.seed));
  }
}

DataFacts LanguageObjective::facts() const {
  DataFacts facts = TextObjective::facts();
  if (std::string line = unread_warning(); !line.empty()) facts.warnings.push_back(std::move(line));
  return facts;
}

std::string LanguageObjective::unread_warning() const {
  if (!streams_) return "";
  const std::int64_t all = data_.train.size() - 1, streams = streams_->streams(), row = config_.block_size();
  const std::int64_t read = streams_->batches() * row;  // tokens of each stream
  const double unread = 1 - static_cast<double>(streams * read) / static_cast<double>(all);
  if (unread <= kUnreadShare) return "";
  return fmt::format(
      "train.bptt: rows of {} tokens read {} of the {} tokens of each stream: {:.0f} % of the training text is never "
      "read; other rows or fewer streams (train.batch times train.accumulate, {}) leave less of it",
      row, read, all / streams, 100 * unread, streams);
}

std::vector<std::int32_t> LanguageObjective::sample_prompt() const {
  return beginning_tokens(config_, *data_.tokenizer, *model_, config_.train.sample_prompt);
}

void LanguageObjective::check_sample_prompt() const {
  try {
    sample_prompt();
  } catch (const Error& error) {
    fail_usage("train.sample_prompt: expected a text that the run's tokenizer can encode: ", error.what());
  }
}

void LanguageObjective::draw(std::int64_t step, std::int64_t micro_step) {
  const MicroStep following = next(step, micro_step);
  if (streams_) {
    const std::int64_t rows = config_.train.batch;
    streams_->fill(step - 1, micro_step * rows, rows, batch_);
    streams_->read_ahead(following.step - std::int64_t{1}, following.micro_step * rows, rows);
  } else {
    batcher_->draw(static_cast<std::uint32_t>(step), static_cast<std::uint32_t>(micro_step), batch_);
    batcher_->read_ahead(following.step, following.micro_step);
  }
}

Variable LanguageObjective::micro_loss(Tape& tape, std::int64_t step, std::int64_t micro_step, const MeanOver& mean) {
  draw(step, micro_step);
  const Dims sizes{batch_.rows, batch_.length};
  const Variable ids = Variable::constant(tape, Tensor::from(std::span<const std::int32_t>(batch_.inputs), sizes));
  const Variable targets = Variable::constant(tape, Tensor::from(std::span<const std::int32_t>(batch_.targets), sizes));
  const CrossEntropyOptions options = loss_options(mean.normalizer());
  // A loss that is only evaluated, without training, does not change the recurrent state.
  if (!recurrent_ || !tape.options().training) return model_->loss(ids, targets, options);
  RecurrentState& state = states_[micro_step];
  if (streams_->begins(step - 1)) state.clear();
  return recurrent_->loss(ids, targets, options, state);
}

NamedTensors LanguageObjective::state() const {
  NamedTensors recurrent_state;
  if (states_.empty()) return recurrent_state;
  const std::int64_t rows = config_.train.batch;
  const Communicator::Share mine = ranks().share(config_.train.accumulate);
  for (const auto& [name, tensor] : states_[mine.begin].tensors()) {
    recurrent_state.emplace_back(name, Tensor::empty({streams_->streams(), tensor.size(1)}, tensor.dtype()));
  }
  for (std::int64_t i = mine.begin; i < mine.end; ++i) {
    const NamedTensors part = states_[i].tensors();
    for (std::size_t k = 0; k < recurrent_state.size(); ++k) {
      recurrent_state[k].second.slice(0, i * rows, (i + 1) * rows).copy_from(part[k].second);
    }
  }
  for (const auto& state : recurrent_state) {
    const Tensor& tensor = state.second;
    const std::int64_t micro_steps = config_.train.accumulate;
    dispatch_all(tensor.dtype(),
                 [&]<class T>(T) { ranks().gather_rows(tensor.data<T>(), micro_steps, tensor.bytes() / micro_steps); });
  }
  return recurrent_state;
}

void LanguageObjective::load(const NamedTensors& recurrent_state) {
  const std::int64_t rows = config_.train.batch;
  for (const auto& [name, tensor] : recurrent_state) {
    check(streams_ && tensor.size(0) == streams_->streams(), "the recurrent state ", name, " is ", tensor.sizes(),
          ": expected ", streams_ ? streams_->streams() : 0, " rows (train.batch times train.accumulate)");
  }
  for (std::int64_t i = 0; i < std::ssize(states_); ++i) {
    NamedTensors part;
    for (const auto& [name, tensor] : recurrent_state)
      part.emplace_back(name, tensor.slice(0, i * rows, (i + 1) * rows).clone());
    states_[i] = RecurrentState::from(part);
  }
}

std::function<void()> LanguageObjective::hold() {
  return [this, states = states_] { states_ = states; };
}

std::vector<TextSample> LanguageObjective::samples(const std::function<bool()>& go_on) {
  const Tokenizer& tokenizer = *data_.tokenizer;
  const GenerateOptions options{
      .sampling = {}, .tokens = config_.train.sample_tokens, .stop_token = text_end_token(tokenizer).value_or(-1)};
  const auto sample = [&](const std::string& input,
                          const std::vector<std::int32_t>& prompt) -> std::vector<TextSample> {
    const auto ids = generate(*model_, prompt, options, [&](std::int32_t) { return !go_on || go_on(); });
    const bool begins = begins_text(tokenizer, input, prompt);
    return {{input, begins ? tokenizer.decode(ids) : tokenizer.decode_continuation(ids)}};
  };
  std::vector<std::int32_t> prompt;
  try {
    prompt = sample_prompt();
  } catch (const Error&) {  // a tokenizer of characters that does not know one of them
  }
  if (!prompt.empty()) {
    std::string input = config_.train.sample_prompt;
    if (input.empty() && tokenizer.is_ordinary(prompt.back())) input = tokenizer.decode(prompt);  // a line end
    return sample(input, prompt);
  }
  const TokenFile& text = data_.valid ? *data_.valid : data_.train;
  prompt.resize(std::min(kPromptTokens, text.size()));
  text.copy(0, prompt);
  return sample(tokenizer.decode(prompt), prompt);
}

WindowOptions LanguageObjective::window_options() const {
  return {.stride = config_.eval.stride, .batch = config_.train.batch, .max_batches = config_.eval.batches};
}

Evaluation LanguageObjective::evaluate(const ProgressCallback& progress) {
  return tapeformer::evaluate(*model_, data_.valid->view(), window_options(), progress, ranks());
}

std::optional<Baselines> LanguageObjective::baselines(double seconds, const ProgressCallback& progress) {
  if (!can_evaluate()) return std::nullopt;
  return text_baselines(*model_, data_, window_options(), has_bits_per_byte(), seconds, progress);
}

}  // namespace tapeformer
