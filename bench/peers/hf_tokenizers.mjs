// Measures Hugging Face's tokenizers on the work of bench/tokenizer: trains byte-level BPE on a file, encodes and decodes
// it, and prints one JSON line with the same keys. It is used for comparisons only; the build does not need it. It needs
// node and the npm package `tokenizers`, installed in a folder outside of this repository:
//   mkdir peer && cd peer && npm install tokenizers
//   RAYON_NUM_THREADS=2 node PATH/bench/peers/hf_tokenizers.mjs --text FILE [--tokenizer FILE.json] [--lines N]
// The package's binding can train only with its default trainer, whose vocabulary is 30,000. --tokenizer skips training
// and encodes with an existing tokenizer.json. Text is encoded in batches of sequences of `--lines` lines (default 1000),
// which its threads share; --save FILE.json stores the trained tokenizer.
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
// The package is loaded from the current folder, where it is installed.
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

// Batches keep the memory small: an encoding holds tokens, offsets and masks beside the ids.
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
