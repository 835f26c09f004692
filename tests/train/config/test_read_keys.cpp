// Keys that would have no effect, since nothing reads them.
#include <doctest/doctest.h>

#include "tests/temp_folder.h"
#include "tests/train/config/config_support.h"
#include "train/config/run_config.h"

using namespace tapeformer;

TEST_CASE("config: a key of a task is refused beside a task that does not read it") {
  check_invalid({"data.text=a", "task.freeze=true"}, "task.freeze: expected false beside task.kind = none, got true");
  check_invalid({"model.type=bert", "task.layer_decay=0.5"},
                "task.layer_decay: expected 1.0 beside task.kind = none, got 0.5");
  check_invalid({"task.kind=classify", "task.temperature=1"},
                "task.temperature: expected 0.05 beside task.kind = classify, got 1.0");
  check_invalid({"task.kind=tag", "task.sampling_alpha=1"},
                "task.sampling_alpha: expected 0.5 beside task.kind = tag, got 1.0");
  check_invalid({"task.kind=tag", "task.metric_for_best_model=accuracy"},
                "task.metric_for_best_model: expected none beside task.kind = tag, got accuracy");
  check_invalid({"task.kind=instructions", "task.mix=true"},
                "task.mix: expected false beside task.kind = instructions, got true");
  CHECK_NOTHROW(resolved({"task.kind=classify", "task.freeze=true", "task.mix=true", "task.dropout=0.5"}));
  CHECK_NOTHROW(resolved({"model.type=bert", "task.kind=multi_task", "task.dropout=0.5", "task.sampling_alpha=1",
                          "task.metric_for_best_model=b_loss", "tasks.a.kind=tag", "tasks.a.labels=a",
                          "tasks.b.kind=masked_language_model", "tasks.b.text=b"}));
}

TEST_CASE("config: a key is refused beside the value of another because of which nothing reads it") {
  const auto beside = [](const std::string& switch_key, const std::string& key, const std::string& message) {
    check_invalid({switch_key, key}, message);
  };
  beside("schedule.kind=constant", "schedule.min_lr=0.001",
         "schedule.min_lr: expected 0.0 beside schedule.kind = constant, got 0.001");
  beside("schedule.kind=cosine", "schedule.factor=2",
         "schedule.factor: expected 0.0 beside schedule.kind = cosine, got 2.0");
  beside("schedule.kind=wsd", "schedule.decay=0.1", "schedule.decay: expected 0.5 beside schedule.kind = wsd, got 0.1");
  beside("schedule.kind=linear", "schedule.cooldown=0.1",
         "schedule.cooldown: expected 0.4 beside schedule.kind = linear, got 0.1");
  beside("train.sync_every=0", "train.outer_lr=0.7",
         "train.outer_lr: expected 1.0 beside train.sync_every = 0, got 0.7");
  beside("train.lora.rank=0", "train.lora.alpha=32",
         "train.lora.alpha: expected 16.0 beside train.lora.rank = 0, got 32.0");
  beside("train.lora.rank=0", "train.lora.dropout=0.1",
         "train.lora.dropout: expected 0.0 beside train.lora.rank = 0, got 0.1");
  check_invalid({"model.type=transformer", "train.batch_tokens=512", "train.batch=8"},
                "train.batch: expected 16 beside train.batch_tokens = 512, got 8");
  beside("model.type=rnn", "eval.bleu_every=500", "eval.bleu_every: expected 0 beside model.type = rnn, got 500");
  beside("task.kind=tag", "eval.bleu_sentences=9", "eval.bleu_sentences: expected 1000 beside task.kind = tag, got 9");
  CHECK_NOTHROW(resolved({"schedule.kind=wsd", "schedule.min_lr=0.001", "schedule.cooldown=0.1"}));
  CHECK_NOTHROW(resolved({"schedule.kind=plateau", "schedule.decay=0.1"}));
  CHECK_NOTHROW(resolved({"train.sync_every=250", "train.outer_lr=0.7"}));
  CHECK_NOTHROW(resolved({"train.lora.rank=8", "train.lora.alpha=32", "train.init_from=run"}));
  CHECK_NOTHROW(resolved({"model.type=transformer", "eval.bleu_every=500"}));
  CHECK_NOTHROW(resolved({"eval.bleu_every=0"}));  // which is true
}

TEST_CASE("config: keys of text that is cut into rows are refused beside a task whose rows are examples") {
  check_invalid({"task.kind=tag", "eval.stride=64"}, "eval.stride: expected 0 beside task.kind = tag, got 64");
  check_invalid({"task.kind=instructions", "eval.stride=64"},
                "eval.stride: expected 0 beside task.kind = instructions, got 64");
  check_invalid({"model.type=transformer", "eval.stride=64"},
                "eval.stride: expected 0 beside model.type = transformer, got 64");
  check_invalid({"model.type=rnn_seq2seq", "eval.stride=64"},
                "eval.stride: expected 0 beside model.type = rnn_seq2seq, got 64");
  check_invalid({"model.type=bert", "task.kind=classify", "train.mlm_probability=0.3"},
                "train.mlm_probability: expected 0.15 beside task.kind = classify, got 0.3");
  check_invalid({"model.type=bert", "task.kind=sentences", "train.mask_random=0"},
                "train.mask_random: expected 0.1 beside task.kind = sentences, got 0.0");
  check_invalid({"model.type=transformer", "train.sample_prompt=The"},
                "train.sample_prompt: expected none beside model.type = transformer, got The");
  check_invalid({"model.type=bert", "train.sample_prompt=The"},
                "train.sample_prompt: expected none beside model.type = bert, got The");
  CHECK_NOTHROW(resolved({"eval.stride=64", "train.sample_prompt=The"}));
  CHECK_NOTHROW(resolved({"model.type=bert", "train.mlm_probability=0.3"}));
  // A stride that is not given follows the context, also where a run has recorded it.
  for (const ResolvedConfig& config :
       {resolved({"task.kind=tag"}), resolved({"model.type=transformer", "model.context=64"}),
        resolved({"model.type=rnn_seq2seq"}), resolved({"model.type=vit"})}) {
    CHECK(config.eval.stride > 0);
    CHECK(resolve(config.values()) == config);
    CHECK(stored_config(config.values()).eval.stride == config.eval.stride);
  }
  // What is given for several tasks is for those that read it.
  CHECK_NOTHROW(resolved({"model.type=bert", "task.kind=multi_task", "train.mlm_probability=0.3", "tasks.a.kind=tag",
                          "tasks.a.labels=a", "tasks.b.kind=masked_language_model", "tasks.b.text=b"}));
  CHECK_NOTHROW(resolved({"model.type=gpt", "task.kind=multi_task", "eval.stride=64", "tasks.a.kind=tag",
                          "tasks.a.labels=a", "tasks.b.kind=language_model", "tasks.b.text=b"}));
}

TEST_CASE("config: a task reads the keys of text that is cut into rows only where it has such text") {
  for (const std::string task : {"tag", "classify", "span", "sentences", "instructions"}) {
    CAPTURE(task);
    const std::string kind = "task.kind=" + task, beside = " beside task.kind = " + task + ", got ";
    check_invalid({kind, "data.document=line"}, "data.document: expected none" + beside + "line");
    check_invalid({kind, "data.text_field=body"}, "data.text_field: expected text" + beside + "body");
    check_invalid({kind, "data.within_document=true"}, "data.within_document: expected false" + beside + "true");
    check_invalid({kind, "data.valid_bytes=9"}, "data.valid_bytes: expected 0" + beside + "9");
    check_invalid({kind, "tokenizer.sample=1"}, "tokenizer.sample: expected 64" + beside + "1");
  }
  for (const std::string type : {"transformer", "rnn_seq2seq", "vit", "cnn_lstm"}) {
    CAPTURE(type);
    const std::string family = "model.type=" + type, beside = " beside model.type = " + type + ", got ";
    check_invalid({family, "data.document=file"}, "data.document: expected none" + beside + "file");
    check_invalid({family, "data.within_document=true"}, "data.within_document: expected false" + beside + "true");
    check_invalid({family, "train.sample_tokens=9"}, "train.sample_tokens: expected 100" + beside + "9");
    CHECK_NOTHROW(resolved({family, "train.sample_every=9"}));
  }
  for (const std::string type : {"gpt", "bert", "rnn", "word2vec"}) {
    CHECK_NOTHROW(resolved({"model.type=" + type, "data.document=line", "data.text_field=body", "tokenizer.sample=1"}));
  }
  CHECK_NOTHROW(resolved({"task.kind=instructions", "train.sample_tokens=9"}));
  CHECK_NOTHROW(resolved({"model.type=gpt", "task.kind=multi_task", "data.document=line", "data.within_document=true",
                          "tasks.a.kind=tag", "tasks.a.labels=a", "tasks.b.kind=language_model", "tasks.b.text=b"}));
}

TEST_CASE("config: train.bptt is refused where an rnn trains another head than its own") {
  const std::string rnn = "model.type=rnn", tags = "tasks.a.kind=tag", labels = "tasks.a.labels=a";
  check_invalid({rnn, "task.kind=tag", "train.bptt=32"}, "train.bptt: expected 0 beside task.kind = tag, got 32");
  check_invalid({rnn, "task.kind=sentences", "train.bptt=32"},
                "train.bptt: expected 0 beside task.kind = sentences, got 32");
  check_invalid({rnn, "task.kind=multi_task", tags, labels, "train.bptt=32"},
                "train.bptt: expected 0 beside task.kind = multi_task, got 32");
  CHECK(resolved({rnn, "task.kind=instructions", "train.bptt=32"}).block_size() == 32);
  const ResolvedConfig tagger = resolved({rnn, "task.kind=tag", "data.labels=a"});
  CHECK(resolve(tagger.values()) == tagger);
  CHECK(stored_config(tagger.values()).train.bptt == tagger.train.bptt);
}

TEST_CASE("config: a rate that falls from layer to layer is refused for a family that has no layers") {
  for (const std::string type : {"nplm", "word2vec", "glove"}) {
    check_invalid({"model.type=" + type, "task.kind=tag", "task.layer_decay=0.5"},
                  "task.layer_decay: expected 1.0 beside model.type = " + type + ", got 0.5");
  }
  for (const std::string type : {"gpt", "bert", "rnn", "bilm"}) {
    CHECK_NOTHROW(resolved({"model.type=" + type, "task.kind=tag", "task.layer_decay=0.5"}));
  }
}

TEST_CASE("config: a tokenizer of the target is refused beside a task that has one tokenizer") {
  check_invalid({"tokenizer.joint=false"}, "tokenizer.joint: expected true beside model.type = gpt, got false");
  check_invalid({"model.type=bert", "task.kind=tag", "tokenizer.joint=false"},
                "tokenizer.joint: expected true beside task.kind = tag, got false");
  check_invalid({"model.type=vit", "tokenizer.joint=false"},
                "tokenizer.joint: expected true beside model.type = vit, got false");
  check_invalid({"task.kind=sentences", "data.pairs=a", "tokenizer.joint=false", "tokenizer.target_file=t"},
                "tokenizer.joint: expected true beside task.kind = sentences, got false");
  CHECK_NOTHROW(resolved({"model.type=rnn_seq2seq", "tokenizer.joint=false", "tokenizer.target_file=t"}));
}

TEST_CASE("config: a format of the optimizer's state is refused where it keeps none") {
  const std::string sgd = "optimizer.name=sgd", none = "optimizer.momentum=0";
  check_invalid({sgd, none, "optimizer.state=int8"},
                "optimizer.state: expected f32 beside optimizer.momentum = 0.0, got int8");
  CHECK_NOTHROW(resolved({sgd, none}));
  CHECK_NOTHROW(resolved({sgd, "optimizer.state=int8"}));
  CHECK_NOTHROW(resolved({"optimizer.name=muon", "optimizer.state=bf16"}));
}

TEST_CASE("config: factors of the rates of embeddings and heads are refused where these do not learn") {
  const std::string head = "optimizer.head_lr=0.5", embeddings = "optimizer.embedding_lr=0.5";
  const auto refused = [](const std::string& name) { return "optimizer." + name + ": expected 1.0 beside "; };
  check_invalid({head}, refused("head_lr") + "model.tie_embeddings = output, got 0.5");
  check_invalid({"model.type=bert", head}, refused("head_lr") + "model.tie_embeddings = output, got 0.5");
  check_invalid({"model.type=transformer", head}, refused("head_lr") + "model.tie_embeddings = all, got 0.5");
  check_invalid({"task.kind=sentences", head}, refused("head_lr") + "task.kind = sentences, got 0.5");
  check_invalid({"model.tie_embeddings=none", "train.lora.rank=8", "train.init_from=run", head},
                refused("head_lr") + "train.lora.rank = 8, got 0.5");
  for (const std::string type : {"word2vec", "glove"}) {  // all their weights are vectors of tokens
    check_invalid({"model.type=" + type, head}, refused("head_lr") + "model.type = " + type + ", got 0.5");
    CHECK_NOTHROW(resolved({"model.type=" + type, embeddings}));
    CHECK_NOTHROW(resolved({"model.type=" + type, "task.kind=tag", head}));
  }
  check_invalid({"train.lora.rank=8", "train.init_from=run", embeddings},
                refused("embedding_lr") + "train.lora.rank = 8, got 0.5");
  check_invalid({"task.kind=tag", "task.freeze=true", embeddings},
                refused("embedding_lr") + "task.freeze = true, got 0.5");
  CHECK_NOTHROW(resolved({"model.tie_embeddings=none", head, embeddings}));
  CHECK_NOTHROW(resolved({"task.kind=tag", head, embeddings}));
  CHECK_NOTHROW(resolved({"task.kind=tag", "train.lora.rank=8", "train.init_from=run", head}));
  CHECK_NOTHROW(resolved({"model.type=bert", "model.segments=2", "model.next_sentence=true", head}));
  for (const std::string type : {"rnn", "nplm", "bilm", "cnn_lstm"}) {
    CHECK_NOTHROW(resolved({"model.type=" + type, head, embeddings}));
  }
}

TEST_CASE("config: keys of a generated corpus, or of labelled text, are refused beside other data") {
  check_invalid({"data.text=a", "data.lines=9"}, "data.lines: expected 20000 beside data.text = a, got 9");
  check_invalid({"data.text=a", "data.seed=9"}, "data.seed: expected 1 beside data.text = a, got 9");
  check_invalid({"model.type=transformer", "data.source=a", "data.target=b", "data.lines=9"},
                "data.lines: expected 20000 beside data.source = a, got 9");
  check_invalid({"task.kind=tag", "data.labels=a", "data.lines=9"},
                "data.lines: expected 20000 beside data.labels = a, got 9");
  const std::string several = "task.kind=multi_task", tags = "tasks.a.kind=tag", labels = "tasks.a.labels=a";
  check_invalid({"model.type=bert", several, tags, labels, "data.lines=9"},
                "data.lines: expected 20000 beside task.kind = multi_task, got 9");
  check_invalid(
      {"model.type=bert", several, "tasks.a.kind=masked_language_model", "tasks.a.text=a", "data.labels_header=yes"},
      "data.labels_header: expected auto beside task.kind = multi_task, got yes");
  CHECK_NOTHROW(resolved({"data.lines=9", "data.seed=9"}));  // a configuration that has no data yet
  CHECK_NOTHROW(resolved({"data.corpus=stories", "data.lines=9", "data.seed=9"}));
  CHECK_NOTHROW(resolved({"task.kind=tag", "data.labels=a", "data.seed=9"}));  // which draws those that validate
  CHECK_NOTHROW(resolved({"model.type=bert", several, tags, labels, "data.lines=9", "data.seed=9",
                          "tasks.b.kind=masked_language_model", "tasks.b.corpus=stories"}));
  Config config = parse("[data]\ncorpus = \"stories\"\nlines = 9\n");
  CHECK(apply_overrides(config, overrides_of({"data.text=a"})) ==
        std::vector<std::string>{"data.text replaces data.corpus = stories", "data.text replaces data.lines = 9"});
  CHECK(config.data.lines == 20000);
}

TEST_CASE("config: how validation data is drawn is refused where it is named") {
  const std::string tag = "task.kind=tag", labels = "data.labels=a", valid = "data.valid_labels=b";
  check_invalid({tag, labels, valid, "data.seed=9"}, "data.seed: expected 1 beside data.valid_labels = b, got 9");
  check_invalid({tag, labels, valid, "data.valid_fraction=0.3"},
                "data.valid_fraction: expected 0.0 beside data.valid_labels = b, got 0.3");
  check_invalid({"data.text=a", "data.valid=b", "data.valid_fraction=0.3"},
                "data.valid_fraction: expected 0.0 beside data.valid = b, got 0.3");
  CHECK_NOTHROW(resolved({"data.text=a", "data.valid=b", "data.valid_fraction=0"}));  // which is true
  CHECK_NOTHROW(resolved({"data.text=a", "data.valid_fraction=0.3"}));
  const std::string several = "task.kind=multi_task", bert = "model.type=bert", fraction = "data.valid_fraction=0.3";
  const std::string kind = "tasks.a.kind=tag", of_task = "tasks.a.labels=a", valid_of_task = "tasks.a.valid_labels=b";
  CHECK_NOTHROW(resolved({bert, several, kind, of_task, fraction, "data.seed=9"}));
  check_invalid({bert, several, kind, of_task, valid_of_task, fraction},
                "data.valid_fraction: expected 0.0 beside task.kind = multi_task, got 0.3");
  CHECK_NOTHROW(resolved(
      {bert, several, kind, of_task, valid_of_task, fraction, "tasks.b.kind=masked_language_model", "tasks.b.text=b"}));
  // Validation data on the command line replaces the part that a file holds out.
  Config config = parse("[data]\ntext = \"a\"\nvalid_fraction = 0.3\n");
  CHECK(apply_overrides(config, overrides_of({"data.valid=b"})) ==
        std::vector<std::string>{"data.valid replaces data.valid_fraction = 0.3"});
  CHECK_NOTHROW(resolve(config));
}

TEST_CASE("config: the end of a schedule that has none is refused, and so is a rate that schedule.factor replaces") {
  for (const std::string kind : {"constant", "plateau", "inverse_sqrt"}) {
    CAPTURE(kind);
    check_invalid({"schedule.kind=" + kind, "schedule.total=9"},
                  "schedule.total: expected 0 beside schedule.kind = " + kind + ", got 9");
    const ResolvedConfig config = resolved({"schedule.kind=" + kind, "train.steps=90"});
    CHECK(stored_config(config.values()).schedule.total == 90);
    Config longer = parse(to_toml(config));
    CHECK(apply_overrides(longer, overrides_of({"train.steps=100", "schedule.kind=" + kind})).empty());
    CHECK(resolve(longer).schedule.total == 100);
  }
  CHECK(resolved({"schedule.kind=linear", "schedule.total=9"}).schedule.total == 9);

  check_invalid({"schedule.factor=2", "optimizer.lr=0.5"},
                "optimizer.lr: expected -1.0 beside schedule.factor = 2.0, got 0.5");
  Config config = parse("[optimizer]\nlr = 0.5\n");
  CHECK(apply_overrides(config, overrides_of({"schedule.factor=2"})) ==
        std::vector<std::string>{"schedule.factor replaces optimizer.lr = 0.5"});
  const ResolvedConfig paper = resolve(config);
  CHECK(resolve(paper.values()) == paper);
  CHECK(resolve(parse(to_toml(paper))) == paper);
}

TEST_CASE("config: a key of a model is refused beside a word of another one with which nothing reads it") {
  for (const std::string type : {"rnn", "bilm", "rnn_seq2seq"}) {
    check_invalid({"model.type=" + type, "model.cell=gru", "model.forget_bias=2"},
                  "model.forget_bias: expected 1.0 beside model.cell = gru, got 2.0");
    CHECK_NOTHROW(resolved({"model.type=" + type, "model.cell=lstm", "model.forget_bias=2"}));
  }
  CHECK_NOTHROW(resolved({"model.type=cnn_lstm", "model.forget_bias=2"}));
  check_invalid({"model.position=learned", "model.position_base=500"},
                "model.position_base: expected 10000.0 beside model.position = learned, got 500.0");
  check_invalid({"model.position=sinusoidal", "model.rotary_pairs=interleaved"},
                "model.rotary_pairs: expected halves beside model.position = sinusoidal, got interleaved");
  check_invalid({"model.position_factor=8"},
                "model.position_factor: expected 1.0 beside model.position_scaling = none, got 8.0");
  for (const std::string scaling : {"linear", "llama3"}) {
    check_invalid({"model.position_scaling=" + scaling},
                  "model.position_scaling: expected none beside model.position_factor = 1.0, got " + scaling);
  }
  check_invalid({"model.position_scaling=linear", "model.position_factor=2", "model.position_original=64"},
                "model.position_original: expected 8192 beside model.position_scaling = linear, got 64");
  check_invalid({"model.feed_forward=none", "model.ff_dim=512"},
                "model.ff_dim: expected 0 beside model.feed_forward = none, got 512");
  check_invalid({"model.feed_forward=none", "model.activation=relu"},
                "model.activation: expected swiglu beside model.feed_forward = none, got relu");
  check_invalid({"model.feed_forward=none", "model.ff_bias=true"},
                "model.ff_bias: expected auto beside model.feed_forward = none, got true");
  for (const std::string kind : {"rms", "none"}) {
    check_invalid({"model.norm_kind=" + kind, "model.norm_bias=false"},
                  "model.norm_bias: expected auto beside model.norm_kind = " + kind + ", got false");
    CHECK_NOTHROW(resolved({"model.norm_kind=" + kind, "model.bias=false"}));
  }
  CHECK_NOTHROW(resolved({"model.norm_kind=batch", "model.norm_bias=false"}));
  CHECK_NOTHROW(resolved({"model.position_base=500", "model.rotary_pairs=interleaved", "model.position_scaling=llama3",
                          "model.position_factor=8", "model.position_low_freq=2", "model.position_original=64"}));
  Config config = parse("[model]\ntype = \"rnn\"\nforget_bias = 2\n");
  CHECK(apply_overrides(config, overrides_of({"model.cell=gru"})) ==
        std::vector<std::string>{"model.cell replaces model.forget_bias = 2.0"});
}

TEST_CASE("config: another schedule on the command line removes what it does not read, unless that is given too") {
  const Config file = parse("[schedule]\nkind = \"cosine\"\nmin_lr = 0.001\n");
  Config config = file;
  CHECK(apply_overrides(config, overrides_of({"schedule.kind=constant"})) ==
        std::vector<std::string>{"schedule.kind replaces schedule.min_lr = 0.001"});
  CHECK(config.schedule.min_lr == 0);
  config = file;
  apply_overrides(config, overrides_of({"schedule.kind=constant", "schedule.min_lr=0.001"}));
  CHECK_THROWS_AS(resolve(config), UsageError);
  config = file;
  CHECK(apply_overrides(config, overrides_of({"schedule.kind=linear", "train.steps=9"})).empty());
  CHECK(config.schedule.min_lr == 0.001);
}

TEST_CASE("config: a run of an older version may have recorded keys that nothing reads: they are ignored, and told") {
  const TempFolder folder;
  std::string text = to_toml(resolved({"data.text=a", "schedule.kind=constant"}));
  const auto set = [&](const std::string& from, const std::string& to) {
    REQUIRE(text.find(from) != text.npos);
    text.replace(text.find(from), from.size(), to);
  };
  const std::filesystem::path path = folder.write("config.toml", text);
  CHECK(ignored_keys(path).empty());
  const ResolvedConfig before = resolve(load_run_config(path));
  set("\nmin_lr = 0.0", "\nmin_lr = 0.5");
  set("\nmix = false", "\nmix = true");
  folder.write("config.toml", text);
  CHECK(resolve(load_run_config(path)) == before);
  CHECK(ignored_keys(path) ==
        std::vector<std::string>{
            path.string() + ": task.mix = true has no effect beside task.kind = none, and is ignored",
            path.string() + ": schedule.min_lr = 0.5 has no effect beside schedule.kind = constant, and is ignored"});
}

TEST_CASE("config: a run goes on though it has values that were derived and that nothing reads") {
  const TempFolder folder;
  const ResolvedConfig config =
      resolved({"data.text=a", "model.norm_kind=rms", "model.feed_forward=none", "model.bias=true"});
  CHECK(config.model.options.text("norm_bias") == "true");
  const std::filesystem::path path = folder.write("config.toml", to_toml(config));
  CHECK(ignored_keys(path).empty());
  const Config run = load_run_config(path);
  CHECK(resolve(run) == config);
  CHECK(check_resume(stored_config(run), resolve(run)).empty());
}

TEST_CASE("config: the documents of a generated corpus are its lines, and other ends are refused") {
  CHECK_NOTHROW(resolved({"data.corpus=stories", "data.document=line"}));
  check_invalid({"data.corpus=stories", "data.document=file"},
                "data.document: expected none or line beside data.corpus, whose documents are its lines, got file");
}
