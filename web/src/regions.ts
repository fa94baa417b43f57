/** What each byte of a file belongs to. */
import type { Listed } from './protocol.ts'

export type Kind = 'header' | 'blob' | 'padding' | 'manifest' | 'footer' | 'unknown'

export interface Region {
  kind: Kind
  start: number
  end: number
  /** Of a blob: the object it is of, and its role. */
  object?: number
  role?: string
}

const HEADER = 8

/** The regions of a file, in order. `manifest` is where the manifest lies, if that is known. */
export const regions = (
  length: number,
  manifest: { start: number; end: number } | null,
  objects: Listed[] | null,
): Region[] => {
  const header = Math.min(HEADER, length)
  const found: Region[] = [{ kind: 'header', start: 0, end: header }]
  if (!manifest) return add(found, 'unknown', length)
  if (!objects) add(found, 'unknown', manifest.start)
  const blobs: Region[] = []
  objects?.forEach((object, ordinal) => {
    for (const { offset, length, role } of object.components) {
      if (length > 0) blobs.push({ kind: 'blob', start: offset, end: offset + length, object: ordinal, role })
    }
  })
  blobs.sort((one, other) => one.start - other.start)
  for (const blob of blobs) {
    add(found, 'padding', blob.start)
    found.push(blob)
  }
  add(found, 'padding', manifest.start)
  add(found, 'manifest', manifest.end)
  return add(found, 'footer', length)
}

/** Adds what lies between the last region and `end`. */
const add = (found: Region[], kind: Kind, end: number): Region[] => {
  const start = found.at(-1)?.end ?? 0
  if (end > start) found.push({ kind, start, end })
  return found
}

/** The index of the region that a byte is in. */
export const regionAt = (all: Region[], offset: number): number => {
  let low = 0
  let high = all.length - 1
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if ((all[middle]?.start ?? 0) <= offset) low = middle
    else high = middle - 1
  }
  return low
}
