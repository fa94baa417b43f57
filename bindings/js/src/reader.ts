/** Sources of every kind. */
import { START } from './module.ts'
import { bytesOf, classOf, ofBlob, ofBytes, ofSource, type BytesLike, type Reader, type Source } from './sources.ts'
import { ofUrl, type UrlOptions } from './url.ts'

/** All kinds of sources. */
export type AnySource = Blob | BytesLike | URL | Source

const isUrl = (source: AnySource): source is URL => classOf(source) === 'URL'
const isBlob = (source: AnySource): source is Blob => /^(Blob|File)$/.test(classOf(source))

/** Throws a `TypeError` if `source` is not a source. */
export const requireSource = (source: AnySource): void => {
  if (bytesOf(source) || isUrl(source) || isBlob(source) || typeof (source as Source | undefined)?.read === 'function') return
  const address = typeof source === 'string' ? '; an address is given as `new URL(…)`' : ''
  throw new TypeError(`the source is ${source === null ? 'null' : `of the type ${typeof source}`}, expected a Blob, bytes, a URL or a { size, read }${address}`)
}

export const reader = async (source: AnySource, options: UrlOptions): Promise<Reader> => {
  const bytes = bytesOf(source)
  if (bytes) return ofSource(ofBytes(bytes))
  if (isBlob(source)) return ofSource(ofBlob(source))
  if (!isUrl(source)) return ofSource(source as Source)
  // The first request asks for more than one byte: some development servers ignore the end of the range `bytes=0-0`.
  const remote = await ofUrl(source, options, { head: START })
  const { size, head } = remote
  return ofSource({
    size,
    read: (start, end) => end <= head.length ? head.subarray(start, end) : remote.read(start, end),
    close: () => remote.close?.(),
  })
}

/** Returns the name of the file of `source`; empty if the source has no name. */
export const nameOf = (source: AnySource): string => {
  if (isUrl(source)) return source.pathname.slice(source.pathname.lastIndexOf('/') + 1)
  return isBlob(source) && 'name' in source ? String(source.name) : ''
}
