// Writes what the tests compare with, by Hugging Face's tokenizers: two tokenizers trained on text.txt (gpt2.json by
// GPT-2's pattern, cl100k.json by cl100k's), and the ids that they give for some texts (ids.json). Nothing here is needed
// to build or test. It takes node and the package `tokenizers` (npm), installed in a folder outside of this repository:
//   mkdir peer && cd peer && npm install tokenizers
//   node PATH/tests/tokenizer/golden/make_golden.mjs
import { createRequire } from 'node:module'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

// From the folder where one stands, since the package is installed there.
const hf = createRequire(process.cwd() + '/')('tokenizers')
const here = dirname(fileURLToPath(import.meta.url))
const cl100k =
  "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
const byteLevel = (useRegex) => ({ type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: useRegex })
const split = { type: 'Split', pattern: { Regex: cl100k }, behavior: 'Isolated', invert: false }

const text = readFileSync(join(here, 'text.txt'), 'utf8')
// All of the text, its lines, its words turned around, and cases of their own.
const texts = [text, ...text.split('\n').slice(0, 25), ...text.split(/\s+/).map((word) => [...word].reverse().join(''))]
texts.push('', ' ', '\n', "'s'S'll'LL'Ve'x", 'aaaaaaaaaaaaaaaaaaaaaaa', ' '.repeat(77) + 'x', '\r\n\r\r\n \n', '1234567 12 3')
texts.push('\u0000\u0001\u007f', '\ud7ff\ue000\ufffd\u{10ffff}', 'e\u0301\u0301', '\u3000\u2003x\u00a0y', '\u01c5\u2160\u00b2\u0b72')

// The module's own training leaves the bytes out that the text does not have; they come behind all others.
const alphabet = []
for (let byte = 0, next = 256; byte < 256; ++byte) {
  const printable = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174
  alphabet.push(String.fromCodePoint(printable ? byte : next++))
}

const jsonOf = (tokenizer) => {
  const folder = mkdtempSync(join(tmpdir(), 'golden-'))
  tokenizer.save(join(folder, 'tokenizer.json'), false)
  const json = readFileSync(join(folder, 'tokenizer.json'), 'utf8')
  rmSync(folder, { recursive: true })
  return json
}

const trained = (preTokenizer) => {
  const tokenizer = hf.Tokenizer.fromString(
    JSON.stringify({
      version: '1.0',
      added_tokens: [],
      pre_tokenizer: preTokenizer,
      decoder: byteLevel(true),
      model: { type: 'BPE', vocab: {}, merges: [] },
    }),
  )
  tokenizer.train([join(here, 'text.txt')])
  const file = JSON.parse(jsonOf(tokenizer))
  let next = Object.keys(file.model.vocab).length
  for (const character of alphabet) file.model.vocab[character] ??= next++
  const specials = hf.Tokenizer.fromString(JSON.stringify(file))
  specials.addSpecialTokens(['<|endoftext|>', '<pad>'])
  return specials
}
const idsOf = async (tokenizer) =>
  (await tokenizer.encodeBatch(texts, { addSpecialTokens: false })).map((encoding) => encoding.getIds())

const ids = { texts }
for (const [name, preTokenizer] of [
  ['gpt2', byteLevel(true)],
  ['cl100k', { type: 'Sequence', pretokenizers: [split, byteLevel(false)] }],
]) {
  const tokenizer = trained(preTokenizer)
  const json = jsonOf(tokenizer)
  writeFileSync(join(here, `${name}.json`), json + '\n')
  ids[name] = await idsOf(tokenizer)
  // Without every fourth merge, and ignoring merges where a whole piece is a token.
  const file = JSON.parse(json)
  file.model.merges = file.model.merges.filter((_, index) => index % 4 != 3)
  file.model.ignore_merges = true
  ids[`${name}_ignore_merges`] = await idsOf(hf.Tokenizer.fromString(JSON.stringify(file)))
}

// gpt2.json with added tokens that are not special, as CodeGen's file has them for white space: some overlap, and those
// that are not normalized are looked for first.
const contents = ['  ', '   ', '        ', '\t\t', '\n\n\n', 'cat', 'cats', 'at', 'tsx', '<|fim|>', '|>', ' x', 'é', '1']
const file = JSON.parse(readFileSync(join(here, 'gpt2.json'), 'utf8'))
let id = Math.max(...Object.values(file.model.vocab), ...file.added_tokens.map((token) => token.id))
const plain = { single_word: false, lstrip: false, rstrip: false, special: false }
const known = file.model.vocab
const tokens = contents.map((content, index) => ({ id: known[content] ?? ++id, content, ...plain, normalized: index % 3 != 1 }))
file.added_tokens.push(...tokens)
const addedTexts = [...texts, '  a   b    c         d', 'x\t\t\ty', 'cats at catsx atsx scat', '<|fim|>x|>|><|fim', 'a x  x\n\n\n\n']
addedTexts.push('café 1 11 111', 'catcatscats', ' '.repeat(37), 'ca ts', '\t \t  \t\t')
const withAdded = hf.Tokenizer.fromString(JSON.stringify(file))
const encodings = await withAdded.encodeBatch(addedTexts, { addSpecialTokens: false })
ids.added = { tokens, texts: addedTexts.slice(texts.length), ids: encodings.map((encoding) => encoding.getIds()) }
writeFileSync(join(here, 'ids.json'), JSON.stringify(ids) + '\n')
