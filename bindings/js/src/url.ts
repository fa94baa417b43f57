/** Fetches ranges of remote files, and checks the replies: a server may be faulty or malicious. */
import { ZtenError, failure, reason } from './errors.ts'
import type { Source } from './sources.ts'

export interface UrlOptions {
  /** Whether requests send cookies and other credentials, as for `fetch`. By default they do not: `omit`. */
  credentials?: 'omit' | 'same-origin' | 'include'
  /** Headers that are sent with each request. */
  headers?: Record<string, string>
  /** The time limit for each request in milliseconds. By default it is 30 seconds, and one second more for each 64 KiB that are requested. */
  timeout?: number
  /** A signal that aborts all pending and later requests for the file. */
  signal?: AbortSignal
  /** A function to call instead of the global `fetch`. */
  fetch?: typeof globalThis.fetch
}

/** What identifies the version of a remote file: its size, `ETag` and `Last-Modified`. All replies must have the same version. */
export interface Version {
  size: number
  etag: string | null
  modified: string | null
}

/** The options of the first request for a remote file. */
export interface Beginning {
  /** The number of bytes at the beginning of the file that the first request asks for: 8 or more. Its reply also tells the size of the file. */
  head: number
  /** The version of the file that was opened before. If the server now has another version, opening fails. */
  version?: Version | undefined
}

export interface UrlSource extends Source {
  readonly version: Version
  /** The bytes at the beginning of the file that the first request returned. */
  readonly head: Uint8Array<ArrayBuffer>
}

/** The range of bytes of a request. If it is the first request, the range may go beyond the end of the file, whose size is not known yet. */
interface Range {
  start: number
  end: number
  first: boolean
}

interface Part {
  bytes: Uint8Array<ArrayBuffer>
  version: Version
}

/** The longest delay of `setTimeout` in milliseconds. */
const LONGEST = 2 ** 31 - 1

export const ofUrl = async (url: URL, options: UrlOptions, { head, version }: Beginning): Promise<UrlSource> => {
  const closing = new AbortController()
  const request = (range: Range): Promise<Part> =>
    limited([closing.signal, options.signal], options.timeout ?? 30_000 + (range.end - range.start) / 64 * 1000 / 1024, signal =>
      fetched(url, options, range, signal))
  const first = await request({ start: 0, end: head, first: true })
  const opened = version ?? first.version
  same(first.version, opened)
  return {
    size: opened.size,
    version: opened,
    head: first.bytes,
    async read(start, end) {
      if (start === end) return new Uint8Array()
      const part = await request({ start, end, first: false })
      same(part.version, opened)
      return part.bytes
    },
    close: () => closing.abort(failure('the source was closed')),
  }
}

const same = (now: Version, opened: Version): void => {
  if (now.size !== opened.size || now.etag !== opened.etag || now.modified !== opened.modified) {
    throw failure('the file was changed on the server since it was opened')
  }
}

/**
 * Calls `work` with a signal, and resolves to its result. The signal is aborted after `timeout` milliseconds, or when one of the signals `others`
 * is. Rejects only with `ZtenError`s.
 */
const limited = async <T>(
  others: (AbortSignal | undefined)[], timeout: number, work: (signal: AbortSignal) => Promise<T>,
): Promise<T> => {
  const request = new AbortController()
  const end = () => {
    const { reason } = others.find(other => other?.aborted) ?? {}
    request.abort(reason instanceof ZtenError ? reason : failure('the request was aborted', reason))
  }
  const late = () => request.abort(failure(`the server took more than ${Math.round(timeout / 1000)} s for a request`))
  const timer = setTimeout(late, Math.min(timeout, LONGEST))
  others.forEach(other => other?.addEventListener('abort', end))
  if (others.some(other => other?.aborted)) end()
  try {
    request.signal.throwIfAborted()
    return await work(request.signal)
  } catch (error) {
    if (error instanceof ZtenError) throw error
    if (request.signal.aborted) throw request.signal.reason
    throw failure(`the request failed: ${reason(error)}`, error)
  } finally {
    clearTimeout(timer)
    others.forEach(other => other?.removeEventListener('abort', end))
    // The reply may have failed a check before all of it has arrived. This stops receiving it.
    request.abort()
  }
}

const fetched = async (
  url: URL, { credentials = 'omit', headers = {}, fetch = globalThis.fetch }: UrlOptions, range: Range, signal: AbortSignal,
): Promise<Part> => {
  const response = await fetch(url, {
    credentials, signal, cache: 'no-store',
    headers: { ...headers, Range: `bytes=${range.start}-${range.end - 1}` },
  })
  if (url.protocol === 'https:' && response.redirected && !response.url.startsWith('https:')) {
    throw failure('the server redirected from https to another scheme')
  }
  const given = response.headers.get('content-range')
  if (response.status === 416 && range.first && /^bytes \*\/0$/.test(given ?? '')) {
    return { bytes: new Uint8Array(), version: { size: 0, etag: null, modified: null } }
  }
  const { length, size } = admitted(response, given, range)
  const version = { size, etag: tag(response.headers.get('etag')), modified: date(response.headers.get('last-modified')) }
  if (version.etag === null && version.modified === null) {
    throw failure('the server gave no ETag and no Last-Modified (or does not expose them): a change of the file would not be seen')
  }
  return { bytes: await body(response, length), version }
}

/** Checks the header `ETag` of a reply, which identifies a version of the file, and returns it. Returns null if it is missing or empty. */
const tag = (text: string | null): string | null => {
  if (text === null || /^(W\/)?("")?$/.test(text)) return null
  // `fetch` joins several headers of the same name with commas.
  if (!/^(W\/)?"[^"]*"$|^[^",]*$/.test(text)) throw failure('the server gave more than one ETag')
  return text
}

/**
 * Checks the header `Last-Modified` of a reply, which helps to identify a version of the file, and returns it. Throws if the header has more than
 * one comma: it then has several dates. Returns null if the date is missing or invalid.
 */
const date = (text: string | null): string | null => {
  if (text === null) return null
  if (text.split(',').length > 2) throw failure('the server gave more than one Last-Modified')
  return Date.parse(text) > 0 ? text : null
}

/**
 * Checks the status and the headers of `response`, the reply to a request for a range. `given` is its header `Content-Range`. Returns the number
 * of bytes in the reply, and the size of the file.
 */
const admitted = (response: Response, given: string | null, { start, end, first }: Range): { length: number; size: number } => {
  if (response.status === 200) throw failure('the server ignores ranges: it answered with all of the file')
  if ([404, 410].includes(response.status)) throw missing(response.status)
  if (response.status !== 206) throw unexpected(response.status)
  if ((response.headers.get('content-encoding') ?? 'identity') !== 'identity') {
    throw failure('the server encodes what it sends: ranges of that are not ranges of the file')
  }
  if (given === null) throw failure('the server gave no Content-Range; to pages of another origin, it has to expose it')
  const match = /^bytes (\d{1,16})-(\d{1,16})\/(\d{1,16})$/.exec(given)
  if (!match) throw failure('the server gave a content range that does not tell the size of the file')
  const [from, to, size] = match.slice(1).map(Number) as [number, number, number]
  const last = first ? Math.min(end, size) - 1 : end - 1
  if (from !== start || to !== last || to >= size) {
    throw failure(`the server gave the range ${given}, expected bytes ${start}-${last}`)
  }
  return { length: to + 1 - from, size }
}

const unexpected = (status: number): ZtenError => failure(`the server answered with status ${status}, expected 206`)

/** The errors that were thrown because the server does not have the file: status 404 or 410. */
const MISSING = new WeakSet<ZtenError>()

const missing = (status: number): ZtenError => {
  const error = unexpected(status)
  MISSING.add(error)
  return error
}

/** Returns whether `error` says that the server has no such file. */
export const isMissing = (error: unknown): boolean => error instanceof ZtenError && MISSING.has(error)

/**
 * Returns the URL of the file at `path`, relative to the folder of `url`. Returns `undefined` if `url` has a query, which may be a
 * signature for that file only.
 */
export const besideUrl = (url: URL, path: string): URL | undefined =>
  url.search ? undefined : new URL(path.split('/').map(encodeURIComponent).join('/'), new URL('.', url))

/** Returns the name of the file at a URL: the last part of its path, decoded if that is possible. */
export const nameOfUrl = ({ pathname }: URL): string => {
  const name = pathname.slice(pathname.lastIndexOf('/') + 1)
  try {
    return decodeURIComponent(name)
  } catch {
    return name
  }
}

/**
 * Reads and returns the body of `response`, and throws unless it has exactly `length` bytes. The buffer doubles as bytes arrive, so its size
 * follows the received bytes and not `length`, which the server may exaggerate.
 */
const body = async (response: Response, length: number): Promise<Uint8Array<ArrayBuffer>> => {
  const stream = response.body?.getReader()
  let bytes = new Uint8Array()
  let held = 0
  for (;;) {
    const { done, value } = (await stream?.read()) ?? { done: true, value: undefined }
    if (done || !value) break
    const end = held + value.length
    if (end > length) throw failure(`the server sent more than ${length} bytes`)
    if (end > bytes.length) {
      const longer = new Uint8Array(Math.min(length, Math.max(end, 2 * bytes.length)))
      longer.set(bytes)
      bytes = longer
    }
    bytes.set(value, held)
    held = end
  }
  if (held !== length) throw failure(`the server sent ${held} bytes, expected ${length}`)
  return bytes
}
