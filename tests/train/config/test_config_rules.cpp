// What one key of a configuration says about another, and what a resumed run may change.
#include <doctest/doctest.h>

#include <sstream>

#include "autograd/kernels/gemm/bf16/bf16_unit.h"
#include "core/error.h"
#include "nn/layers/block_config.h"
#include "tests/temp_folder.h"
#include "tests/train/config/config_support.h"
#include "train/config/config_table.h"
#include "train/config/matmul_config.h"
#include "train/config/run_config.h"

using namespace tapeformer;

TEST_CASE("config: resolve works out the defaults that depend on other keys") {
  const ResolvedConfig gpt = resolved({"model.dim=64", "train.steps=700", "model.context=32"});
  const KeyValues& g = gpt.model.options;
  CHECK(g.word<NormPlace>("norm") == NormPlace::pre);
  CHECK(g.word<ActivationKind>("activation") == ActivationKind::swiglu);
  CHECK(g.word<PositionKind>("position") == PositionKind::rotary);
  CHECK(g.text("tie_embeddings") == "output");
  CHECK(g.integer("ff_dim") == 192);
  CHECK(std::get<double>(gpt.optimizer.options.at("weight_decay")) == 0.1);
  CHECK(gpt.schedule.warmup == 200);
  CHECK(gpt.schedule.total == 700);
  CHECK(gpt.eval.stride == 32);
  CHECK(gpt.checkpoint.keep == 3);
  CHECK(g.number("attention_dropout") == 0);
  CHECK(g.number("init_std") == 0.02);
  CHECK(gpt.context() == 32);
  CHECK(gpt.model_dim() == 64);

  const ResolvedConfig transformer = resolved({"model.type=transformer", "optimizer.name=adam", "schedule.factor=1"});
  const KeyValues& t = transformer.model.options;
  CHECK(t.word<NormPlace>("norm") == NormPlace::post);
  CHECK(t.word<ActivationKind>("activation") == ActivationKind::relu);
  CHECK(t.word<PositionKind>("position") == PositionKind::sinusoidal);
  CHECK(t.text("tie_embeddings") == "all");
  CHECK(std::get<double>(transformer.optimizer.options.at("weight_decay")) == 0);
  CHECK(transformer.schedule.warmup == 4000);
  CHECK(t.number("init_std") == 0);  // Xavier's
  CHECK(transformer.eval.patience == 0);
  CHECK(transformer.eval.bleu_every == 1000);
  CHECK(transformer.eval.bleu_sentences == 1000);
  CHECK(transformer.eval.bleu_tokenize == BleuTokenization::v13a);
  const auto option = [](std::initializer_list<std::string> overrides, const char* name) {
    return resolved(overrides).model.options.get(name);
  };
  CHECK(option({"model.type=transformer", "tokenizer.joint=false"}, "tie_embeddings") == KeyValue("output"));
  CHECK(option({"model.dropout=0.3"}, "attention_dropout") == KeyValue(0.3));
  CHECK(option({"model.dropout=0.3", "model.attention_dropout=0"}, "attention_dropout") == KeyValue(0.0));
  CHECK(option({"model.init_std=0.1"}, "init_std") == KeyValue(0.1));

  const ResolvedConfig given = resolved({"model.norm=post", "model.ff_dim=10", "schedule.warmup=0", "schedule.total=9",
                                         "eval.stride=5", "checkpoint.average=10", "model.tie_embeddings=all"});
  CHECK(given.model.options.word<NormPlace>("norm") == NormPlace::post);
  CHECK(given.model.options.integer("ff_dim") == 10);
  CHECK(given.schedule.warmup == 0);
  CHECK(given.schedule.total == 9);
  CHECK(given.eval.stride == 5);
  CHECK(given.checkpoint.keep == 10);
  CHECK(given.model.options.text("tie_embeddings") == "output");
  CHECK(resolved({"checkpoint.keep=0", "checkpoint.average=10"}).checkpoint.keep == 0);

  for (const ResolvedConfig& config : {gpt, transformer, given}) {
    CHECK(resolve(config.values()) == config);
    CHECK(resolve(parse(to_toml(config))) == config);
    // Only what a file of labels says itself stays "auto".
    std::istringstream lines(to_toml(config));
    for (std::string line; std::getline(lines, line);) {
      CAPTURE(line);
      CHECK((line.find("\"auto\"") == std::string::npos || line.starts_with("labels_")));
    }
  }
}

TEST_CASE("config: the order of model.type and the other keys does not matter") {
  const ResolvedConfig first = resolve(parse("[model]\ntype = \"transformer\"\nnorm = \"auto\"\n")),
                       last = resolve(parse("[model]\nnorm = \"auto\"\ntype = \"transformer\"\n"));
  CHECK(first == last);
  CHECK(first.model.options.word<NormPlace>("norm") == NormPlace::post);
  CHECK(resolved({"model.type=transformer", "model.activation=auto"}).model.options.text("activation") == "relu");
}

TEST_CASE("config: values that follow other keys are listed, and follow them again when the list is read") {
  const ResolvedConfig run =
      resolved({"schedule.kind=cosine", "train.steps=100", "schedule.warmup=5", "model.dropout=0.1"});
  for (const char* name :
       {"schedule.total", "model.ff_dim", "model.attention_dropout", "eval.stride", "optimizer.weight_decay"}) {
    CAPTURE(name);
    CHECK(is_derived(run, name));
  }
  CHECK_FALSE(is_derived(run, "schedule.warmup"));
  CHECK_FALSE(is_derived(run, "train.steps"));

  Config longer = parse(to_toml(run));
  apply_overrides(longer, overrides_of({"train.steps=200", "model.dropout=0.2", "optimizer.name=adam"}));
  CHECK(resolve(longer).schedule.total == 200);
  CHECK(resolve(longer).model.options.number("attention_dropout") == 0.2);
  CHECK(std::get<double>(resolve(longer).optimizer.options.at("weight_decay")) == 0);
  CHECK(resolve(longer).schedule.warmup == 5);

  Config fixed = parse(to_toml(run));
  apply_overrides(fixed, overrides_of({"schedule.total=100", "train.steps=200"}));  // a value that is given stays
  CHECK(resolve(fixed).schedule.total == 100);
  CHECK_FALSE(is_derived(resolve(fixed), "schedule.total"));

  check_parse_error("derived = [\"train.steps\"]\n",
                    "x.toml:1: derived: expected keys whose defaults follow other keys, got \"train.steps\"");
  check_parse_error("derived = 3\n",
                    "x.toml:1: derived: expected a string or a list of strings, got the whole number 3");
}

TEST_CASE("config: every value that resolve works out from another key says which") {
  for (const ModelFamily& family : model_families()) {
    const std::string& type = family.name;
    CAPTURE(type);
    Config config;
    config.model.type = type;
    config.checkpoint.average = 7;
    const ResolvedConfig all = resolve(config);
    for (const ConfigEntry& entry : config_entries(config)) {
      CAPTURE(entry.name());
      const bool replaced =
          entry.get(config) == entry.key.default_value && entry.get(all.values()) != entry.get(config);
      CHECK(is_derived(all, entry.name()) == (replaced && !entry.key.follows.empty()));
      // These do not follow a key that may change: the paper's value, what suits the CPU (a run keeps it on any other),
      // and what suits the family.
      static constexpr std::string_view kStand[] = {"model.init_std", "train.matmul",    "optimizer.lr",
                                                    "schedule.kind",  "optimizer.beta2", "optimizer.eps"};
      if (replaced) CHECK((!entry.key.follows.empty() || std::ranges::count(kStand, entry.name()) > 0));
    }
  }
}

TEST_CASE("config: training data of the command line replaces the file's, whatever its kind, and says so") {
  const auto replaced = [](const std::string& file, std::initializer_list<std::string> overrides) {
    Config config = parse(file);
    const std::vector<std::string> notes = apply_overrides(config, overrides_of(overrides));
    CHECK_NOTHROW(resolve(config));
    return std::pair(config.data, notes);
  };
  const std::string seq2seq = "[model]\ntype = \"transformer\"\n";
  using Notes = std::vector<std::string>;
  {
    const auto [data, notes] = replaced(seq2seq + "[data]\ncorpus = \"reverse\"\n", {"data.pairs=mine.tsv"});
    CHECK(data.corpus.empty());
    CHECK(data.pairs == "mine.tsv");
    CHECK(notes == Notes{"data.pairs replaces data.corpus = reverse"});
  }
  {
    const auto [data, notes] =
        replaced(seq2seq + "[data]\npairs = \"a.tsv\"\nvalid_pairs = \"b.tsv\"\n", {"data.source=x", "data.target=y"});
    CHECK(data.pairs.empty());
    CHECK(data.valid_pairs.empty());
    CHECK(notes == Notes{"data.source replaces data.pairs = a.tsv", "data.source replaces data.valid_pairs = b.tsv"});
  }
  {
    const auto [data, notes] = replaced("[data]\ntext = [\"a\", \"b\"]\nvalid = \"c\"\n", {"data.corpus=stories"});
    CHECK(data.text.empty());
    CHECK(data.valid.empty());
    CHECK(notes == Notes{"data.corpus replaces data.text = a,b", "data.corpus replaces data.valid = c"});
  }
  {
    const auto [data, notes] = replaced("[data]\nlabels = \"a\"\ntext_column = \"b\"\n", {"data.text=c"});
    CHECK(data.text_column.empty());
    CHECK(notes == Notes{"data.text replaces data.labels = a", "data.text replaces data.text_column = b"});
  }
  {  // The same kind: only what is given changes.
    const auto [data, notes] = replaced("[data]\ntext = \"a\"\nvalid = \"c\"\n", {"data.text=b"});
    CHECK(data.text == Notes{"b"});
    CHECK(data.valid == Notes{"c"});
    CHECK(notes.empty());
  }
  Config config = parse("[data]\ncorpus = \"stories\"\n");
  apply_overrides(config, overrides_of({"data.text=a", "data.pairs=b"}));
  CHECK_THROWS_WITH_AS(resolve(config), "data: expected one kind of training data, got data.text and data.pairs",
                       UsageError);
}

TEST_CASE("config: an error is about what the user gave, not about a default") {
  check_invalid({"model.dim=6"}, "model.dim: expected a multiple of model.heads, which is 4, got 6");
  CHECK(resolved({"model.context=32"}).eval.stride == 32);
  Config config = parse(to_toml(resolved({})));
  apply_override(config, "model.context", "32");
  CHECK(resolve(config).eval.stride == 32);
}

TEST_CASE("config: a resumed run may change its training, not its model or its tokens") {
  const auto resumed = [](std::initializer_list<std::string> overrides) {
    const Config run =
        parse(to_toml(resolved({"schedule.kind=cosine", "train.steps=100", "model.dropout=0.1", "data.text=a"})));
    Config next = run;
    apply_overrides(next, overrides_of(overrides));
    return check_resume(stored_config(run), resolve(next));
  };
  using Lines = std::vector<std::string>;
  CHECK(resumed({}) == Lines{});
  CHECK(resumed({"model.heads=4"}) == Lines{});
  CHECK(resumed({"train.steps=200"}) ==
        Lines{"schedule.total is now 200 (follows train.steps)", "train.steps is now 200"});
  CHECK(resumed({"train.steps=200", "schedule.total=150"}) ==
        Lines{"schedule.total is now 150", "train.steps is now 200"});
  CHECK(resumed({"model.dropout=0.5"}) ==
        Lines{"model.dropout is now 0.5", "model.attention_dropout is now 0.5 (follows model.dropout)"});
  CHECK(resumed({"optimizer.name=adam"}) ==
        Lines{"optimizer.name is now adam", "optimizer.weight_decay is now 0.0 (follows optimizer.name)"});
  CHECK(resumed({"checkpoint.average=5"}) ==
        Lines{"checkpoint.keep is now 5 (follows checkpoint.average)", "checkpoint.average is now 5"});
  CHECK(resumed({"schedule.factor=1", "schedule.kind=inverse_sqrt"}) ==
        Lines{"schedule.kind is now inverse_sqrt", "schedule.warmup is now 4000 (follows schedule.factor)",
              "schedule.factor is now 1.0"});
  const auto refused = [&](const std::string& key, const std::string& before, const std::string& after) {
    const std::string message = key + ": the run has " + before + ", got " + after +
                                ": it says what the model, its tokens or its task are, which cannot change on resume";
    CHECK_THROWS_WITH_AS(resumed({key + "=" + after}), message.c_str(), UsageError);
  };
  CHECK_THROWS_WITH_AS(resumed({"optimizer.state=int8"}),
                       "optimizer.state: the run has f32, got int8: the moments go on as they were saved; "
                       "train.init_from begins a new run with the weights",
                       UsageError);
  refused("model.heads", "4", "8");
  refused("model.activation", "swiglu", "geglu");
  refused("model.context", "128", "64");
  refused("tokenizer.kind", "bpe", "char");
  refused("tokenizer.vocab", "4096", "8192");
  refused("data.document", "none", "line");
  refused("data.within_document", "false", "true");
  refused("data.text_field", "text", "body");
}

TEST_CASE("config: rules across keys") {
  CHECK_NOTHROW(resolved({}));
  check_invalid({"model.heads=5"}, "model.heads: expected a divisor of model.dim, which is 128, got 5");
  check_invalid({"model.position=sinusoidal", "model.dim=5", "model.heads=1"},
                "model.dim: expected an even width for sinusoidal positions, got 5");
  check_invalid({"tokenizer.vocab=256"},
                "tokenizer.vocab: expected at least 257 for bpe (256 bytes and the end of a text), got 256");
  CHECK_NOTHROW(resolved({"tokenizer.vocab=256", "tokenizer.kind=word"}));
  CHECK_NOTHROW(resolved({"tokenizer.vocab=256", "tokenizer.file=t.json"}));
  check_invalid({"schedule.kind=cosine", "schedule.min_lr=0.01"},
                "schedule.min_lr: expected at most optimizer.lr, which is 0.003, got 0.01");
  check_invalid({"schedule.kind=linear", "schedule.min_lr=0.01"},
                "schedule.min_lr: expected at most optimizer.lr, which is 0.003, got 0.01");
  check_invalid({"eval.patience=3", "eval.every=0"},
                "eval.patience: expected eval.every above 0 beside it, since patience counts evaluations, got 0");
  check_invalid({"eval.stride=129"}, "eval.stride: expected at most model.context, which is 128, got 129");
  CHECK(resolved({"model.type=nplm", "eval.stride=1024"}).eval.stride == 1024);
  check_invalid({"model.type=nplm", "eval.stride=1025"},
                "eval.stride: expected at most the window of nplm, which is 1024, got 1025");
  check_invalid({"train.batch_tokens=4096"},
                "train.batch_tokens: expected 0 for gpt, whose sequences are all as long as model.context, got 4096");
  // Each key is checked again, for a configuration that was made by hand.
  Config config;
  config.optimizer.options["beta2"] = 1.0;
  CHECK_THROWS_WITH_AS(resolve(config), "optimizer.beta2: expected 0 <= value < 1, got 1.0", UsageError);
}

TEST_CASE("config: training data is of one kind, whole, and right for the model") {
  const std::string seq2seq = "model.type=transformer";
  CHECK_NOTHROW(resolved({"data.text=a", "data.valid=b"}));
  CHECK_NOTHROW(resolved({"data.corpus=stories"}));
  CHECK_NOTHROW(resolved({seq2seq, "data.source=a", "data.target=b", "train.batch_tokens=4096"}));
  CHECK_NOTHROW(resolved({seq2seq, "data.source=a", "data.target=b", "data.valid_source=c", "data.valid_target=d"}));
  CHECK_NOTHROW(resolved({seq2seq, "data.pairs=a", "data.valid_pairs=b"}));
  CHECK_NOTHROW(resolved({seq2seq, "data.pairs=a", "tokenizer.joint=false", "tokenizer.target_file=t"}));
  check_invalid({seq2seq, "data.pairs=a", "tokenizer.target_file=t"},
                "tokenizer.target_file: expected tokenizer.joint = false beside it, since a joint vocabulary has one "
                "file");
  check_invalid({seq2seq, "data.pairs=a", "tokenizer.joint=false", "model.tie_embeddings=all"},
                "model.tie_embeddings: all needs tokenizer.joint = true, expected none or output");
  check_invalid({"data.text=a", "data.corpus=stories"},
                "data: expected one kind of training data, got data.text and data.corpus");
  check_invalid({"data.pairs=a", "data.source=a", "data.target=b"},
                "data: expected one kind of training data, got data.source and data.pairs");
  check_invalid({seq2seq, "data.source=a"}, "data.target: expected a file, since data.source is given");
  check_invalid({seq2seq, "data.target=a"}, "data.source: expected a file, since data.target is given");
  check_invalid({seq2seq, "data.source=a", "data.target=b", "data.valid_target=c"},
                "data.valid_source: expected a file, since data.valid_target is given");
  check_invalid({seq2seq, "data.pairs=a", "data.valid=b"}, "data.valid: expected data.text beside it, got none");
  check_invalid({seq2seq, "data.pairs=a", "data.valid_source=b", "data.valid_target=c"},
                "data.valid_source: expected data.source beside it, got none");
  check_invalid({"data.text=a", "data.valid_pairs=b"}, "data.valid_pairs: expected data.pairs beside it, got none");
  check_invalid({"data.text=a", "data.label_column=2"}, "data.label_column: expected none beside data.text = a, got 2");
  check_invalid({"data.text=a", "data.labels_format=csv"},
                "data.labels_format: expected auto beside data.text = a, got csv");
  CHECK_NOTHROW(resolved({"task.kind=classify", "data.label_column=2"}));  // whose data comes later
  check_invalid({"model.layers=1000000"}, "model.layers: expected 1 <= value <= 8192, got 1000000");
  check_invalid({"train.sample_tokens=9000000000000000000"},
                "train.sample_tokens: expected 1 <= value <= 1048576, got 9000000000000000000");
  check_invalid({"train.minutes=1e300"}, "train.minutes: expected 0 <= value <= 5270400, got 1e+300");
  check_invalid({"data.pairs=a"}, "model.type: gpt trains on data.text or data.corpus, got data.pairs");
  check_invalid(
      {seq2seq, "data.text=a"},
      "model.type: transformer trains on data.source and data.target, data.pairs or data.corpus, got data.text");

  CHECK_NOTHROW(resolved({"data.text=a", "data.within_document=true"}));
  check_invalid({seq2seq, "data.pairs=a", "data.within_document=true"},
                "data.within_document: expected false beside model.type = transformer, got true");
  check_invalid({"model.type=rnn", "data.text=a", "data.within_document=true"},
                "data.within_document: expected false for rnn, which reads on where a document ends, got true");
  CHECK_FALSE(parse("[data]\ndocument = \"line\"\n").data.within_document);

  CHECK_NOTHROW(require_data(resolved({"data.text=a"}).values()));
  CHECK_THROWS_WITH_AS(require_data(resolved({}).values()),
                       "data: expected one of data.text, data.source and data.target, data.pairs, data.labels, "
                       "data.images, data.conversations, data.corpus; got none",
                       UsageError);
}

TEST_CASE("config: a precision of products that is slow on this CPU has a warning, and auto avoids it") {
  using kernels::MatmulPrecision;
  kernels::force_bf16_unit(&kernels::software_bf16_unit());
  CHECK(matmul_warning(MatmulPrecision::medium).starts_with("the precision medium of matrix products is slower here"));
  CHECK(matmul_warning(MatmulPrecision::high).starts_with("the precision high of matrix products is slower here"));
  CHECK(matmul_warning(MatmulPrecision::highest).empty());
  CHECK(resolved({"train.matmul=auto"}).train.matmul == MatmulSetting::highest);
  kernels::force_bf16_unit(nullptr);
}

TEST_CASE("config: a rate that follows the evaluations needs some") {
  CHECK(resolved({"schedule.kind=plateau"}).schedule.decay == 0.5);
  CHECK_THROWS_WITH_AS(
      resolved({"schedule.kind=plateau", "eval.every=0"}),
      "schedule.kind: expected eval.every above 0 beside plateau, which follows the evaluations, got 0", UsageError);
}

TEST_CASE("config: a recurrent model reads in order: rows of train.bptt tokens, and no windows") {
  const ResolvedConfig rnn = resolved({"model.type=rnn"});
  CHECK(rnn.block_size() == 64);
  CHECK(rnn.eval.stride == 0);
  CHECK(rnn.model.options.integer("embedding_dim") == 200);
  CHECK(resolve(rnn.values()) == rnn);
  CHECK(resolve(parse_config(to_toml(rnn), "run.toml")) == rnn);
  CHECK(resolved({"model.type=rnn", "train.bptt=35"}).block_size() == 35);
  CHECK_THROWS_WITH_AS(resolved({"train.bptt=35"}),
                       "train.bptt: expected 0 for gpt, which carries no state from row to row, got 35", UsageError);
  CHECK_THROWS_WITH_AS(resolved({"model.type=rnn", "train.recompute=true"}),
                       "train.recompute: expected false for rnn, which has no blocks to compute again, got true",
                       UsageError);
  CHECK_THROWS_WITH_AS(resolved({"model.type=rnn", "eval.stride=5"}),
                       "eval.stride: expected 0 for rnn, which reads a text in order and has no windows, got 5",
                       UsageError);
  CHECK_THROWS_WITH_AS(resolved({"model.type=rnn", "model.tie_embeddings=output", "model.embedding_dim=100"}),
                       "model.embedding_dim: expected 0 or model.dim, which is 200, since model.tie_embeddings is "
                       "output, got 100",
                       UsageError);
}
