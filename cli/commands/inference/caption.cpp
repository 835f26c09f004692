#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/commands/commands.h"
#include "cli/options/decoding_options.h"
#include "cli/options/page_option.h"
#include "cli/options/run_model.h"
#include "cli/terminal/progress_line.h"
#include "cli/terminal/results.h"
#include "cli/terminal/terminal.h"
#include "core/files.h"
#include "report/caption_page.h"
#include "tasks/captioning/trained_captioner.h"

namespace tapeformer::cli {
namespace {

struct CaptionArguments {
  RunSelection run;
  std::vector<std::string> images;
  std::optional<MatmulSetting> matmul;
  SearchArguments search;
  AlignmentHeads heads;
  std::string out;
  bool mistakes = false, json = false;
};

// Images to describe: some files, or a folder. Those of a folder with captions.tsv come with their captions.
struct ImagesToDescribe {
  CaptionedImages images;
  bool has_captions = false;
};

ImagesToDescribe read_images(const std::vector<std::string>& inputs, std::int64_t size) {
  std::vector<std::filesystem::path> files(inputs.begin(), inputs.end());
  if (files.size() == 1 && is_folder(files[0])) {
    const std::filesystem::path folder = files[0];
    if (is_there(folder / kCaptionsFile)) return {CaptionedImages::from_folder(folder, size), true};
    files.clear();
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      const std::filesystem::path ending = entry.path().extension();
      if (ending == ".png" || ending == ".PNG") files.push_back(entry.path());
    }
    std::ranges::sort(files);
    check(!files.empty(), folder.string(), ": expected .png files, got none");
  }
  CaptionedImages images("--images", size);
  for (const std::filesystem::path& file : files) {
    const Image image = read_png(read_file(file), size, size, file.string());
    images.add_caption({images.add_image(image, file.string()), "", {}});
  }
  return {std::move(images)};
}

// Returns the chosen captions with their images and the attention with which each was written.
std::vector<WrittenCaption> with_attention(const TrainedCaptioner& run, const ImagesToDescribe& read,
                                           std::span<const std::int64_t> chosen,
                                           const std::vector<TokenizedCaption>& captions, const AlignmentHeads& heads) {
  std::vector<WrittenCaption> written;
  for (const std::int64_t i : chosen) {
    const CaptionedImages::Caption& given = read.images.captions()[i];
    WrittenCaption& caption = written.emplace_back();
    caption.name = read.images.name(given.image);
    caption.image = read.images.image(given.image);
    caption.caption = captions[i].text;
    if (read.has_captions) caption.reference = given.text;
    const Tensor image = image_batch(read.images, std::span(&given.image, 1));
    caption.attention = caption_attention(*run.model, image, captions[i], run.tokenizer, heads);
  }
  return written;
}

void describe_images(const CaptionArguments& arguments) {
  const TranslateOptions options = arguments.search.checked();
  if ((arguments.heads.layer || arguments.heads.head) && arguments.out.empty() && !arguments.json) {
    fail_usage("caption: --layer and --head: expected --out or --json beside them");
  }
  const TrainedCaptioner run = open_run<TrainedCaptioner>(arguments.run, {.matmul = arguments.matmul});
  const kernels::MatmulPrecisionScope precision(run.matmul);
  const ImagesToDescribe read = read_images(arguments.images, run.image_size());
  if (arguments.mistakes && !read.has_captions) {
    fail_usage("caption: --mistakes: expected a folder with ", kCaptionsFile, " as --images");
  }
  std::vector<std::int64_t> indices, chosen;
  for (const CaptionedImages::Caption& caption : read.images.captions()) indices.push_back(caption.image);
  const std::vector<TokenizedCaption> captions = captions_of(*run.model, read.images, indices, run.tokenizer, options,
                                                             start_progress(show_progress, "writing captions"));
  CaptionCounts counts{.written = std::ssize(captions)};
  if (read.has_captions) counts.right = 0;
  for (std::int64_t i = 0; i < counts.written; ++i) {
    const bool right = read.has_captions && captions[i].text == read.images.captions()[i].text;
    if (right) ++*counts.right;
    if (!arguments.mistakes || !right) chosen.push_back(i);
  }
  if (arguments.out.empty() && !arguments.json) {
    for (const std::int64_t i : chosen)
      print_line("{}", output_line(read.images.name(indices[i]) + "\t" + captions[i].text));
    return;
  }
  const std::vector<WrittenCaption> written = with_attention(run, read, chosen, captions, arguments.heads);
  if (arguments.json) {
    for (const WrittenCaption& caption : written) print_json(caption_json(caption));
  }
  if (arguments.out.empty()) return;
  write_file_atomically(arguments.out,
                        caption_page(arguments.mistakes ? "Mistakes in captions" : "Captions", written, counts));
}

}  // namespace

Command caption_command() {
  const auto arguments = std::make_shared<CaptionArguments>();
  return {.name = "caption",
          .help = "Write captions of images",
          .options = concatenated(
              {{run_argument(arguments->run),
                checkpoint_option(arguments->run),
                {"--images", &arguments->images, "PNG files, or a folder of them", {.required = true}}},
               search_options(arguments->search, {"Images", "caption", "the model's context, or 100"}),
               {matmul_option(arguments->matmul),
                page_option("--out", arguments->out,
                            "A page (.html) with the images, the words, and where the model looked for each of them"),
                {"--mistakes", &arguments->mistakes, "Only captions that differ from those of the folder"}},
               alignment_options(arguments->heads),
               {{"--json", &arguments->json, "Print a JSON object for each image, with the weights of each word"}}}),
          .run = [arguments] { describe_images(*arguments); }};
}

}  // namespace tapeformer::cli
