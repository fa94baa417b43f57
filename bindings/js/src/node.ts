/** The package in Node: modules that are files are read from disk. */
import { readFile } from 'node:fs/promises'
import { load } from './module.ts'

load(async url => url.protocol === 'file:' ? readFile(url) : (await fetch(url)).arrayBuffer())

export * from './index.ts'
