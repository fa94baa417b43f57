/** Reading a file from a server: by ranges, as the package for JavaScript does it. */
import { failure } from '../../js/src/errors.ts'
import { ofSource } from '../../js/src/sources.ts'
import { ofUrl } from '../../js/src/url.ts'
import type { Known } from './protocol.ts'
import { SuspendingInstance } from './suspending.ts'
import type { Way } from './worker.ts'

/** Bytes that are asked for at a time, at least: a request costs more than they do. */
const LEAST = 64 << 10

export const urlWay = (address: string, before: Known | undefined): Way => ({
  border: guest => {
    const instance = new SuspendingInstance(guest)
    return { instance, ask: (name, args) => instance.callLater(name, args) }
  },
  open: async () => {
    const source = await ofUrl(new URL(address), { fetch: quiet }, { head: LEAST, version: before?.version })
    return {
      file: { reader: ofSource(source), head: source.head, least: LEAST },
      known: { size: source.size, version: source.version },
    }
  },
})

/** Fetches without saying where from. */
const quiet: typeof fetch = async (input, init) => {
  try {
    return await fetch(input, { ...init, mode: 'cors', referrerPolicy: 'no-referrer' })
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    // Browsers do not tell pages which of these it was.
    throw failure('the server could not be reached, or does not allow this page to read from it: ' +
      'its replies need Access-Control-Allow-Origin, and Access-Control-Expose-Headers with Content-Range and ETag')
  }
}
