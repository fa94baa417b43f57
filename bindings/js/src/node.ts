/** The package in Node. It reads wasm modules whose URLs are `file:` from disk, because `fetch` of Node does not. */
import { readFile } from 'node:fs/promises'
import { load } from './module.ts'

load(async url => url.protocol === 'file:' ? readFile(url) : (await fetch(url)).arrayBuffer())

export * from './index.ts'
