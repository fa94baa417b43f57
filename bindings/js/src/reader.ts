/** Sources of every kind. */
import { START } from './module.ts'
import { bytesOf, classOf, ofBlob, ofBytes, ofSource, type BytesLike, type Reader, type Source } from './sources.ts'
import { ofUrl, type UrlOptions } from './url.ts'

/** A file, by what it is read from. */
export type AnySource = Blob | BytesLike | URL | Source

const isUrl = (source: AnySource): source is URL => classOf(source) === 'URL'
const isBlob = (source: AnySource): source is Blob => /^(Blob|File)$/.test(classOf(source))

/** Throws a `TypeError` for what is no source. */
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
  // More than one byte: some development servers take the end 0 of a range for none.
  const remote = await ofUrl(source, options, { head: START })
  const { size, head } = remote
  return ofSource({
    size,
    read: (start, end) => end <= head.length ? head.subarray(start, end) : remote.read(start, end),
    close: () => remote.close?.(),
  })
}

/** The name of a file, as far as its source has one. */
export const nameOf = (source: AnySource): string => {
  if (isUrl(source)) return source.pathname.slice(source.pathname.lastIndexOf('/') + 1)
  return isBlob(source) && 'name' in source ? String(source.name) : ''
}
