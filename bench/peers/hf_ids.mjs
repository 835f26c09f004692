// Prints the ids that Hugging Face's tokenizers give, one line of ids for each line of TEXT, for a comparison with
// `tapeformer tokenizer encode FILE.json --lines < TEXT`. It is used for comparisons only, and is installed as
// hf_tokenizers.mjs is:
//   node PATH/bench/peers/hf_ids.mjs --tokenizer FILE.json --text TEXT > ids
// With --whole the text is one sequence, and every id has a line, as `tapeformer tokenizer encode FILE.json TEXT` prints.
// With --fuzz N [--seed S] it writes a TEXT instead: N lines of characters from all of Unicode, and of those that the
// split patterns treat in a special way.
import { createRequire } from 'node:module'
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'

const { values: flags } = parseArgs({
  options: {
    tokenizer: { type: 'string' },
    text: { type: 'string' },
    whole: { type: 'boolean', default: false },
    fuzz: { type: 'string' },
    seed: { type: 'string', default: '1' },
  },
})

let state = BigInt(flags.seed)
const below = (limit) => {
  state = (state * 6364136223846793005n + 1442695040888963407n) & 0xffffffffffffffffn
  return Number((state >> 33n) % BigInt(limit))
}
const telling = [..."'''  \t\r\v\f\u0085\u00a0\u2028\u3000stdmvrelSLaZ\u00e9\u017f\u4f60\u030107\u00bd\u0663\u2167.-_!(\""]
const fuzzed = () => {
  let line = ''
  for (let left = below(40); left > 0; --left) {
    const c = below(below(2) ? 0x110000 : 0x3000)
    const usable = c !== 0x0a && (c < 0xd800 || c > 0xdfff)
    line += below(3) && usable ? String.fromCodePoint(c) : telling[below(telling.length)]
  }
  return line
}

const print = (lines) => process.stdout.write(lines.join('\n') + '\n')
if (flags.fuzz) {
  print(Array.from({ length: Number(flags.fuzz) }, fuzzed))
} else {
  // The package is loaded from the current folder, where it is installed.
  const hf = createRequire(process.cwd() + '/')('tokenizers')
  const tokenizer = hf.Tokenizer.fromFile(flags.tokenizer)
  const text = readFileSync(flags.text, 'utf8')
  if (flags.whole) {
    const ids = (await tokenizer.encode(text, null, { addSpecialTokens: false })).getIds()
    for (let i = 0; i < ids.length; i += 100000) print(ids.slice(i, i + 100000))
    process.exit()
  }
  const lines = text.replace(/\n$/, '').split('\n')
  for (let i = 0; i < lines.length; i += 10000) {
    const encodings = await tokenizer.encodeBatch(lines.slice(i, i + 10000), { addSpecialTokens: false })
    print(encodings.map((encoding) => encoding.getIds().join(' ')))
  }
}
