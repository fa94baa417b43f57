/** Fetches ranges of remote files, and checks the replies: a server may be faulty or malicious. */
import { ZtenError, failure, reason } from './errors.ts'
import type { Source } from './sources.ts'

export interface UrlOptions {
  /** True to send cookies and other credentials. By default, they are not sent. */
  credentials?: 'omit' | 'same-origin' | 'include'
  /** Headers that are sent with each request. */
  headers?: Record<string, string>
  /** The time limit for a request in milliseconds. By default 30 seconds, and a second for each 64 KiB. */
  timeout?: number
  /** Aborts all pending and later requests for the file. */
  signal?: AbortSignal
  /** A function to call instead of the global `fetch`. */
  fetch?: typeof globalThis.fetch
}

/** The facts about a version of a file, which must be equal in all replies. */
export interface Version {
  size: number
  etag: string | null
  modified: string | null
}

/** The options for opening a file. */
export interface Beginning {
  /** The number of first bytes that are requested together with the size: 8 or more. */
  head: number
  /** The version that was opened before. Any other version is rejected. */
  version?: Version | undefined
}

export interface UrlSource extends Source {
  readonly version: Version
  /** The first bytes of the file. */
  readonly head: Uint8Array<ArrayBuffer>
}

/** The range of a request. The first request may go beyond the end of the file. */
interface Range {
  start: number
  end: number
  first: boolean
}

interface Part {
  bytes: Uint8Array<ArrayBuffer>
  version: Version
}

/** The longest delay of a timer in milliseconds. */
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

/** Does work with an abort signal, which is set after the time limit, or if the caller's signal aborts. Throws only `ZtenError`s. */
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
    // Stops receiving the rest of the reply.
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

/** Checks an `ETag`, which identifies a version of the file. Returns null if there is none, or it is empty. */
const tag = (text: string | null): string | null => {
  if (text === null || /^(W\/)?("")?$/.test(text)) return null
  // `fetch` joins several headers of the same name with commas.
  if (!/^(W\/)?"[^"]*"$|^[^",]*$/.test(text)) throw failure('the server gave more than one ETag')
  return text
}

/** Checks a `Last-Modified` date, which helps to identify a version of the file. A single date has at most one comma. Returns null if the date is missing or invalid. */
const date = (text: string | null): string | null => {
  if (text === null) return null
  if (text.split(',').length > 2) throw failure('the server gave more than one Last-Modified')
  return Date.parse(text) > 0 ? text : null
}

/** Checks that a reply has the requested range, and returns the number of its bytes and the size of the file. */
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

/** The errors that mean that a server does not have the file. */
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

/** Returns the name of the file of a URL. */
export const nameOfUrl = ({ pathname }: URL): string => {
  const name = pathname.slice(pathname.lastIndexOf('/') + 1)
  try {
    return decodeURIComponent(name)
  } catch {
    return name
  }
}

/** Reads the body of a reply, which must have exactly `length` bytes. Memory is at most twice the received bytes, however small the pieces are. */
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
