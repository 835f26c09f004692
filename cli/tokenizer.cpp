#include "tokenizer/tokenizer.h"

#include <spdlog/spdlog.h>

#include <iostream>
#include <map>
#include <memory>

#include "autograd/core/error.h"
#include "cli/commands.h"
#include "cli/run_model.h"
#include "cli/usage.h"
#include "data/byte_reader.h"
#include "data/learn_tokenizer.h"
#include "data/text.h"
#include "data/token_cache.h"

namespace tapeformer::cli {
namespace {

struct TokenizerArguments {
  std::string file, out, kind = "bpe", document = "none", text_field = "text";
  std::int64_t vocab = 4096, sample = 64;
  std::vector<std::string> texts, special_tokens = {"<|endoftext|>"};
  bool lines = false;
};

FileText open_text(const TokenizerArguments& arguments) {
  return {expand_inputs(arguments.texts), {document_end(arguments.document), arguments.text_field}};
}

void train(const TokenizerArguments& arguments) {
  const FileText text = open_text(arguments);
  TokenizerOptions options{arguments.kind, arguments.vocab, arguments.special_tokens};
  if (options.kind == "char") options.special_tokens.clear();
  TextReader reader(text, kSamplePartBytes);
  TextReader* const readers[] = {&reader};
  const ProgressCallback progress = show_progress("learning merges");
  const auto tokenizer =
      learn_tokenizer(options, readers, arguments.sample << 20, [&](std::int64_t done, std::int64_t wanted) {
        if (progress) progress(static_cast<double>(done) / static_cast<double>(wanted));
      });
  tokenizer->save(arguments.out);
  if (options.kind != "char" && tokenizer->vocab_size() < options.vocab) {
    spdlog::warn("the text gives {} tokens only, {} were asked for", tokenizer->vocab_size(), options.vocab);
  }
  spdlog::info("{} tokens from {} bytes of text: {}", tokenizer->vocab_size(), reader.position(), arguments.out);
}

void print_ids(std::span<const std::int32_t> ids, char separator) {
  for (std::size_t i = 0; i < ids.size(); ++i) std::cout << (i ? std::string(1, separator) : "") << ids[i];
  std::cout << '\n';
}

void encode(const TokenizerArguments& arguments) {
  const auto tokenizer = Tokenizer::load(arguments.file);
  if (arguments.lines) {
    for (std::string line; std::getline(std::cin, line);) print_ids(tokenizer->encode(line), ' ');
    return;
  }
  const FileText text = open_text(arguments);
  TextReader reader(text);
  for (TextPart part; reader.next(part);) {
    for (const auto& ids : encode_part(part, *tokenizer)) {
      if (!ids.empty()) print_ids(ids, '\n');
    }
  }
}

void decode(const TokenizerArguments& arguments) {
  const auto tokenizer = Tokenizer::load(arguments.file);
  for (std::string word; std::cin >> word;) {
    std::size_t read = 0;
    std::int32_t id = -1;
    try {
      id = std::stoi(word, &read);
    } catch (const std::exception&) {
    }
    check(read == word.size(), "tokenizer decode: expected token ids apart by white space, got \"", word, "\"");
    std::cout << tokenizer->decode(std::span(&id, 1));
  }
}

void print_info(const TokenizerArguments& arguments) {
  const auto tokenizer = Tokenizer::load(arguments.file);
  std::cout << "kind            " << tokenizer->kind() << '\n' << "vocabulary      " << tokenizer->vocab_size() << '\n';
  std::cout << "special tokens ";
  for (std::int32_t id : tokenizer->special_ids()) std::cout << ' ' << tokenizer->token_bytes(id) << " (" << id << ')';
  std::cout << '\n';
  if (arguments.texts.empty()) return;
  const FileText text = open_text(arguments);
  TextReader reader(text);
  std::int64_t tokens = 0;
  for (TextPart part; reader.next(part);) {
    for (const auto& ids : encode_part(part, *tokenizer)) tokens += static_cast<std::int64_t>(ids.size());
  }
  std::cout << "text            " << reader.position() << " bytes, " << tokens << " tokens, "
            << static_cast<double>(reader.position()) / static_cast<double>(tokens) << " bytes per token\n";
}

}  // namespace

void add_tokenizer_command(CLI::App& app) {
  auto arguments = std::make_shared<TokenizerArguments>();
  CLI::App* command = app.add_subcommand("tokenizer", "Train and use tokenizers");
  command->require_subcommand(1);

  const auto add_texts = [&](CLI::App* sub) {
    sub->add_option("--document", arguments->document, "End of a document: none, file, line or mark [none]");
    sub->add_option("--text-field", arguments->text_field, "Field of JSON lines that holds the text [text]");
    return sub->add_option("text", arguments->texts,
                           "Files, folders or globs; .gz, .zst and .jsonl too; - for standard input");
  };
  CLI::App* training = command->add_subcommand("train", "Learn a vocabulary from text");
  training->add_option("--vocab", arguments->vocab, "Tokens, special ones counted [4096]")->check(at_least(1));
  training->add_option("--kind", arguments->kind, "char, word or bpe [bpe]");
  training->add_option("--special", arguments->special_tokens, "Special tokens [<|endoftext|>]")->expected(1);
  training->add_option("--out", arguments->out, "The tokenizer.json to write")->required();
  training
      ->add_option("--sample", arguments->sample,
                   "MiB of the text, spread over it, that words and byte pairs are learned from; 0: all [64]")
      ->check(at_least(0));
  add_texts(training)->required();
  training->callback([arguments] { train(*arguments); });

  const auto with_file = [&](const char* name, const char* help) {
    CLI::App* sub = command->add_subcommand(name, help);
    sub->add_option("file", arguments->file, "A tokenizer.json")->required();
    return sub;
  };
  CLI::App* encoding = with_file("encode", "Text to ids");
  add_texts(encoding);
  encoding->add_flag("--lines", arguments->lines, "One line of ids per line of standard input");
  encoding->callback([arguments] {
    if (arguments->texts.empty()) arguments->texts = {kStandardInput};
    encode(*arguments);
  });
  with_file("decode", "Ids on standard input to text")->callback([arguments] { decode(*arguments); });
  CLI::App* info = with_file("info", "What a tokenizer holds, and how well it compresses a text");
  add_texts(info);
  info->callback([arguments] { print_info(*arguments); });
}

}  // namespace tapeformer::cli
