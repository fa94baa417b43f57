/** The package in Node. It reads wasm modules whose URLs are `file:` from disk, because `fetch` of Node does not. */
import { readFile } from 'node:fs/promises'
import { load, byFetch } from './module.ts'

load(async url => url.protocol === 'file:' ? readFile(url) : byFetch(url))

export * from './index.ts'
