/** Sources of every kind. */
import { ofBlob, ofBuffer, ofSource, type Reader, type Source } from './sources.ts'
import { ofUrl, type UrlOptions } from './url.ts'

export const reader = async (
  source: Blob | ArrayBuffer | URL | Source, options: UrlOptions,
): Promise<Reader> => {
  if (source instanceof ArrayBuffer) return ofSource(ofBuffer(source))
  if (source instanceof URL) return ofSource(await ofUrl(source, options))
  if (source instanceof Blob) return ofSource(ofBlob(source))
  if (typeof source?.read !== 'function') throw new TypeError('not a Blob, an ArrayBuffer, a URL or a { size, read }')
  return ofSource(source)
}

/** The name of a file, as far as its source has one. */
export const nameOf = (source: Blob | ArrayBuffer | URL | Source): string => {
  if (source instanceof URL) return source.pathname.slice(source.pathname.lastIndexOf('/') + 1)
  return source instanceof Blob && 'name' in source ? String(source.name) : ''
}
