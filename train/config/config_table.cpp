#include "train/config/config_table.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "nn/optim/optimizers.h"
#include "train/config/key_text.h"
#include "train/config/task_row.h"

namespace tapeformer {

namespace {

// Optional properties of a key.
struct KeyFlags {
  bool fixed = false;  // a resumed run cannot change the key, because it describes the model, its tokens or its task
  const char* follows = "";                // Key::follows
  std::optional<double> placeholder = {};  // Key::placeholder
};
constexpr KeyFlags kFixed{.fixed = true};

// How members of one type are read and written as values of keys.
struct MemberType {
  KeyValue (*get)(const void* member);
  void (*set)(void* member, KeyValue value);
  std::vector<std::string> (*words)();  // the words of an enum; null for other types
};

template <class T>
constexpr MemberType kMemberType = {
    [](const void* member) -> KeyValue { return *static_cast<const T*>(member); },
    [](void* member, KeyValue value) { *static_cast<T*>(member) = std::get<T>(std::move(value)); }, nullptr};
template <class T>
requires std::is_enum_v<T>
constexpr MemberType kMemberType<T> = {
    [](const void* member) -> KeyValue { return word_of(*static_cast<const T*>(member)); },
    [](void* member, KeyValue value) { *static_cast<T*>(member) = value_of<T>(std::get<std::string>(value)); },
    words_of<T>};

// A word, or "auto" for a value that resolve() chooses.
template <class T>
requires std::is_enum_v<T>
constexpr MemberType kMemberType<std::optional<T>> = {
    [](const void* member) -> KeyValue {
      const auto& value = *static_cast<const std::optional<T>*>(member);
      return value ? word_of(*value) : std::string(kAuto);
    },
    [](void* member, KeyValue value) {
      const std::string& word = std::get<std::string>(value);
      auto& target = *static_cast<std::optional<T>*>(member);
      target = word == kAuto ? std::nullopt : std::optional(value_of<T>(word));
    },
    [] {
      std::vector<std::string> words = words_of<T>();
      words.insert(words.begin(), std::string(kAuto));
      return words;
    }};

// A key that every configuration has, as plain data: a table of objects with strings and functions of their own would
// take the compiler seconds.
struct KeyRow {
  const char *section, *key, *help;
  std::optional<KeyRange> range;
  KeyFlags flags;
  const void* (*member)(const Config&);
  const MemberType* type;
};

ConfigEntry entry_of(const KeyRow& row) {
  const auto get = [&row](const Config& config) { return row.type->get(row.member(config)); };
  const auto set = [&row](Config& config, KeyValue value) {
    row.type->set(const_cast<void*>(row.member(config)), std::move(value));
  };
  Key key{.name = row.key,
          .default_value = get(Config{}),
          .help = row.help,
          .follows = row.flags.follows,
          .may_change = !row.flags.fixed};
  if (row.flags.placeholder) key.placeholder = *row.flags.placeholder;
  if (row.range) key.allowed = *row.range;
  if (row.type->words) key.allowed = row.type->words();
  return {row.section, std::move(key), get, set};
}

// One section of Config; it makes the rows of its keys.
template <auto Section>
struct SectionOf {
  const char* name;

  template <auto Member>
  constexpr KeyRow key(const char* key, const char* help, std::optional<KeyRange> range = {},
                       KeyFlags flags = {}) const {
    using Type = std::remove_cvref_t<decltype(std::declval<Config>().*Section.*Member)>;
    const auto member = [](const Config& config) -> const void* { return &(config.*Section.*Member); };
    return {name, key, help, range, flags, member, &kMemberType<Type>};
  }
};

std::vector<std::string> family_names() {
  std::vector<std::string> names;
  for (const ModelFamily& family : model_families()) names.push_back(family.name);
  return names;
}

std::vector<std::string> task_names() {
  std::vector<std::string> names{std::string(kNoTask)};
  for (const TaskRow& task : task_rows()) {
    if (task.fine_tunes) names.push_back(task.name);
  }
  return names;
}

// Returns the part of the help of task.kind that lists the tasks: "tag = a label for each word; …; ".
std::string task_help() {
  std::string help;
  for (const TaskRow& task : task_rows()) {
    if (task.fine_tunes) help += str_cat(task.name, " = ", task.help, "; ");
  }
  return help;
}

}  // namespace

const std::vector<ConfigEntry>& common_entries() {
  using M = Config::Model;
  using K = Config::Tokenizer;
  using D = Config::Data;
  using L = Config::Task;
  using O = Config::Optimizer;
  using S = Config::Schedule;
  using T = Config::Train;
  using E = Config::Eval;
  using C = Config::Checkpoint;
  static constexpr SectionOf<&Config::model> model{"model"};
  static constexpr SectionOf<&Config::tokenizer> tokenizer{"tokenizer"};
  static constexpr SectionOf<&Config::data> data{"data"};
  static constexpr SectionOf<&Config::task> task{"task"};
  static constexpr SectionOf<&Config::optimizer> optimizer{"optimizer"};
  static constexpr SectionOf<&Config::schedule> schedule{"schedule"};
  static constexpr SectionOf<&Config::train> train{"train"};
  static constexpr SectionOf<&Config::eval> eval{"eval"};
  static constexpr SectionOf<&Config::checkpoint> checkpoint{"checkpoint"};
  static const std::vector<ConfigEntry> entries = [] {
    static constexpr KeyRow rows[] = {
        model.key<&M::type>("type", "model family", {}, kFixed),

        tokenizer.key<&K::kind>("kind", "tokens: characters, words, or byte-level byte pair encoding", {}, kFixed),
        tokenizer.key<&K::vocab>("vocab", "largest vocabulary that is learned (char takes every character)",
                                 between(1, kMaxSize), kFixed),
        tokenizer.key<&K::sample>("sample",
                                  "MiB of text, spread over all of it, from which words and byte pairs are learned "
                                  "(0 = all)",
                                  at_least(0), kFixed),
        tokenizer.key<&K::file>("file", "an existing tokenizer.json, used instead of learning one", {}, kFixed),
        tokenizer.key<&K::joint>("joint", "parallel text: one vocabulary for both sides, else one each", {}, kFixed),
        tokenizer.key<&K::target_file>("target_file", "tokenizer.json of the target side when they are not joint", {},
                                       kFixed),

        data.key<&D::text>("text",
                           "training text: files, folders or globs; .gz, .zst and .jsonl too; - = standard input"),
        data.key<&D::valid>("valid", "validation text: files, folders or globs (none = the last part of text)"),
        data.key<&D::valid_fraction>(
            "valid_fraction", "part of the data held out when no validation data is given (0 = none)", fraction()),
        data.key<&D::valid_bytes>(
            "valid_bytes", "bytes of the validation text that are read, from its beginning (0 = all)", at_least(0)),
        data.key<&D::document>(
            "document", "end of a document in plain text, where <|endoftext|> is put (mark = where it is written)", {},
            kFixed),
        data.key<&D::text_field>("text_field", "field of JSON lines (.jsonl) that holds a document's text", {}, kFixed),
        data.key<&D::within_document>("within_document",
                                      "attention and positions stay within a document: it never sees the one before",
                                      {}, kFixed),
        data.key<&D::source>("source", "parallel text: source sentences, one a line"),
        data.key<&D::target>("target", "parallel text: target sentences, one a line"),
        data.key<&D::valid_source>("valid_source", "source side for validation"),
        data.key<&D::valid_target>("valid_target", "target side for validation"),
        data.key<&D::pairs>("pairs", "parallel text: each line is source, tab, target"),
        data.key<&D::valid_pairs>("valid_pairs", "parallel text for validation: each line is source, tab, target"),
        data.key<&D::labels>("labels",
                             "labelled text for task.kind; tag: a line is word, tab, label, an empty line ends a "
                             "sentence; classify: label, tab, text; span: question, tab, text, tab, answer; or another "
                             "of labels_format"),
        data.key<&D::valid_labels>(
            "valid_labels", "labelled text for validation (none = data.valid_fraction of data.labels, of each label)"),
        data.key<&D::labels_format>(
            "labels_format",
            "how labelled text is written (auto = by the file's ending, or by its text): fields "
            "separated by tabs, CSV, CoNLL's columns, fastText's __label__, or JSON lines"),
        data.key<&D::labels_header>("labels_header",
                                    "whether its first line names the columns (auto = if these are usual names, or "
                                    "label_column or text_column is one of them)"),
        data.key<&D::label_column>("label_column",
                                   "column of the labels: its number, counted from 1 or with - from the last, or its "
                                   "name in the first line or of a JSON field (none = the usual one)"),
        data.key<&D::text_column>("text_column", "column of the texts or words, named like label_column"),
        data.key<&D::images>("images", "a folder of .png images and captions.tsv (file, tab, caption)"),
        data.key<&D::valid_images>(
            "valid_images", "a folder like data.images for validation (none = data.valid_fraction of data.images)"),
        data.key<&D::conversations>("conversations",
                                    "conversations for task.kind = instructions: JSON lines with messages, or with "
                                    "prompt and completion"),
        data.key<&D::valid_conversations>(
            "valid_conversations", "conversations for validation (none = data.valid_fraction of data.conversations)"),
        data.key<&D::corpus>("corpus", "name of a generated corpus"),
        data.key<&D::lines>("lines", "lines of the generated corpus", at_least(1)),
        data.key<&D::seed>("seed", "seed of the generated corpus, and of the labelled examples that validate",
                           at_least(0)),

        task.key<&L::kind>("kind", "what the model is fine-tuned for (none = trained for what its family is for)", {},
                           kFixed),
        task.key<&L::freeze>("freeze", "the encoder stays as it is: only the classifier on its vectors learns", {},
                             kFixed),
        task.key<&L::mix>("mix", "the classifier reads a learned mixture of all layers, not the last one", {}, kFixed),
        task.key<&L::layer_decay>("layer_decay", "factor of the learning rate from each layer to the one below it",
                                  KeyRange{0, 1, true}),
        task.key<&L::dropout>("dropout", "dropout on the vectors that the classifier reads", fraction()),
        task.key<&L::temperature>("temperature",
                                  "sentences: what the cosines are divided by before the softmax over a step's pairs",
                                  above(0)),
        task.key<&L::class_weights>(
            "class_weights", "weights of the labels' losses: all alike, or inverse to how often a label is there"),
        task.key<&L::sampling_alpha>("sampling_alpha",
                                     "multi_task: a step draws its task with a probability in proportion to (examples "
                                     "of the task)^alpha; 0: all alike",
                                     between(0, 1), kFixed),
        task.key<&L::metric_for_best_model>("metric_for_best_model",
                                            "multi_task: what chooses the best checkpoint, such as NAME_loss or a "
                                            "measure of a task (none = the mean loss, by the tasks' weights)",
                                            {}, kFixed),

        optimizer.key<&O::name>("name", "the rule by which gradients change the weights"),
        optimizer.key<&O::lr>("lr", "peak learning rate (-1 = ", or_minus_one(at_least(0))),
        optimizer.key<&O::clip>("clip", "largest global norm of the gradient (0 = no limit)", at_least(0)),
        optimizer.key<&O::embedding_lr>(
            "embedding_lr", "factor of the learning rate of embeddings, a head that is tied to one among them",
            above(0)),
        optimizer.key<&O::head_lr>("head_lr", "factor of the learning rate of heads with weights of their own",
                                   above(0)),

        schedule.key<&S::kind>(
            "kind", "shape of the learning rate after warm-up (auto = inverse_sqrt with schedule.factor, else "),
        schedule.key<&S::warmup>("warmup", "steps of linear warm-up (-1 = 4000 with schedule.factor, else 200)",
                                 or_minus_one(at_least(0)), {.follows = "schedule.factor"}),
        schedule.key<&S::total>("total", "step at which cosine, linear and wsd reach min_lr (0 = train.steps)",
                                at_least(0), {.follows = "train.steps"}),
        schedule.key<&S::min_lr>("min_lr", "last learning rate of cosine, linear and wsd", at_least(0)),
        schedule.key<&S::factor>(
            "factor", "above 0: the peak of inverse_sqrt is factor / sqrt(dim warmup), not optimizer.lr", at_least(0)),
        schedule.key<&S::decay>(
            "decay",
            "what plateau multiplies the rate by after an evaluation that is not better than the best checkpoint",
            between(0, 1)),
        schedule.key<&S::cooldown>("cooldown", "share of the steps, at their end, in which the rate of wsd falls",
                                   KeyRange{.min = 0, .max = 1, .excludes_min = true}),
        schedule.key<&S::cooldown_shape>("cooldown_shape", "how the rate of wsd falls: by 1 - t, or by 1 - sqrt(t)"),

        train.key<&T::steps>("steps", "optimizer steps", at_least(1)),
        train.key<&T::batch>("batch", "sequences in a micro-step", between(1, kMaxSize)),
        train.key<&T::batch_tokens>("batch_tokens", "tokens in a micro-step of parallel text (0 = count sequences)",
                                    at_least(0)),
        train.key<&T::bptt>("bptt",
                            "tokens through which a recurrent model's gradient flows back; its state goes on from row "
                            "to row (0 = what the family says)",
                            between(0, kMaxSize), {.fixed = true, .follows = "model.type"}),
        train.key<&T::accumulate>("accumulate", "micro-steps whose gradients make one step", between(1, kMaxSize)),
        train.key<&T::length_groups>(
            "length_groups", "groups of sentences of similar lengths that a step draws (0 = one for each micro-step)",
            between(0, kMaxSize)),
        train.key<&T::label_smoothing>("label_smoothing", "share of the target that is spread over the vocabulary",
                                       fraction()),
        train.key<&T::z_loss>("z_loss", "weight of the squared log of the softmax's sum, added to each target's loss",
                              at_least(0)),
        train.key<&T::ema>(
            "ema",
            "decay of a moving average of the weights over the steps, which is evaluated at the end (0 = "
            "off; -1 = 1 - 10/steps; not beside checkpoint.average)",
            or_minus_one(fraction()), {.follows = "train.steps", .placeholder = -1}),
        train.key<&T::mlm_probability>("mlm_probability", "share of the tokens that a masked language model predicts",
                                       KeyRange{.min = 0, .max = 1, .excludes_min = true}, kFixed),
        train.key<&T::mask_token>("mask_token", "share of the predicted tokens that become [MASK]", between(0, 1),
                                  kFixed),
        train.key<&T::mask_random>("mask_random",
                                   "share of the predicted tokens that become a random token; the others stay",
                                   between(0, 1), kFixed),
        train.key<&T::seed>("seed", "seed of weights, batches, masks and dropout", at_least(0)),
        train.key<&T::threads>("threads", "threads (0 = OMP_NUM_THREADS, or the physical cores)", between(0, 4096)),
        train.key<&T::recompute>("recompute",
                                 "compute activations again in backward: far less memory, up to a third more time"),
        train.key<&T::matmul>("matmul",
                              "precision of matrix products: f32, two bf16 for each number, one, or 8 bits in linear "
                              "layers (auto = medium where the CPU has AMX or AVX512_BF16, else highest)"),
        train.key<&T::minutes>("minutes",
                               "end, cooled down, after about this many minutes of the command; train.steps is then "
                               "the most (0 = train.steps decides; needs schedule.kind = wsd)",
                               between(0, kMaxMinutes)),
        train.key<&T::max_minutes>("max_minutes", "stop and save after this many minutes (0 = no limit)",
                                   between(0, kMaxMinutes)),
        train.key<&T::init_from>("init_from",
                                 "weights that a new run begins with: a run, a checkpoint in it, or model.safetensors "
                                 "(none = random)",
                                 {}, kFixed),
        train.key<&T::lora_rank>("lora.rank",
                                 "rank of adapters in linear layers (LoRA): they learn, and the weights of "
                                 "train.init_from stay as they are (0 = no adapters)",
                                 between(0, kMaxSize), kFixed),
        train.key<&T::lora_alpha>("lora.alpha", "adapters are scaled by alpha / rank", above(0), kFixed),
        train.key<&T::lora_targets>("lora.targets",
                                    "linear layers that get adapters, by the ends of their names, such as qkv, q, v, "
                                    "out, up or down (none = all but heads)",
                                    {}, kFixed),
        train.key<&T::lora_dropout>("lora.dropout", "dropout on what adapters read", fraction(), kFixed),
        train.key<&T::log_every>("log_every", "steps between lines of metrics.jsonl", at_least(1)),
        train.key<&T::watch>(
            "watch",
            "steps between lines of metrics.jsonl with the norms of each layer's gradients, weights and outputs "
            "(0 = never)",
            at_least(0)),
        train.key<&T::trace_nan>(
            "trace_nan",
            "a loss or gradient that is not finite ends the training: run that step again and name "
            "the op, the module and the values around the first such number"),
        train.key<&T::sample_every>(
            "sample_every",
            "steps between texts that the model makes for a look: continuations of sample_prompt, or greedy "
            "translations of validation sentences (0 = never)",
            at_least(0)),
        train.key<&T::sample_tokens>("sample_tokens", "tokens of a continuation that train.sample_every makes",
                                     between(1, kMaxSize)),
        train.key<&T::sample_prompt>("sample_prompt",
                                     "the text that train.sample_every continues (empty = the beginning of a text)"),
        train.key<&T::comm>("comm",
                            "what travels between the ranks of mpirun: gradients and changes of the weights as they "
                            "are, or rounded to bf16, which halves the bytes"),
        train.key<&T::sync_every>("sync_every",
                                  "for slow networks (DiLoCo): steps that each rank takes by itself before the ranks "
                                  "average their changes (0 = they sum the gradients of every step)",
                                  at_least(0), kFixed),
        train.key<&T::outer_lr>("outer_lr", "learning rate of the outer step after each train.sync_every steps",
                                above(0)),
        train.key<&T::outer_momentum>("outer_momentum", "Nesterov momentum of the outer step", fraction()),

        eval.key<&E::every>("every", "steps between evaluations (0 = only at the end)", at_least(0)),
        eval.key<&E::batches>("batches", "batches of an evaluation (0 = all validation data)", at_least(0)),
        eval.key<&E::stride>(
            "stride", "tokens that each window of an evaluation scores (0 = model.context; a recurrent model has none)",
            between(0, kMaxSize), {.follows = "model.context"}),
        eval.key<&E::patience>("patience",
                               "evaluations without a better checkpoint after which training ends (0 = no limit)",
                               at_least(0)),
        eval.key<&E::bleu_every>("bleu_every",
                                 "steps between BLEU scores of greedy translations of validation sentences "
                                 "(0 = never)",
                                 at_least(0)),
        eval.key<&E::bleu_sentences>("bleu_sentences", "how many validation sentences BLEU scores (0 = all)",
                                     at_least(0)),
        eval.key<&E::bleu_tokenize>("bleu_tokenize", "how BLEU finds words: as mteval-v13a does, or at spaces only"),

        checkpoint.key<&C::every>("every", "steps between checkpoints (0 = only at the end)", at_least(0)),
        checkpoint.key<&C::every_minutes>("every_minutes", "minutes between checkpoints as well (0 = off)",
                                          between(0, kMaxMinutes)),
        checkpoint.key<&C::keep>("keep",
                                 "newest checkpoints that are kept, beside the best (0 = all; at least average)",
                                 at_least(0), {.follows = "checkpoint.average"}),
        checkpoint.key<&C::average>("average", "checkpoints whose weights are averaged at the end (0 = off)",
                                    at_least(0)),
    };
    std::vector<ConfigEntry> table;
    for (const KeyRow& row : rows) table.push_back(entry_of(row));
    const auto entry = [&](std::string_view name) {
      return std::ranges::find(table, name, [](const ConfigEntry& e) { return e.name(); });
    };
    entry("model.type")->registered = family_names;
    entry("task.kind")->registered = task_names;
    entry("optimizer.lr")->key.help +=
        family_defaults_help([](const TrainingDefaults& training) { return training.lr; }) + ")";
    entry("schedule.kind")->key.help +=
        family_defaults_help([](const TrainingDefaults& training) { return word_of(training.schedule); }) + ")";
    std::string& help = entry("task.kind")->key.help;
    help.insert(help.find("none ="), task_help());
    entry("optimizer.name")->registered = optimizer_names;
    return table;
  }();
  return entries;
}

}  // namespace tapeformer
