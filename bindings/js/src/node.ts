/** The package in Node: the module is read from disk. */
import { readFile } from 'node:fs/promises'
import { load } from './module.ts'

load(async () => WebAssembly.compile(await readFile(new URL('./zten.wasm', import.meta.url))))

export * from './index.ts'
