// Puts everything into one file that needs nothing else: style, scripts, worker and wasm.
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'

const [wasmPath] = process.argv.slice(2)
if (!wasmPath) throw new Error('usage: bundle.mjs WASM')

const limits = { 'wasm, gzipped': 212 * 1024, 'page': 320 * 1024 }

const bundle = async (entry, define) => {
  const { outputFiles } = await build({
    entryPoints: [entry], bundle: true, minify: true, write: false, format: 'iife',
    target: ['chrome110', 'firefox115', 'safari16.4'], charset: 'utf8', define,
  })
  return outputFiles[0].text.trimEnd()
}

const wasm = gzipSync(readFileSync(wasmPath), { level: 9 })
const worker = await bundle('src/worker.ts', {})
const script = await bundle('src/main.ts', {
  WORKER: JSON.stringify(worker),
  WASM: JSON.stringify(wasm.toString('base64')),
  SAMPLE: JSON.stringify(readFileSync('../corpus/accept/1.2.3/dense_all.zt').toString('base64')),
})
const style = await bundle('src/style.css', {})
if (/<\/script/i.test(script)) throw new Error('the script would end itself')

const hash = text => `'sha256-${createHash('sha256').update(text).digest('base64')}'`
// No rule allows a connection: what the page is given stays in it.
const policy = [
  "default-src 'none'",
  `script-src ${hash(script)} 'wasm-unsafe-eval'`,
  `style-src ${hash(style)}`,
  'worker-src blob:',
  'img-src data:',
  "connect-src 'none'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ')
const parts = { policy, style, script }
const page = readFileSync('src/index.html', 'utf8').replace(/{{(\w+)}}/g, (_, part) => parts[part])
mkdirSync('dist', { recursive: true })
writeFileSync('dist/index.html', page)

const sizes = { 'wasm, gzipped': wasm.length, 'page': Buffer.byteLength(page) }
for (const [what, size] of Object.entries(sizes)) {
  console.log(`${what}: ${size} bytes of ${limits[what]}`)
  if (size > limits[what]) process.exitCode = 1
}
