/** The package in Node: modules are read from disk. */
import { readFile } from 'node:fs/promises'
import { load } from './module.ts'

load(readFile)

export * from './index.ts'
