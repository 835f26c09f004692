// Hugging Face's tokenizers on the work of bench/tokenizer: trains byte-level BPE on a file, encodes and decodes it,
// prints one JSON line with the same keys. An aid for comparison alone; nothing here is needed to build or use anything.
// It takes node and the package `tokenizers` (npm), installed in some folder outside of this repository:
//   mkdir peer && cd peer && npm install tokenizers
//   RAYON_NUM_THREADS=2 node PATH/bench/peers/hf_tokenizers.mjs --text FILE [--tokenizer FILE.json] [--lines N]
// The package's binding trains with its default trainer alone: a vocabulary of 30,000. --tokenizer leaves training out and
// encodes with an existing tokenizer.json. Text is encoded in batches of `--lines` lines (default 1000) a sequence, which
// its threads share; --save FILE.json keeps what was trained.
import { createRequire } from 'node:module'
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'

const { values: flags } = parseArgs({
  options: {
    text: { type: 'string' },
    tokenizer: { type: 'string' },
    save: { type: 'string' },
    lines: { type: 'string', default: '1000' },
  },
})
if (!flags.text) {
  console.error('hf_tokenizers: --text FILE is missing')
  process.exit(2)
}
// From the folder where one stands, since the package is installed there.
const hf = createRequire(process.cwd() + '/')('tokenizers')

const secondsOf = async (work) => {
  const begin = performance.now()
  await work()
  return (performance.now() - begin) / 1000
}

let tokenizer
let trainSeconds = null
if (flags.tokenizer) {
  tokenizer = hf.Tokenizer.fromFile(flags.tokenizer)
} else {
  const byteLevel = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true }
  tokenizer = hf.Tokenizer.fromString(
    JSON.stringify({
      version: '1.0',
      added_tokens: [],
      pre_tokenizer: byteLevel,
      decoder: byteLevel,
      model: { type: 'BPE', vocab: {}, merges: [] },
    }),
  )
  trainSeconds = await secondsOf(() => tokenizer.train([flags.text]))
  if (flags.save) tokenizer.save(flags.save)
}
const trainRss = process.resourceUsage().maxRSS / 1024

const text = readFileSync(flags.text, 'utf8')
const parts = []
for (let begin = 0; begin < text.length; ) {
  let end = begin
  for (let line = 0; line < Number(flags.lines) && end >= 0; ++line) end = text.indexOf('\n', end) + 1 || -1
  if (end < 0) end = text.length
  parts.push(text.slice(begin, end))
  begin = end
}
const megabytes = Buffer.byteLength(text) / 1e6

// In batches that memory holds: an encoding keeps tokens, offsets and masks beside the ids.
const batch = 64
let tokens = 0
let decodeSeconds = 0
let encodeSeconds = 0
for (let i = 0; i < parts.length; i += batch) {
  let encodings
  encodeSeconds += await secondsOf(async () => (encodings = await tokenizer.encodeBatch(parts.slice(i, i + batch))))
  const ids = encodings.map((encoding) => encoding.getIds())
  for (const list of ids) tokens += list.length
  decodeSeconds += await secondsOf(() => tokenizer.decodeBatch(ids, false))
}
console.log(
  JSON.stringify({
    name: 'hf_tokenizers',
    threads: Number(process.env.RAYON_NUM_THREADS ?? 0),
    text_mb: megabytes,
    vocab: tokenizer.getVocabSize(),
    train_s: trainSeconds,
    train_peak_rss_mib: trainRss,
    tokens,
    encode_mb_s: megabytes / encodeSeconds,
    decode_mb_s: megabytes / decodeSeconds,
  }),
)
