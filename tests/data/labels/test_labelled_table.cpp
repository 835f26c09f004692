// Labelled text in the formats that people have.
#include "data/labels/labelled_table.h"

#include <doctest/doctest.h>

#include "core/error.h"
#include "data/labels/csv.h"
#include "data/labels/labelled_text.h"

using namespace tapeformer;

namespace {

using Fields = std::vector<std::string>;

const TableShape kTexts{{"label", "text"}, "a label, a tab and a text"};

std::vector<Fields> fields_of(const LabelledTable& table) {
  std::vector<Fields> all;
  for (const TableRow& row : table.rows) all.push_back(row.fields);
  return all;
}

std::vector<Fields> texts(const char* name, std::string_view text, const LabelledFileOptions& format = {}) {
  return fields_of(parse_table(text, name, kTexts, format));
}

std::vector<Fields> words(const char* name, const std::string& text, const LabelledFileOptions& format = {}) {
  std::vector<Fields> all;
  const LabelledText read = LabelledText::from_text(text, name, format);
  for (const LabelledSentence& sentence : read.sentences()) {
    Fields& fields = all.emplace_back();
    for (const LabelledWord& word : sentence) fields.push_back(word.word + "/" + word.label);
  }
  return all;
}

void refused(const char* name, std::string_view text, const LabelledFileOptions& format, const char* message) {
  CAPTURE(text);
  CHECK_THROWS_WITH_AS(parse_table(text, name, kTexts, format), message, Error);
}

}  // namespace

TEST_CASE("csv: fields in quotes hold commas, quotes and line ends, as RFC 4180 has it") {
  const auto rows = csv_rows("a,\"b, \"\"c\"\"\",\r\n\"two\nlines\",,x\n\nlast", "x");
  REQUIRE(rows.size() == 4);
  CHECK(rows[0].fields == Fields{"a", "b, \"c\"", ""});
  CHECK(rows[1].fields == Fields{"two\nlines", "", "x"});
  CHECK(rows[1].line == 2);
  CHECK(rows[2].fields == Fields{""});
  CHECK(rows[3].fields == Fields{"last"});
  CHECK(rows[3].line == 5);
  CHECK_THROWS_WITH_AS(csv_rows("a\nb,\"c\n\n", "x"), "x:2: the quote of a field is not closed", Error);
  CHECK_THROWS_WITH_AS(csv_rows("a\n\"b\"c\n", "x"), "x:2: expected a comma or the line's end behind a closing quote",
                       Error);
  CHECK_THROWS_WITH_AS(csv_rows("b\"c\n", "x"),
                       "x:1: a quote stands within a field: expected the whole field in quotes, and this one doubled",
                       Error);
}

TEST_CASE("labelled table: CSV is read by the names in its first line, or by the columns that are chosen") {
  const std::string csv = "id,Text,sentiment\n1,\"good, really\",pos\n2,bad,neg\n";
  const std::vector<Fields> right{{"pos", "good, really"}, {"neg", "bad"}};
  CHECK(texts("a.csv", csv) == right);
  CHECK(texts("a.csv.gz", csv) == right);
  CHECK(texts("a.txt", csv, {.format = LabelFormat::csv}) == right);
  CHECK(texts("a.csv", csv, {.label_column = "3", .text_column = "-2"}) == right);
  CHECK(texts("a.csv", "stars,review\n5,good\n", {.label_column = "stars"}) == std::vector<Fields>{{"5", "good"}});
  CHECK(texts("a.csv", "pos,good\n", {.header = HeaderLine::no}) == std::vector<Fields>{{"pos", "good"}});
  refused("a.csv", "stars,review\n5,good\n", {},
          "a.csv:1: expected a first line that names the column of the label, got \"stars,review\"; data.label_column "
          "and data.text_column say which columns are read");
  refused("a.csv", csv, {.label_column = "mood"}, "a.csv:1: expected a column \"mood\", got \"id,Text,sentiment\"");
  refused("a.csv", csv, {.label_column = "4"}, "a.csv:1: expected a column 4, got 3 columns");
  refused("a.csv", csv + "3,x\n", {}, "a.csv:4: expected 3 fields as in the first line, got 2");
  CHECK(words("a.csv", "word,tag\nthe,O\n\"a,b\",B\n\ndog,O\n") == std::vector<Fields>{{"the/O", "a,b/B"}, {"dog/O"}});
}

TEST_CASE("labelled table: of several usual names that of the task is meant, and else none is chosen by its place") {
  const std::vector<Fields> right{{"good", "a film"}};
  CHECK(texts("a.csv", "topic,text,label\nnews,a film,good\n") == right);
  CHECK(texts("a.csv", "Title,Context,Text,Label,Class\nx,y,a film,good,z\n") == right);
  CHECK(texts("a.tsv", "topic\ttext\tlabel\nnews\ta film\tgood\n") == right);
  CHECK(texts("a.csv", "topic,review,sentiment\nnews,a film,good\n", {.label_column = "sentiment"}) == right);
  const char* const message =
      "a.csv:1: expected one column of the label, got topic and sentiment; data.label_column and data.text_column say "
      "which columns are read";
  refused("a.csv", "topic,review,sentiment\nnews,a film,good\n", {}, message);
  refused("a.csv", "review,label,label\na film,good,bad\n", {},
          "a.csv:1: expected one column of the label, got label and label; data.label_column and data.text_column say "
          "which columns are read");
  CHECK_THROWS_WITH_AS(words("a.csv", "Word,POS,Tag\nthe,DT,O\n"),
                       "a.csv:1: expected one column of the label, got POS and Tag; data.label_column and "
                       "data.text_column say which columns are read",
                       Error);
  CHECK(words("a.csv", "Word,POS,Tag\nthe,DT,O\n", {.label_column = "Tag"}) == std::vector<Fields>{{"the/O"}});
}

TEST_CASE("labelled table: a first line of CoNLL's columns that names them is no word") {
  const std::vector<Fields> right{{"the/O", "dog/B"}};
  const std::string lines = "the\tDT\tO\ndog\tNN\tB\n";
  const LabelledText text = LabelledText::from_text("word\tpos\tlabel\n" + lines, "a.tsv");
  CHECK(text.header() == "word\tpos\tlabel");
  CHECK(text.sentences()[0][0].word == "the");
  CHECK(words("a.tsv", "word\tpos\tlabel\n" + lines) == right);
  CHECK(words("a.txt", "Word POS Tag\nthe DT O\ndog NN B\n") == right);  // of several names the last column
  CHECK(words("a.conll", "Word POS Tag\nthe DT O\ndog NN B\n", {.header = HeaderLine::yes}) == right);
  CHECK(words("a.tsv", "word\tpos\tlabel\n" + lines, {.header = HeaderLine::no}) ==
        std::vector<Fields>{{"word/label", "the/O", "dog/B"}});
  CHECK(words("a.tsv", "word\tpos\tlabel\n" + lines, {.label_column = "2"}) ==
        std::vector<Fields>{{"the/DT", "dog/NN"}});
  CHECK(words("a.tsv", "word\tpos\tlabel\n" + lines, {.label_column = "-1"}) == right);
  CHECK(words("a.tsv", "word\tpos\tlabel\n" + lines, {.text_column = "1"}) == right);
  CHECK(words("a.tsv", "word\tpos\tlabel\n" + lines, {.label_column = "3", .text_column = "1"}) == right);
  CHECK(words("a.txt", "words NNS O\ndog NN B\n") == std::vector<Fields>{{"words/O", "dog/B"}});
  CHECK(words("a.txt", "words NNS O\ndog NN B\n", {.label_column = "2"}) ==
        std::vector<Fields>{{"words/NNS", "dog/NN"}});
}

TEST_CASE("labelled table: lines of tabs with names and columns, fastText's labels and JSON lines") {
  CHECK(texts("a.tsv", "good\ta film\tof note\n") == std::vector<Fields>{{"good", "a film\tof note"}});
  CHECK(texts("a.tsv", "text\tlabel\na film\tgood\n") == std::vector<Fields>{{"good", "a film"}});
  CHECK(texts("a.tsv", "7\ta film\tgood\n", {.label_column = "-1", .text_column = "2"}) ==
        std::vector<Fields>{{"good", "a film"}});
  CHECK(texts("a.tsv", "id\ttext\tlabel\n7\ta film\tgood\n", {.label_column = "3", .text_column = "2"}) ==
        std::vector<Fields>{{"good", "a film"}});
  CHECK(texts("a.tsv", "label\ttext\n", {.header = HeaderLine::no}) == std::vector<Fields>{{"label", "text"}});
  CHECK(texts("a.txt", "__label__good a film\n\n__label__bad  none \n") ==
        std::vector<Fields>{{"good", "a film"}, {"bad", "none "}});
  refused("a.txt", "__label__good a film\nnone\n", {}, "a.txt:2: expected one __label__LABEL and a text, got \"none\"");
  refused("a.txt", "__label__a __label__b film\n", {},
          "a.txt:1: expected one __label__LABEL and a text, got \"__label__a __label__b film\"");
  refused("a.txt", "__label__a film\n", {.label_column = "2"},
          "a.txt: data.label_column: expected none, since __label__ marks the label, got 2");
  refused("a.txt", "__label__a film\n", {.text_column = "text"},
          "a.txt: data.text_column: expected none, since the text follows the label, got text");
  CHECK(texts("a.ndjson", "{\"text\": \"a\", \"label\": \"1\"}\n") == std::vector<Fields>{{"1", "a"}});
  CHECK(texts("a.jsonl", "{\"text\": \"a\", \"label\": 1}\n{\"text\": \"b\", \"label\": true}\n") ==
        std::vector<Fields>{{"1", "a"}, {"true", "b"}});
  CHECK(texts("a.jsonl", "{\"review\": \"a\", \"stars\": \"5\"}\n",
              {.label_column = "stars", .text_column = "review"}) == std::vector<Fields>{{"5", "a"}});
  refused("a.tsv", "a\t\xff\n\xff\tb\n", {}, "a.tsv:2: the label is not valid UTF-8 at its byte 0");
}

TEST_CASE("labelled table: CoNLL's columns, apart by spaces or tabs, with documents and comments") {
  const std::string conll2003 =
      "-DOCSTART- -X- -X- O\n\nEU NNP B-NP B-ORG\nrejects VBZ B-VP O\n\nPeter NNP B-NP B-PER\n";
  const std::vector<Fields> right{{"EU/B-ORG", "rejects/O"}, {"Peter/B-PER"}};
  CHECK(words("a.txt", conll2003) == right);
  CHECK(words("a.conll", conll2003, {.label_column = "2"}) ==
        std::vector<Fields>{{"EU/NNP", "rejects/VBZ"}, {"Peter/NNP"}});
  CHECK(words("a.txt", "EU B-ORG\n# # O\nrejects  O\n") == std::vector<Fields>{{"EU/B-ORG", "rejects/O"}});
  CHECK(words("a.txt", "the B-NP\n# B-NP\n") == std::vector<Fields>{{"the/B-NP", "#/B-NP"}});
  const std::string conllu =
      "# sent_id = 1\n# text = Im Haus\n1-2\tIm\t_\t_\t_\t_\t_\t_\t_\t_\n1\tIn\tin\tADP\t_\t_\t3\tcase\t_\t_\n"
      "2\tdem\tder\tDET\t_\t_\t3\tdet\t_\t_\n3\tHaus\tHaus\tNOUN\t_\t_\t0\troot\t_\t_\n";
  CHECK(words("a.conllu", conllu) == std::vector<Fields>{{"In/ADP", "dem/DET", "Haus/NOUN"}});
  CHECK(words("a.txt", conllu, {.label_column = "8", .text_column = "3"}) ==
        std::vector<Fields>{{"in/case", "der/det", "Haus/root"}});
  CHECK(words("a.conllu", conllu + "3.1\tx\tx\tX\t_\t_\t_\t_\t_\t_\n") == words("a.conllu", conllu));
  CHECK(words("a.txt", "EU NNP B-ORG\n \t\nrejects VBZ O\n  \n") == std::vector<Fields>{{"EU/B-ORG"}, {"rejects/O"}});
  const std::string ten = "U.S.\t1\t2\t3\t4\t5\t6\t7\t8\tB-LOC\nx-ray\t1\t2\t3\t4\t5\t6\t7\t8\tO\n";
  CHECK(words("a.conll", ten, {.label_column = "-1", .text_column = "1"}) ==
        std::vector<Fields>{{"U.S./B-LOC", "x-ray/O"}});
  // A word in the first column of ten is none of CoNLL-U's numbers.
  const std::string numbers = "3.14\t1\t2\t3\t4\t5\t6\t7\t8\tB-NUM\n3-1\t1\t2\t3\t4\t5\t6\t7\t8\tO\n";
  const std::vector<Fields> numbers_too{{"3.14/B-NUM", "3-1/O"}};
  CHECK(words("a.conll", numbers, {.label_column = "10", .text_column = "1"}) == numbers_too);
  CHECK(words("a.conll", numbers, {.label_column = "-1", .text_column = "-10"}) == numbers_too);
  CHECK(words("a.txt", "New York\tB-LOC\nis\tO\n") == std::vector<Fields>{{"New York/B-LOC", "is/O"}});
  CHECK_THROWS_WITH_AS(words("a.conll", "EU NNP B-ORG\nrejects O\n"),
                       "a.conll:2: expected 3 columns as in the first word's line, got 2", Error);
}
