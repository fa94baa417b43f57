// A contestant that opens a file in the guest for each line of input, as `contestant` does.
//
//   node wasm.mjs GUEST FILE
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'

const [guest, path] = process.argv.slice(2)
const { instance: { exports } } = await WebAssembly.instantiate(readFileSync(guest))
const file = readFileSync(path)
const at = exports.reserve(file.length) >>> 0
new Uint8Array(exports.memory.buffer, at, file.length).set(file)

const open = () => {
  const start = process.hrtime.bigint()
  if (exports.open(0) !== 0n) throw new Error('the file is rejected')
  return Number(process.hrtime.bigint() - start)
}

// V8 recompiles functions that have run for a while, so the file is opened 20 times before anything is measured.
for (let round = 0; round < 20; round++) open()
console.log(0)
for await (const _ of createInterface({ input: process.stdin })) console.log(open())
