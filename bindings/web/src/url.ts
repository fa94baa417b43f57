/** Reads a file from a server by ranges, with the code of the JavaScript package. */
import { failure } from '../../js/src/errors.ts'
import { pathsOf } from '../../js/src/instance.ts'
import { ofSource } from '../../js/src/sources.ts'
import { besideUrl, isMissing, nameOfUrl, ofUrl, type Version } from '../../js/src/url.ts'
import type { Known } from './protocol.ts'
import { SuspendingInstance } from './suspending.ts'
import type { Opened } from './window.ts'
import type { Way } from './worker.ts'

/** The smallest number of bytes to request, because a request takes longer than receiving this number of bytes. */
const LEAST = 64 << 10

export const urlWay = (address: string, before: Known | undefined): Way => ({
  border: guest => {
    const instance = new SuspendingInstance(guest)
    return { instance, ask: (name, args) => instance.callLater(name, args) }
  },
  open: async () => {
    const { file, version } = await opened(new URL(address), '', before?.version)
    return { file, known: { size: file.reader.size, version } }
  },
  find: async asked => {
    const url = new URL(address)
    for (const path of pathsOf(asked, nameOfUrl(url))) {
      const beside = besideUrl(url, path)
      if (!beside) continue
      try {
        return (await opened(beside, path)).file
      } catch (error) {
        if (!isMissing(error)) throw error
      }
    }
    return undefined
  },
})

/**
 * Opens the remote file at `url`, which is at `path` relative to the first file. Fails if the server has another version than
 * `expected`.
 */
const opened = async (url: URL, path: string, expected?: Version): Promise<{ file: Opened; version: Version }> => {
  const source = await ofUrl(url, { fetch: quiet }, { head: LEAST, version: expected })
  return { file: { path, reader: ofSource(source), head: source.head, least: LEAST }, version: source.version }
}

/**
 * Fetches as `fetch` does, but without sending the address of the page, and with an error that says why a browser may block the
 * reply.
 */
const quiet: typeof fetch = async (input, init) => {
  try {
    return await fetch(input, { ...init, mode: 'cors', referrerPolicy: 'no-referrer' })
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    // Browsers do not tell a page whether the server was not reached or its reply lacks a header, so the message names both.
    throw failure('the server could not be reached, or does not allow this page to read from it: ' +
      'its replies need Access-Control-Allow-Origin, and Access-Control-Expose-Headers with Content-Range and ETag')
  }
}
