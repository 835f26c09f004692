#include "tokenizer/tokenizer.h"

#include <spdlog/spdlog.h>

#include <charconv>
#include <iostream>
#include <limits>
#include <map>
#include <memory>

#include "cli/commands/commands.h"
#include "cli/commands/tokenizer_info.h"
#include "cli/options/run_model.h"
#include "cli/options/usage.h"
#include "cli/terminal/progress_line.h"
#include "cli/terminal/terminal.h"
#include "core/error.h"
#include "data/text/byte_reader.h"
#include "data/text/encode_text.h"
#include "data/text/learn_tokenizer.h"
#include "data/text/text.h"
#include "data/text/text_source.h"
#include "train/config/key_text.h"

namespace tapeformer::cli {
namespace {

struct TokenizerArguments {
  std::string file, out, kind = "bpe", document = "none", text_field = "text";
  std::int64_t vocab = 4096, sample = 0;
  std::vector<std::string> texts, special_tokens;
  SplitPattern pattern = SplitPattern::gpt2;
  FileOptions of_file;
  TokenizerInfoRequest info;
  std::uint64_t max_memory = TokenizerOptions().max_memory;
  bool lines = false;
};

constexpr const char* kOutHelp = "FILE.json, FILE.tiktoken, or FOLDER/ for vocab.json and merges.txt";

DocumentEnd read_document_end(const std::string& word) {
  check_key_value("--document", word_key("document", DocumentEnd::none, ""), word, "");
  return value_of<DocumentEnd>(word);
}

FileText open_text(const TokenizerArguments& arguments) {
  return {expand_inputs(arguments.texts), {read_document_end(arguments.document), arguments.text_field}};
}

SplitPattern read_pattern(const std::string& name) {
  for (const SplitPatternInfo& info : kSplitPatterns) {
    if (name == info.name) return info.pattern;
  }
  fail_usage("--pattern: unknown pattern '", name, "': expected gpt2 or cl100k");
}

// Parses a size such as "67108864", "65536K", "64M" or "1G", with units of powers of 1024.
std::size_t read_bytes_option(const std::string& text) {
  std::size_t number = 0, shift = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  const std::size_t unit = rest + 1 == end ? std::string_view("KMGT").find(*rest) : std::string_view::npos;
  if (unit != std::string_view::npos) shift = 10 * (unit + 1);
  const bool understood = error == std::errc() && (rest == end || shift > 0);
  if (!understood || number > std::numeric_limits<std::size_t>::max() >> shift) {
    fail_usage("--max-memory: expected a number of bytes such as 64M, got '", text, "'");
  }
  return number << shift;
}

void warn_of(const TextNotes& notes) {
  for (const std::string& line : notes.lines()) spdlog::warn("{}", line);
}

void save(const Tokenizer& tokenizer, const std::string& path) {
  for (const std::string& line : tokenizer.save(path)) spdlog::warn("{}", line);
}

void train(const TokenizerArguments& arguments) {
  const FileText text = open_text(arguments);
  TokenizerOptions options{.kind = arguments.kind,
                           .vocab = arguments.vocab,
                           .special_tokens = arguments.special_tokens,
                           .pattern = arguments.pattern,
                           .max_memory = arguments.max_memory};
  if (options.special_tokens.empty() && options.kind != "char") options.special_tokens = {std::string(kEndOfText)};
  TextReader reader(text, kLearnPartBytes);
  TextReader* const readers[] = {&reader};
  const auto tokenizer = learn_tokenizer(options, readers, arguments.sample << 20, show_progress);
  warn_of(reader.notes());
  save(*tokenizer, arguments.out);
  if (options.kind != "char" && tokenizer->vocab_size() < options.vocab) {
    spdlog::warn("the text gives {} tokens only, {} were asked for", tokenizer->vocab_size(), options.vocab);
  }
  spdlog::info("{} tokens from {} bytes of text: {}", tokenizer->vocab_size(), reader.position(), arguments.out);
}

std::unique_ptr<Tokenizer> load(const TokenizerArguments& arguments) {
  return Tokenizer::load(arguments.file, arguments.of_file);
}

void print_ids(std::span<const std::int32_t> ids, char separator) {
  for (std::size_t i = 0; i < ids.size(); ++i) std::cout << (i ? std::string(1, separator) : "") << ids[i];
  std::cout << '\n';
}

void encode(const TokenizerArguments& arguments) {
  const auto tokenizer = load(arguments);
  if (arguments.lines) {
    for (std::string line; std::getline(std::cin, line);) print_ids(tokenizer->encode(line), ' ');
    return;
  }
  const FileText text = open_text(arguments);
  TextReader reader(text);
  for_each_encoded(reader, *tokenizer, [](std::span<const std::int32_t> ids) {
    if (!ids.empty()) print_ids(ids, '\n');
  });
  warn_of(reader.notes());
}

void decode(const TokenizerArguments& arguments) {
  const auto tokenizer = load(arguments);
  TextOutput output;
  for (std::string word; std::cin >> word;) {
    std::size_t read = 0;
    std::int32_t id = -1;
    try {
      id = std::stoi(word, &read);
    } catch (const std::exception&) {
    }
    check(read == word.size(), "tokenizer decode: expected token ids separated by white space, got \"",
          word.substr(0, 60), "\"");
    output.write(tokenizer->decode(std::span(&id, 1)));
  }
  output.finish();
}

void print_info(const TokenizerArguments& arguments) {
  const auto tokenizer = load(arguments);
  if (arguments.texts.empty()) return print_tokenizer_info(*tokenizer, arguments.info, nullptr);
  const FileText text = open_text(arguments);
  print_tokenizer_info(*tokenizer, arguments.info, &text);
}

void convert(const TokenizerArguments& arguments) {
  const auto tokenizer = load(arguments);
  save(*tokenizer, arguments.out);
  spdlog::info("{} tokens: {}", tokenizer->vocab_size(), arguments.out);
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
  const auto add_pattern = [](CLI::App* sub, auto& pattern, const char* help) {
    sub->add_option_function<std::string>(
        "--pattern", [&pattern](const std::string& name) { pattern = read_pattern(name); }, help);
  };
  add_pattern(training, arguments->pattern, "How bpe splits text into words: gpt2 or cl100k [gpt2]");
  training->add_option_function<std::string>(
      "--max-memory", [arguments](const std::string& text) { arguments->max_memory = read_bytes_option(text); },
      "Memory for counting words, such as 64M; more of them go to files in $TMPDIR; 0: no bound [1G]");
  training
      ->add_option("--special", arguments->special_tokens,
                   "A special token; may be repeated [<|endoftext|>; none for char]")
      ->allow_extra_args(false);
  training->add_option("--out", arguments->out, kOutHelp)->required();
  training
      ->add_option("--sample", arguments->sample,
                   "MiB of the text, spread over it, that words and byte pairs are learned from; 0: all [0]")
      ->check(at_least(0));
  add_texts(training)->required();
  training->callback([arguments] { train(*arguments); });

  const auto with_file = [&](const char* name, const char* help) {
    CLI::App* sub = command->add_subcommand(name, help);
    sub->add_option("file", arguments->file,
                    "FILE.json of Hugging Face, FILE.tiktoken, or GPT-2's: a folder with vocab.json and merges.txt")
        ->required();
    add_pattern(sub, arguments->of_file.pattern, "How text is split, if the file does not say it: gpt2 or cl100k");
    sub->add_option("--special", arguments->of_file.special_tokens,
                    "NAME or NAME=ID of a token that is not in the file; may be repeated")
        ->allow_extra_args(false);
    return sub;
  };
  CLI::App* encoding = with_file("encode", "Convert text to ids");
  add_texts(encoding);
  encoding->add_flag("--lines", arguments->lines, "One line of ids per line of standard input");
  encoding->callback([arguments] {
    if (arguments->texts.empty()) arguments->texts = {kStandardInput};
    encode(*arguments);
  });
  with_file("decode", "Convert ids on standard input to text")->callback([arguments] { decode(*arguments); });
  CLI::App* info =
      with_file("info", "Show what a tokenizer holds, how it splits a text and how well it compresses files");
  add_texts(info);
  info->add_option("--text", arguments->info.text, "Show how it splits");
  info->add_flag("--json", arguments->info.json, "As JSON");
  info->callback([arguments] { print_info(*arguments); });
  CLI::App* conversion = with_file("convert", "Convert from one file format to another");
  conversion->add_option("--out", arguments->out, kOutHelp)->required();
  conversion->callback([arguments] { convert(*arguments); });
}

}  // namespace tapeformer::cli
