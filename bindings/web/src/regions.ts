/** Computes which bytes of a file and its sibling files are header, data of tensors or padding, for the map. */
import type { Listed, Sibling, Summary } from './protocol.ts'

export type Kind = 'header' | 'blob' | 'padding' | 'manifest' | 'footer' | 'unknown'

export interface Region {
  kind: Kind
  start: number
  end: number
  /** The ordinal of the object whose component is in the region, if it is a blob. */
  object?: number
  /** The role of this component. */
  role?: string
  /** The name of the sibling file that has the region; missing if the file itself has it. */
  file?: string
  /** The offset at which this sibling file begins in the bar, in bytes. */
  base?: number
}

/** The number of bytes of the magic at the start of a zTensor file. */
const MAGIC = 8

/**
 * Returns the regions of a file of `length` bytes, in order. `manifest` is the byte range of its manifest or header, if that is
 * known. `other` is true for formats other than zTensor, which have a header.
 */
export const regions = (
  length: number,
  manifest: { start: number; end: number } | null,
  opened: { objects: Listed[]; summary: Summary } | null,
  other = opened?.summary.generation === null,
): Region[] => {
  const found: Region[] = []
  // All bytes before this offset are in a region already. Tensors may share bytes, so a blob can begin before it.
  let covered = 0
  const add = (region: Region, gap: Kind) => {
    if (region.start > covered) found.push({ kind: gap, start: covered, end: region.start })
    if (region.end > region.start) found.push(region)
    covered = Math.max(covered, region.end)
  }
  if (!other) add({ kind: 'header', start: 0, end: Math.min(MAGIC, length) }, 'header')
  // Bytes between the blobs of an archive are the headers of its members.
  const isArchive = ['.npz', 'PyTorch'].includes(opened?.summary.format ?? '')
  const gap = !opened ? 'unknown' : isArchive ? 'header' : 'padding'
  if (manifest) {
    const known: Region[] = [{ kind: other ? 'header' : 'manifest', ...manifest }]
    opened?.objects.forEach(({ components }, object) => {
      for (const { offset, length, role, shard } of components) {
        if (length > 0 && !shard) known.push({ kind: 'blob', start: offset, end: offset + length, object, role })
      }
    })
    known.sort((one, next) => one.start - next.start)
    // The bytes before the header hold its length, and count as part of it.
    if (other && known[0]?.kind === 'header') known[0].start = 0
    for (const region of known) add(region, gap)
  }
  const last = !manifest ? 'unknown' : other ? gap : 'footer'
  add({ kind: last, start: length, end: length }, last)
  return found
}

/** Returns the regions of sibling files, which follow the file of `length` bytes in the bar, one after the other. */
export const siblingRegions = (length: number, siblings: Sibling[], objects: Listed[]): Region[] => {
  const blobs = new Map<string, Region[]>()
  objects.forEach(({ components }, object) => {
    for (const { offset, length, role, shard } of components) {
      if (length === 0 || shard === null) continue
      const own = blobs.get(shard) ?? []
      blobs.set(shard, own)
      own.push({ kind: 'blob', start: offset, end: offset + length, object, role })
    }
  })
  const found: Region[] = []
  let base = length
  for (const { shown: file, size } of siblings) {
    if (size === null) continue
    const place = { file, base }
    let covered = 0
    const add = ({ start, end, ...rest }: Region) => found.push({ ...rest, ...place, start: base + start, end: base + end })
    for (const region of (blobs.get(file) ?? []).sort((one, next) => one.start - next.start)) {
      if (region.start > covered) add({ kind: covered === 0 ? 'header' : 'padding', start: covered, end: region.start })
      add(region)
      covered = Math.max(covered, region.end)
    }
    if (size > covered) add({ kind: covered === 0 ? 'header' : 'padding', start: covered, end: size })
    base += size
  }
  return found
}

/** Returns the index of the region that contains the byte at `offset`. */
export const regionAt = (all: Region[], offset: number): number => {
  let low = 0
  let high = all.length - 1
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if ((all[middle]?.start ?? 0) <= offset) low = middle
    else high = middle - 1
  }
  // Regions may overlap, so the region that begins last before the offset may end before it, and an earlier one may contain it.
  while (low > 0 && (all[low]?.end ?? 0) <= offset) low--
  return low
}
