/** Where the bytes of a file come from. */
import { ZtenError, failure } from './errors.ts'

/** A file that is read at positions. */
export interface Source {
  /** Bytes of the file. */
  readonly size: number
  /** The bytes from `start` to before `end`: as many as that, neither fewer nor more. */
  read(start: number, end: number): BytesLike | Promise<BytesLike>
  /** The same at once. Where it is given, everything is read by it, and nothing is held ahead. */
  readSync?(start: number, end: number): BytesLike
  /** Called once, when the file is closed or has been collected. */
  close?(): void
}

export type BytesLike = Uint8Array | ArrayBuffer

export interface UrlOptions {
  /** Whether cookies and other credentials are sent. Without it, they are not. */
  credentials?: 'omit' | 'same-origin' | 'include'
  /** Headers that are sent with each request. */
  headers?: Record<string, string>
  /** What is called in the place of the global `fetch`. */
  fetch?: typeof globalThis.fetch
}

/** A source that has been looked at: whatever it gives has the size that was asked for. */
export interface Reader {
  readonly size: number
  read(start: number, end: number): Promise<Uint8Array>
  readSync?: (start: number, end: number) => Uint8Array
  close(): void
}

export const reader = async (
  source: Blob | ArrayBuffer | URL | Source, options: UrlOptions,
): Promise<Reader> => {
  if (source instanceof ArrayBuffer) return ofSource(ofBuffer(source))
  if (source instanceof URL) return ofSource(await ofUrl(source, options))
  if (source instanceof Blob) return ofSource(ofBlob(source))
  if (typeof source?.read !== 'function') throw new TypeError('not a Blob, an ArrayBuffer, a URL or a { size, read }')
  return ofSource(source)
}

const ofSource = (source: Source): Reader => {
  const { size } = source
  if (!Number.isSafeInteger(size) || size < 0) throw failure(`the size of the source is ${size}, expected an integer from 0 to 2^53 - 1`)
  const exact = (bytes: BytesLike, start: number, end: number): Uint8Array => {
    const view = bytes instanceof ArrayBuffer ? new Uint8Array(bytes) : bytes
    const length = view instanceof Uint8Array ? view.length : typeof view
    if (length !== end - start) throw failure(`the source gave ${length} bytes from ${start} on, expected ${end - start}`)
    return view
  }
  const told = (error: unknown): never => {
    if (error instanceof ZtenError) throw error
    throw failure(`the source could not be read: ${error instanceof Error ? error.message : String(error)}`, error)
  }
  const read = async (start: number, end: number): Promise<Uint8Array> => {
    try {
      return exact(await source.read(start, end), start, end)
    } catch (error) {
      return told(error)
    }
  }
  const close = () => source.close?.()
  if (!source.readSync) return { size, read, close }
  const readSync = (start: number, end: number): Uint8Array => {
    try {
      return exact(source.readSync!(start, end), start, end)
    } catch (error) {
      return told(error)
    }
  }
  return { size, read, readSync, close }
}

const ofBuffer = (buffer: ArrayBuffer): Source => {
  const readSync = (start: number, end: number) => new Uint8Array(buffer, start, end - start)
  return { size: buffer.byteLength, read: readSync, readSync }
}

const ofBlob = (blob: Blob): Source => {
  const read = (start: number, end: number) => blob.slice(start, end).arrayBuffer()
  // In workers of browsers, files can be read at once.
  const Sync = (globalThis as { FileReaderSync?: new () => { readAsArrayBuffer(blob: Blob): ArrayBuffer } }).FileReaderSync
  if (!Sync) return { size: blob.size, read }
  const files = new Sync()
  return { size: blob.size, read, readSync: (start, end) => files.readAsArrayBuffer(blob.slice(start, end)) }
}

/** What has to stay the same from one reply to the next. */
interface Version {
  size: number
  etag: string | null
  modified: string | null
}

const ofUrl = async (url: URL, { credentials = 'omit', headers = {}, fetch = globalThis.fetch }: UrlOptions): Promise<Source> => {
  const aborting = new AbortController()
  const request = async (start: number, end: number, first: boolean): Promise<{ bytes: Uint8Array; version: Version }> => {
    const response = await fetch(url, {
      credentials, signal: aborting.signal, cache: 'no-store',
      headers: { ...headers, Range: `bytes=${start}-${end - 1}` },
    })
    const give = async (message: string): Promise<never> => {
      await response.body?.cancel()
      throw failure(message)
    }
    const range = response.headers.get('content-range')
    if (response.status === 416 && first && /^bytes \*\/0$/.test(range ?? '')) {
      await response.body?.cancel()
      return { bytes: new Uint8Array(), version: { size: 0, etag: null, modified: null } }
    }
    if (response.status === 200) return give('the server ignores ranges: it answered with all of the file')
    if (response.status !== 206) return give(`the server answered with status ${response.status}, expected 206`)
    if ((response.headers.get('content-encoding') ?? 'identity') !== 'identity') {
      return give('the server encodes what it sends: ranges of that are not ranges of the file')
    }
    const match = /^bytes (\d{1,16})-(\d{1,16})\/(\d{1,16})$/.exec(range ?? '')
    if (!match) return give(`the server gave the content range ${range}, which does not tell the size of the file`)
    const [from, to, size] = match.slice(1).map(Number) as [number, number, number]
    if (from !== start || (first ? to >= end : to !== end - 1) || to < from) {
      return give(`the server gave the range ${range}, expected bytes ${start}-${end - 1}`)
    }
    const bytes = await body(response, to + 1 - from)
    return { bytes, version: { size, etag: response.headers.get('etag'), modified: response.headers.get('last-modified') } }
  }
  const { version } = await request(0, 1, true)
  return {
    size: version.size,
    async read(start, end) {
      if (start === end) return new Uint8Array()
      const { bytes, version: now } = await request(start, end, false)
      if (now.size !== version.size || now.etag !== version.etag || now.modified !== version.modified) {
        throw failure('the file was changed on the server since it was opened')
      }
      return bytes
    },
    close: () => aborting.abort(),
  }
}

/** The body of a reply, of so many bytes and no more. */
const body = async (response: Response, length: number): Promise<Uint8Array> => {
  const whole = new Uint8Array(length)
  const pieces = response.body?.getReader()
  let at = 0
  for (;;) {
    const { done, value } = (await pieces?.read()) ?? { done: true, value: undefined }
    if (done || !value) break
    if (at + value.length > length) {
      await pieces?.cancel()
      throw failure(`the server sent more than ${length} bytes`)
    }
    whole.set(value, at)
    at += value.length
  }
  if (at !== length) throw failure(`the server sent ${at} bytes, expected ${length}`)
  return whole
}
