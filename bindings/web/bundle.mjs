// Makes the pages. Each page is one file that contains its style, scripts, worker and wasm module.
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { build } from 'esbuild'

const [wasmPath] = process.argv.slice(2)
if (!wasmPath) throw new Error('usage: bundle.mjs WASM.gz')

const pages = [
  {
    name: 'index.html', limit: 745_000, script: 'src/main.ts', worker: 'src/offline-worker.ts',
    // With this policy, the browser blocks every connection of the page, so the files that a user opens cannot leave the
    // page.
    connect: "'none'",
    promise: 'The file stays on this machine: this page cannot connect to anything.',
    address: '',
  },
  {
    name: 'online.html', limit: 752_000, script: 'src/online.ts', worker: 'src/online-worker.ts',
    // Servers without encryption are allowed only on this machine, where nobody can listen to the connection.
    connect: 'https: http://localhost:* http://127.0.0.1:*',
    promise: 'A file that you pick stays on this machine. Of an address that you open, this page reads what it shows; nothing else leaves it.',
    address: readFileSync('src/address.html', 'utf8'),
  },
]

const bundle = async (entry, define) => {
  const { outputFiles } = await build({
    entryPoints: [entry], bundle: true, minify: true, write: false, format: 'iife',
    target: ['chrome110', 'firefox115', 'safari16.4'], charset: 'utf8', define,
  })
  return outputFiles[0].text.trimEnd()
}

/** The digits of base 85. None of them can end a `<script>`, and none has to be escaped in a string literal. */
const DIGITS = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ!#%&()*+-./:;=?@[]^_{|}'

/**
 * Encodes `bytes` as text: their number, a colon, and five digits of base 85 for each four bytes. `src/digits.ts` decodes the
 * text.
 */
const pack85 = bytes => {
  const padded = Buffer.concat([bytes, Buffer.alloc(3)])
  let text = `${bytes.length}:`
  for (let at = 0; at < bytes.length; at += 4) {
    let value = padded.readUInt32BE(at)
    const word = Array(5)
    for (let digit = 4; digit >= 0; digit--) {
      word[digit] = DIGITS[value % 85]
      value = Math.floor(value / 85)
    }
    text += word.join('')
  }
  return text
}

const hash = text => `'sha256-${createHash('sha256').update(text).digest('base64')}'`

const report = (what, size, limit) => {
  console.log(`${what}: ${size} bytes of ${limit}`)
  if (size > limit) process.exitCode = 1
}

const wasm = readFileSync(wasmPath)
// The limit of the compressed module. Most of it is for these: code and tables for the values of quantized and sparse
// tensors 33 KB, the conventions by which quantized tensors are stored as several tensors 33 KB, and sibling files 10 KB.
// Encoded in base 85, the module is a quarter larger. Messages in full sentences are why the limits were raised last.
report('wasm, gzipped', wasm.length, 528 * 1024)
const style = await bundle('src/style.css', {})
mkdirSync('dist', { recursive: true })
for (const { name, limit, script: entry, worker, connect, promise, address } of pages) {
  const script = await bundle(entry, {
    WORKER: JSON.stringify(await bundle(worker, {})),
    WASM: JSON.stringify(pack85(wasm)),
    DIGITS: JSON.stringify(DIGITS),
    SAMPLE: JSON.stringify(readFileSync('../../corpus/accept/1.2.3/dense_all.zt').toString('base64')),
  })
  if (/<\/script/i.test(script)) throw new Error('the script would end itself')
  const policy = [
    "default-src 'none'",
    `script-src ${hash(script)} 'wasm-unsafe-eval'`,
    `style-src ${hash(style)}`,
    'worker-src blob:',
    'img-src data:',
    `connect-src ${connect}`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ')
  const parts = { policy, style, script, promise, address }
  const page = readFileSync('src/index.html', 'utf8').replace(/{{(\w+)}}/g, (_, part) => parts[part])
  writeFileSync(`dist/${name}`, page)
  report(name, Buffer.byteLength(page), limit)
}
