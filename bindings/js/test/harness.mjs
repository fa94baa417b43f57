// The helpers that the tests of the package and of the page share: the command, the browser, and the runner of tests.
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chromium } from 'playwright-core'

export const root = new URL('../../../', import.meta.url).pathname
export const corpus = `${root}corpus/`

const zten = process.env.ZTEN ?? `${process.env.CARGO_TARGET_DIR ?? `${root}target`}/release/zten`
if (!existsSync(zten)) throw new Error(`there is no ${zten}: cargo build --release -p zten-cli`)

/** Runs the command `zten` with `args`. Returns its standard output as bytes, whatever its exit status is. */
export const run = (...args) => {
  try {
    return execFileSync(zten, args, { maxBuffer: 1 << 30, stdio: ['ignore', 'pipe', 'ignore'] })
  } catch (error) {
    return error.stdout
  }
}

const revive = (_, value) => value !== null && typeof value === 'object' && '$int' in value ? BigInt(value.$int) : value

/** Runs the command `zten` with `args`. Parses each line of its standard output as a JSON document, and returns the list of these. */
export const json = (...args) =>
  run(...args).toString().trimEnd().split('\n').map(line => JSON.parse(line, revive))

/** Starts a headless Chromium with the command-line options `args`, and resolves to the browser. */
export const browse = (...args) => {
  const browsers = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser']
  const executablePath = browsers.find(path => path && existsSync(path))
  if (!executablePath) throw new Error('there is no chromium; set CHROMIUM to its path')
  return chromium.launch({ executablePath, args: ['--no-sandbox', ...args] })
}

const wanted = process.argv[2] ?? ''
let failed = 0

/** Runs the test `body` and prints its result, if `name` contains the text that was given on the command line. */
export const test = async (name, body) => {
  if (!name.includes(wanted)) return
  const start = performance.now()
  try {
    await body()
    console.log(`ok    ${name} (${Math.round(performance.now() - start)} ms)`)
  } catch (error) {
    failed++
    console.log(`FAIL  ${name}\n${error.stack}`)
  }
}

/** Prints how many tests have failed, and ends the process with the status 0 if none has, otherwise 1. */
export const end = () => {
  console.log(failed === 0 ? 'all valid' : `${failed} failed`)
  process.exit(failed === 0 ? 0 : 1)
}
