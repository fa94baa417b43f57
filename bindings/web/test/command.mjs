// The command, which the page is held to.
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { root } from './page.mjs'

const zten = `${process.env.CARGO_TARGET_DIR ?? `${root}target`}/release/zten`
if (!existsSync(zten)) throw new Error(`there is no ${zten}: cargo build --release -p zten-cli`)

/** Standard output of the command, whatever its status. */
export const run = (...args) => {
  try {
    return execFileSync(zten, args, { maxBuffer: 1 << 28, stdio: ['ignore', 'pipe', 'ignore'] })
  } catch (error) {
    return error.stdout
  }
}

/** JSON, with integers that a number cannot hold as texts. */
export const json = (...args) =>
  run(...args).toString().trimEnd().split('\n')
    .map(line => JSON.parse(line.replace(/(?<=[[,:])(-?\d{16,})(?=[\],}])/g, '"$1"')))
