#include "tokenizer/tokenizer.h"

#include <algorithm>
#include <charconv>
#include <iostream>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>

#include "cli/commands/commands.h"
#include "cli/info/tokenizer_info.h"
#include "cli/options/input_lines.h"
#include "cli/terminal/messages.h"
#include "cli/terminal/progress_line.h"
#include "cli/terminal/results.h"
#include "cli/terminal/terminal.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text/joined.h"
#include "core/text/parse_number.h"
#include "data/text/byte_reader.h"
#include "data/text/encode_text.h"
#include "data/text/learn_tokenizer.h"
#include "data/text/text_files.h"
#include "data/text/text_source.h"
#include "train/config/key_text.h"

namespace tapeformer::cli {
namespace {

struct TokenizerArguments {
  std::string file, out, kind = "bpe", document = "none", text_field = "text";
  std::int64_t vocab = 4096, sample = 0;
  std::vector<std::string> texts, special_tokens;
  std::optional<SplitPattern> pattern;  // of tokenizer train
  FileOptions of_file;
  TokenizerInfoRequest info;
  std::uint64_t max_memory = TokenizerOptions().max_memory;
  bool lines = false;
};
using SharedArguments = std::shared_ptr<TokenizerArguments>;  // all commands of `tokenizer` have the same arguments

DocumentEnd read_document_end(const std::string& word) {
  check_key_value("--document", word_key("document", DocumentEnd::none, ""), word, "");
  return value_of<DocumentEnd>(word);
}

// Throws UsageError if the tokenizer would replace a file of the text that it is learned from.
void require_other_files(const TokenizerArguments& arguments) {
  const std::filesystem::path out = arguments.out;
  for (const std::filesystem::path& file : expand_inputs(arguments.texts)) {
    for (const std::filesystem::path& written : {out, out / "vocab.json", out / "merges.txt"}) {
      std::error_code missing;
      if (std::filesystem::is_regular_file(written, missing) && std::filesystem::equivalent(written, file, missing))
        fail_usage("tokenizer train: --out: expected a file that is no part of the text, got ", written.string());
    }
  }
}

FileText open_text(const TokenizerArguments& arguments) {
  return {expand_inputs(arguments.texts), {read_document_end(arguments.document), arguments.text_field}};
}

SplitPattern read_pattern(const std::string& name) {
  for (const SplitPatternInfo& info : kSplitPatterns) {
    if (name == info.name) return info.pattern;
  }
  fail_usage("--pattern: unknown pattern '", name, "': expected ", kSplitPatternNames);
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
  for (const std::string& line : notes.lines()) log_warning("{}", line);
}

void save(const Tokenizer& tokenizer, const std::string& path) {
  for (const std::string& line : tokenizer.save(path)) log_warning("{}", line);
}

// Throws Error if a file could not be written there, before work is done for it.
void require_folder_of(const std::string& out) {
  const std::filesystem::path folder = std::filesystem::path(out).parent_path();
  check(out.ends_with('/') || folder.empty() || is_folder(folder), "cannot write ", out, ": there is no folder ",
        folder.string());
}

void train_tokenizer(const TokenizerArguments& arguments) {
  require_folder_of(arguments.out);
  if (arguments.pattern && arguments.kind != "bpe") {
    fail_usage("tokenizer train: --pattern: expected --kind bpe beside it, got ", arguments.kind);
  }
  require_other_files(arguments);
  const FileText text = open_text(arguments);
  TokenizerOptions options{.kind = arguments.kind,
                           .vocab = arguments.vocab,
                           .special_tokens = arguments.special_tokens,
                           .pattern = arguments.pattern.value_or(SplitPattern::gpt2),
                           .max_memory = arguments.max_memory};
  if (options.special_tokens.empty() && options.kind != "char") options.special_tokens = {std::string(kEndOfText)};
  TextReader reader(text, kLearnPartBytes);
  TextReader* const readers[] = {&reader};
  const std::int64_t sample_bytes = sample_bytes_of(arguments.sample);
  const auto tokenizer = learn_tokenizer(options, readers, sample_bytes, show_progress);
  warn_of(reader.notes());
  save(*tokenizer, arguments.out);
  if (options.kind != "char" && tokenizer->vocab_size() < options.vocab) {
    log_warning("the text gives {} tokens only, {} were asked for", tokenizer->vocab_size(), options.vocab);
  }
  const bool is_sampled = options.kind != "char" && arguments.sample > 0 && reader.position() > sample_bytes;
  log_info("{} tokens from {}{} bytes of text: {}", tokenizer->vocab_size(),
           is_sampled ? str_cat("at most ", arguments.sample, " MiB of ") : "", reader.position(), arguments.out);
}

std::unique_ptr<Tokenizer> load(const TokenizerArguments& arguments) {
  return Tokenizer::load(arguments.file, arguments.of_file);
}

void print_ids(std::span<const std::int32_t> ids, std::string_view separator) {
  print_line("{}", joined(ids, separator));
}

// Returns the ids of a line of standard input. If a user types it, a line that has no ids gets a warning.
std::vector<std::int32_t> ids_of_line(const Tokenizer& tokenizer, const std::string& line, std::int64_t number,
                                      bool typed) {
  try {
    return tokenizer.encode(line);
  } catch (const Error& error) {
    if (!typed) fail("line ", number, ": ", error.what());
    log_warning("not encoded: {}", error.what());
    return {};
  }
}

void encode_input(TokenizerArguments& arguments) {
  const auto tokenizer = load(arguments);
  if (arguments.lines) {
    constexpr std::int64_t kLinesAtOnce = 1024;
    InputLines input("encoding");
    std::int64_t number = 0;
    for (std::vector<std::string> lines; input.next(kLinesAtOnce, lines); flush_results()) {
      for (const std::string& line : lines) print_ids(ids_of_line(*tokenizer, line, ++number, input.typed()), " ");
    }
    return;
  }
  if (arguments.texts.empty()) arguments.texts = {kStandardInput};
  const FileText text = open_text(arguments);
  TextReader reader(text);
  for_each_encoded(reader, *tokenizer, [](std::span<const std::int32_t> ids) {
    if (!ids.empty()) print_ids(ids, "\n");
  });
  warn_of(reader.notes());
}

void decode_input(const TokenizerArguments& arguments) {
  const auto tokenizer = load(arguments);
  TextOutput output;
  bool begins = true;
  for (std::string word; std::cin >> word; begins = false) {
    const auto id = parse_number<std::int32_t>(word);
    check(id.has_value(), "tokenizer decode: expected token ids separated by white space, got \"", word.substr(0, 60),
          "\"");
    output.write(begins ? tokenizer->decode(std::span(&*id, 1)) : std::string(tokenizer->token_bytes(*id)));
  }
  output.finish();
}

void show_tokenizer(const TokenizerArguments& arguments) {
  const auto tokenizer = load(arguments);
  if (arguments.texts.empty()) return print_tokenizer_info(*tokenizer, arguments.info, nullptr);
  const FileText text = open_text(arguments);
  print_tokenizer_info(*tokenizer, arguments.info, &text);
}

void convert_tokenizer(const TokenizerArguments& arguments) {
  const auto tokenizer = load(arguments);
  save(*tokenizer, arguments.out);
  log_info("{} tokens: {}", tokenizer->vocab_size(), arguments.out);
}

Option document_option(TokenizerArguments& arguments) {
  return {"--document", &arguments.document, "End of a document: none, file, line or mark [none]"};
}

Option text_field_option(TokenizerArguments& arguments) {
  return {"--text-field", &arguments.text_field, "Field of JSON lines that holds the text [text]"};
}

Option texts_argument(TokenizerArguments& arguments, bool required) {
  return {"text",
          &arguments.texts,
          "Files, folders or globs; .gz, .zst and .jsonl too; - for standard input",
          {.required = required}};
}

Option out_option(TokenizerArguments& arguments) {
  return {"--out",
          &arguments.out,
          "FILE.json, FILE.tiktoken, or FOLDER/ for vocab.json and merges.txt",
          {.required = true}};
}

// The options of a command that reads a tokenizer's file, followed by `more`. --pattern and --special add what the file
// may not say: how to split text, and special tokens.
std::vector<Option> with_file(TokenizerArguments& arguments, std::vector<Option> more) {
  std::vector<Option> options{
      {"file",
       &arguments.file,
       "FILE.json of Hugging Face, FILE.tiktoken, or GPT-2's: a folder with vocab.json and merges.txt",
       {.required = true}},
      {"--pattern", [&](const std::string& name) { arguments.of_file.pattern = read_pattern(name); },
       str_cat("How text is split, if the file does not say it: ", kSplitPatternNames)},
      {"--special",
       &arguments.of_file.special_tokens,
       "NAME or NAME=ID of a token that is not in the file; may be repeated",
       {.values = ListValues::one_each}}};
  std::ranges::move(more, std::back_inserter(options));
  return options;
}

Command tokenizer_train(const SharedArguments& shared) {
  TokenizerArguments& arguments = *shared;
  return {.name = "train",
          .help = "Learn a vocabulary from text",
          .options = {{"--vocab",
                       &arguments.vocab,
                       "Tokens, special ones counted; char takes every character [4096]",
                       {.least = 1}},
                      {"--kind", &arguments.kind, "char, word or bpe [bpe]"},
                      {"--pattern", [&](const std::string& name) { arguments.pattern = read_pattern(name); },
                       str_cat("How bpe splits text into words: ", kSplitPatternNames, " [gpt2]")},
                      {"--max-memory", [&](const std::string& text) { arguments.max_memory = read_bytes_option(text); },
                       "Memory for counting words, such as 64M; more of them go to files in $TMPDIR; 0: no bound [1G]"},
                      {"--special",
                       &arguments.special_tokens,
                       "A special token; may be repeated [<|endoftext|>; none for char]",
                       {.values = ListValues::one_each}},
                      out_option(arguments),
                      {"--sample",
                       &arguments.sample,
                       "MiB of the text, spread over it, that words and byte pairs are learned from; 0: all [0]",
                       {.least = 0}},
                      document_option(arguments),
                      text_field_option(arguments),
                      texts_argument(arguments, true)},
          .run = [shared] { train_tokenizer(*shared); }};
}

Command tokenizer_encode(const SharedArguments& shared) {
  TokenizerArguments& arguments = *shared;
  return {.name = "encode",
          .help = "Convert text to ids",
          .options = with_file(arguments, {document_option(arguments),
                                           text_field_option(arguments),
                                           texts_argument(arguments, false),
                                           {"--lines",
                                            &arguments.lines,
                                            "One line of ids per line of standard input",
                                            {.excludes = {"text", "--document", "--text-field"}}}}),
          .run = [shared] { encode_input(*shared); }};
}

Command tokenizer_decode(const SharedArguments& shared) {
  return {.name = "decode",
          .help = "Convert ids on standard input to text",
          .options = with_file(*shared, {}),
          .run = [shared] { decode_input(*shared); }};
}

Command tokenizer_info(const SharedArguments& shared) {
  TokenizerArguments& arguments = *shared;
  return {.name = "info",
          .help = "Show what a tokenizer holds, how it splits a text and how well it compresses files",
          .options = with_file(arguments, {document_option(arguments),
                                           text_field_option(arguments),
                                           texts_argument(arguments, false),
                                           {"--text", &arguments.info.text, "Show how it splits"},
                                           {"--json", &arguments.info.json, "As JSON"}}),
          .run = [shared] { show_tokenizer(*shared); }};
}

Command tokenizer_convert(const SharedArguments& shared) {
  return {.name = "convert",
          .help = "Convert from one file format to another",
          .options = with_file(*shared, {out_option(*shared)}),
          .run = [shared] { convert_tokenizer(*shared); }};
}

}  // namespace

Command tokenizer_command() {
  const auto arguments = std::make_shared<TokenizerArguments>();
  return {.name = "tokenizer",
          .help = "Train and use tokenizers",
          .commands = {tokenizer_train(arguments), tokenizer_encode(arguments), tokenizer_decode(arguments),
                       tokenizer_info(arguments), tokenizer_convert(arguments)}};
}

}  // namespace tapeformer::cli
