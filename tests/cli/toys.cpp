#include "tests/cli/toys.h"

#include <doctest/doctest.h>

#include <algorithm>

namespace {

const std::map<std::string, std::string> kCommon{
    {"tokenizer", "kind = \"char\"\n"},
    {"optimizer", "lr = 1e-2\nbeta2 = 0.98\n"},
    {"schedule", "kind = \"inverse_sqrt\"\nwarmup = 5\n"},
    {"train", "steps = 60\nbatch = 4\naccumulate = 2\nlog_every = 1\nthreads = 1\n"},
    {"eval", "every = 5\n"},
    {"checkpoint", "every = 4\n"},
};

const std::map<std::string, std::string> kDataKeys{{"text", "text = \"text.txt\"\n"},
                                                   {"pairs", "pairs = \"pairs.tsv\"\n"},
                                                   {"labels", "labels = \"train.tsv\"\n"},
                                                   {"labels of tasks", ""},
                                                   {"shapes", "corpus = \"shapes\"\nlines = 100\n"},
                                                   {"conversations", "conversations = \"chat.jsonl\"\n"}};

}  // namespace

std::string ToyConfig::toml() const {
  std::string text;
  for (const std::string section :
       {"model", "tokenizer", "data", "task", "tasks", "optimizer", "schedule", "train", "eval", "checkpoint"}) {
    const auto own = sections.find(section), common = kCommon.find(section);
    std::string lines;
    if (own != sections.end()) {
      lines = own->second;
    } else if (section == "data") {
      lines = kDataKeys.at(data);
    } else if (common != kCommon.end()) {
      lines = common->second;
    }
    if (!lines.empty()) text += "[" + section + "]\n" + lines;
  }
  return text;
}

const std::vector<ToyConfig>& toy_configs() {
  static const std::vector<ToyConfig> all{
      {"gpt",
       "text",
       {{"model",
         "layers = 2\nheads = 2\ndim = 32\ncontext = 16\ndropout = 0.1\nposition = \"learned\"\n"
         "norm_kind = \"layer\"\nactivation = \"gelu\"\nbias = true\n"},
        {"train", "steps = 60\nbatch = 8\naccumulate = 2\nlog_every = 1\nthreads = 1\n"},
        {"eval", "every = 5\nbatches = 4\n"},
        {"checkpoint", "every = 4\nkeep = 3\n"}}},
      {"rnn",
       "text",
       {{"model", "type = \"rnn\"\nlayers = 2\ndim = 24\ndropout = 0.1\n"},
        {"train", "steps = 60\nbatch = 4\nbptt = 16\naccumulate = 2\nlog_every = 1\nthreads = 1\n"}}},
      {"nplm", "text", {{"model", "type = \"nplm\"\norder = 4\nembedding_dim = 8\ndim = 16\ndropout = 0.1\n"}}},
      {"bilm", "text", {{"model", "type = \"bilm\"\nlayers = 2\ndim = 24\ncontext = 16\ndropout = 0.1\n"}}},
      {"bert",
       "text",
       {{"model",
         "type = \"bert\"\nlayers = 2\nheads = 2\ndim = 24\ncontext = 18\ndropout = 0.1\n"
         "segments = 2\nnext_sentence = true\n"}}},
      {"word2vec",
       "text",
       {{"model", "type = \"word2vec\"\ndim = 12\ncontext = 8\n"},
        {"tokenizer", "kind = \"word\"\nvocab = 300\n"},
        {"optimizer", "lr = 1e-2\nbeta2 = 0.98\neps = 1e-9\nweight_decay = 0\n"},
        {"train", "steps = 60\nbatch = 4\naccumulate = 2\nlog_every = 1\nthreads = 1\nmatmul = \"highest\"\n"}}},
      {"glove",
       "text",
       {{"model", "type = \"glove\"\ndim = 12\ncontext = 8\nwindow = 5\nx_max = 3.0\n"},
        {"tokenizer", "kind = \"word\"\nvocab = 300\n"},
        {"optimizer", "lr = 1e-2\nbeta2 = 0.98\neps = 1e-9\nweight_decay = 0\n"},
        {"train", "steps = 60\nbatch = 4\naccumulate = 2\nlog_every = 1\nthreads = 1\nmatmul = \"highest\"\n"}}},
      {"transformer",
       "pairs",
       {{"model",
         "type = \"transformer\"\nlayers = 1\nheads = 2\ndim = 32\ncontext = 16\ndropout = 0.1\nnorm = \"pre\"\n"},
        {"optimizer", "lr = 5e-3\n"},
        {"train", "steps = 40\nbatch_tokens = 96\naccumulate = 2\nlabel_smoothing = 0.1\nlog_every = 1\nthreads = 1\n"},
        {"eval", "every = 8\nbleu_every = 0\n"},
        {"checkpoint", "every = 4\nkeep = 3\naverage = 2\n"}}},
      {"rnn_seq2seq",
       "pairs",
       {{"model", "type = \"rnn_seq2seq\"\nlayers = 2\ndim = 24\nembedding_dim = 16\ndropout = 0.1\n"},
        {"optimizer", "lr = 2e-2\n"},
        {"train", "steps = 48\nbatch_tokens = 200\naccumulate = 2\nlog_every = 1\nthreads = 1\n"},
        {"eval", "every = 5\nbleu_every = 0\n"},
        {"checkpoint", "every = 4\naverage = 2\n"}}},
      {"cnn_lstm",
       "shapes",
       {{"model", "type = \"cnn_lstm\"\nchannels = 4\ndim = 16\nattention_penalty = 0.1\ndropout = 0.1\n"},
        {"tokenizer", "kind = \"word\"\n"},
        {"train", "steps = 30\nbatch = 4\naccumulate = 2\nlog_every = 1\nthreads = 1\n"},
        {"eval", "every = 8\nbleu_every = 0\n"}}},
      {"vit",
       "shapes",
       {{"model", "type = \"vit\"\nlayers = 1\nheads = 2\ndim = 16\ncontext = 16\ndropout = 0.1\n"},
        {"tokenizer", "kind = \"word\"\n"},
        {"train", "steps = 30\nbatch = 4\naccumulate = 2\nlog_every = 1\nthreads = 1\n"},
        {"eval", "every = 8\nbleu_every = 0\n"}}},
      {"tag",
       "labels",
       {{"model", "type = \"bert\"\nlayers = 2\nheads = 2\ndim = 24\ncontext = 24\n"},
        {"tokenizer", "kind = \"word\"\n"},
        {"task", "kind = \"tag\"\n"}}},
      {"multi_task",
       "labels of tasks",
       {{"model", "type = \"bert\"\nlayers = 2\nheads = 2\ndim = 24\ncontext = 24\n"},
        {"tokenizer", "kind = \"word\"\n"},
        {"task", "kind = \"multi_task\"\n"},
        {"tasks",
         "tags.kind = \"tag\"\ntags.labels = \"train.tsv\"\ntags.valid_labels = \"valid.tsv\"\n"
         "text.kind = \"masked_language_model\"\ntext.corpus = \"stories\"\ntext.weight = 0.5\n"},
        {"data", "lines = 60\n"}}},
      {"instructions",
       "conversations",
       {{"model", "layers = 1\nheads = 2\ndim = 24\ncontext = 96\ndropout = 0.1\n"},
        {"task", "kind = \"instructions\"\n"}}},
      {"sentences",
       "pairs",
       {{"model", "type = \"bert\"\nlayers = 1\nheads = 2\ndim = 24\ncontext = 40\ndropout = 0.1\n"},
        {"task", "kind = \"sentences\"\n"}}},
  };
  return all;
}

const ToyConfig& find_toy(const std::string& name) {
  const auto found = std::ranges::find(toy_configs(), name, &ToyConfig::name);
  REQUIRE(found != toy_configs().end());
  return *found;
}
