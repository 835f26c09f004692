#include <algorithm>
#include <sstream>

#include "data/synthetic/corpora.h"
#include "tasks/common/eval.h"
#include "tasks/common/models.h"
#include "tasks/common/rules.h"
#include "tasks/common/task_rows.h"
#include "tasks/instructions/answers.h"
#include "tasks/instructions/instruction_objective.h"
#include "tasks/instructions/plan.h"
#include "tasks/text/dummy_data.h"
#include "train/config/data_kinds.h"
#include "train/loop/objective_data.h"

namespace tapeformer {
namespace {

void check_instructions(const ResolvedConfig& config) {
  const std::string& family = config.family().name;
  const Config::Data& data = config.data;
  require(config.family().is_causal(), "task.kind: expected none for ", family,
          ", which predicts no next token, got instructions");
  const std::string data_key = data_kind(data);
  require(data_key.empty() || data_key == "data.conversations" || data_key == "data.corpus",
          "task.kind: instructions trains on data.conversations or data.corpus, got ", data_key);
  require(data.corpus.empty() || is_conversation_corpus(data.corpus),
          "data.corpus: expected conversations for task.kind = instructions, got ", data.corpus, ", which has none");
  require(config.train.batch_tokens == 0, "train.batch_tokens: expected 0 for task.kind = instructions, got ",
          config.train.batch_tokens);
  require(config.train.length_groups == 1, "train.length_groups: expected 1 for task.kind = instructions, got ",
          config.train.length_groups);
  require_no_masks(config);
}

using InstructionObjectiveData = DataOfOneTokenizer<InstructionData>;

// Conversations of random tokens that fill the rows of two steps.
InstructionData dummy_conversations(const ResolvedConfig& config, const RunFolder* run) {
  InstructionData data;
  if (const std::filesystem::path file = tokenizer_file(config, run); !file.empty()) {
    data.tokenizer = Tokenizer::load(file);
    data.settings = ChatSettings::beside(file);
  } else {
    data.tokenizer = dummy_tokenizer(config, chat_special_tokens());
  }
  const std::int64_t length = longest_conversation(config);
  for (std::int64_t i = 0; i < 2 * config.train.batch * config.train.accumulate; ++i) {
    ChatTokens tokens{.ids = random_ids(length, *data.tokenizer), .answers = {{1, length}}, .answer_texts = {""}};
    data.train.list.push_back(std::move(tokens));
  }
  return data;
}

// Returns the prompts of all answers. Each generated answer may be somewhat longer than the given one: it is wrong
// then, and the rest of it does not matter.
std::vector<AnswerPrompt> prompts_of(std::span<const ChatTokens> conversations, std::int64_t longest) {
  std::vector<AnswerPrompt> prompts;
  for (const ChatTokens& conversation : conversations) {
    for (const TokenSpan& answer : conversation.answers) {
      const std::int64_t wanted = 2 * answer.size() + 8;
      prompts.push_back({std::span(conversation.ids).first(answer.begin), std::min(wanted, longest - answer.begin)});
    }
  }
  return prompts;
}

std::int64_t right_answers(std::span<const ChatTokens> conversations, std::span<const std::string> answers) {
  std::int64_t right = 0;
  std::size_t next = 0;
  for (const ChatTokens& conversation : conversations) {
    for (const std::string& expected : conversation.answer_texts) right += answers[next++] == expected;
  }
  return right;
}

EvalReport evaluate_instructions(const EvalRequest& request) {
  require_no_pseudo_option(request);
  require_no_parts(request);
  require_no_windows(request, "conversations are read whole");
  const auto run = open_run<TrainedLanguageModel>(request);
  const kernels::MatmulPrecisionScope precision(run.matmul);
  const ConversationFile file = read_conversations(request.conversations);
  for (const std::string& note : file.notes.lines()) request.warn(note);
  const ChatFormat format(*run.tokenizer, ChatSettings::beside(run.run.tokenizer()));
  const std::int64_t row = run.config.block_size();
  const EncodedConversations encoded = encode_conversations(file.conversations, format, file.origin, row + 1);
  if (const std::string note = encoded.note("conversations", row + 1); !note.empty()) request.warn(note);
  check(!encoded.list.empty(), file.origin, ": no conversation can be scored");
  const ConversationBatcher batcher(
      encoded.list, {.batch = request.rows(), .length = row, .packs = run.config.family().keeps_documents});
  const Evaluation result = evaluate_answers(*run.model, batcher, 0, start_progress(request.progress, "evaluating"));
  require_finite(result);
  const std::vector<AnswerPrompt> prompts = prompts_of(encoded.list, row + 1);
  const std::vector<std::string> answers =
      greedy_answers(*run.model, format, prompts, request.rows(), start_progress(request.progress, "answering"));
  const std::int64_t right = right_answers(encoded.list, answers);
  const double accuracy = static_cast<double>(right) / static_cast<double>(answers.size());

  const TextFacts facts{.bytes = encoded.answer_bytes(), .unknown_share = encoded.unknown_share(*run.tokenizer)};
  nlohmann::ordered_json json = loss_json(result, facts);
  json.update({{"conversations", encoded.list.size()},
               {"skipped", encoded.too_long + encoded.without_answer},
               {"answers", answers.size()},
               {"right", right},
               {"accuracy", accuracy}});
  std::ostringstream table;
  table << "conversations  " << encoded.list.size() << " scored, " << encoded.too_long + encoded.without_answer
        << " skipped\n"
        << "tokens         " << result.tokens << " of " << answers.size() << " answers, with their end marks\n";
  table << loss_table(result, facts);
  table << "accuracy       " << 100 * accuracy << " %: " << right << " of " << answers.size()
        << " answers are the given ones, by greedy decoding\n"
        << "checkpoint     " << run.checkpoint_text << '\n';
  return {with_run_keys(std::move(json), run), table.str()};
}

}  // namespace

TaskRow instructions_task() {
  return {.name = "instructions",
          .help = "the assistant's answers in conversations",
          .fine_tunes = true,
          .implied_by = "data.conversations",
          .model = "a language model",
          .commands = "for models that answer there are generate --chat, and eval with --conversations",
          .next_commands = {"generate % --chat", "eval % --conversations FILE"},
          .eval_input = "conversations",
          .makes_text = true,
          .reads_sentences = true,
          .check = check_instructions,
          .prepare = [](const ResolvedConfig& config, const RunFolder* resumed,
                        const ProgressMaker& progress) -> std::unique_ptr<ObjectiveData> {
            return std::make_unique<InstructionObjectiveData>(prepare_instruction_data(config, resumed, progress));
          },
          .dummy = [](const ResolvedConfig& config, const RunFolder* run) -> std::unique_ptr<ObjectiveData> {
            return std::make_unique<InstructionObjectiveData>(dummy_conversations(config, run));
          },
          .make = make_from<InstructionObjective, InstructionData>,
          .plan = plan_instructions,
          .evaluate = evaluate_instructions};
}

}  // namespace tapeformer
