/** What was picked or dropped: files, folders, and the models that they are. */
import { stem } from '../../js/src/instance.ts'
import type { Model } from './protocol.ts'

/** A file with its path from the folder that was picked or dropped on. */
export interface Chosen {
  path: string
  file: File
}

/** Files that are taken from a folder, at most. */
const MOST = 10_000
/** Models that are listed, at most. */
export const LISTED = 1000

const TENSORS = /\.(zt|safetensors|gguf|npy|npz|pt|pth|bin|ckpt)$/i
const INDEX = /\.index(\.[\w-]+)?\.json$/i
const SPLIT = /^(.*)-(\d{5})-of-(\d{5})(\.\w+)$/

const split = (path: string): [string, string] => {
  const end = path.lastIndexOf('/') + 1
  return [path.slice(0, end), path.slice(end)]
}

/** Files of an `<input>`. */
export const picked = (files: Iterable<File>): Chosen[] =>
  [...files].slice(0, MOST).map(file => ({ path: file.webkitRelativePath || file.name, file }))

/** Files and folders that were dropped. What lies in folders is listed step by step. */
export const dropped = async (data: DataTransfer): Promise<Chosen[]> => {
  // Both are emptied when the event is over.
  const files = [...data.files]
  const entries = [...data.items].map(item => item.webkitGetAsEntry())
  if (!entries.some(entry => entry?.isDirectory)) return picked(files)
  const found: Chosen[] = []
  const pending = entries.filter(entry => entry !== null)
  for (let entry = pending.pop(); entry && found.length < MOST; entry = pending.pop()) {
    if (isFile(entry)) {
      const own = entry
      const file = await new Promise<File>((resolve, reject) => own.file(resolve, reject))
      found.push({ path: own.fullPath.replace(/^\//, ''), file })
      continue
    }
    const reader = (entry as FileSystemDirectoryEntry).createReader()
    for (;;) {
      // A reader returns a part of the folder each time.
      const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject))
      if (some.length === 0) break
      pending.push(...some)
      if (pending.length > MOST) break
    }
  }
  return found
}

const isFile = (entry: FileSystemEntry): entry is FileSystemFileEntry => entry.isFile

/** A model among the files, to be listed. */
export interface Candidate {
  path: string
  model: Model
}

/**
 * Returns the models among the files: each tensor file, without those that belong to another one. Numbered files belong to the index in
 * their folder, or to the first of them that is there. What else a file names is known only when it is open.
 */
export const candidates = (chosen: Chosen[]): Candidate[] => {
  // Without suffixes, a file comes before its shards.
  const key = ({ path }: Chosen) => path.replace(/\.[^./]*$/, '')
  const sorted = chosen.toSorted((one, other) => key(one) < key(other) ? -1 : 1)
  const indexed = new Set(sorted.filter(({ path }) => INDEX.test(path)).map(({ path }) => split(path)[0]))
  const begun = new Set<string>()
  const isOwn = ({ path }: Chosen): boolean => {
    const [folder, name] = split(path)
    if (INDEX.test(name)) return true
    if (!TENSORS.test(name)) return false
    const [, begin, , count, suffix] = SPLIT.exec(name) ?? []
    if (begin === undefined) return true
    if (suffix !== '.gguf') return !indexed.has(folder)
    const set = `${folder}${begin}-of-${count}`
    return !begun.has(set) && !!begun.add(set)
  }
  const own = sorted.filter(isOwn)
  // Files of no name that is known are opened all the same, so that the page says what they are.
  const roots = (own.length > 0 ? own : sorted).slice(0, LISTED)
  const folders = new Map<string, Chosen[]>()
  for (const one of sorted) {
    // Shards that are named by their digests lie below the folder of their file.
    const [folder] = split(one.path.replace(/(^|\/)blobs\/[^/]+\/([^/]+)$/, '$1$2'))
    const known = folders.get(folder) ?? []
    folders.set(folder, known)
    known.push(one)
  }
  const all = roots.map(({ path, file }) => {
    const [folder, name] = split(path)
    const belongs = siblingsOf(name)
    const beside = belongs ? (folders.get(folder) ?? []).map(one => [one.path.slice(folder.length), one.file] as const) : []
    return { path, model: { file, beside: new Map(beside.filter(([other]) => other !== name && belongs?.(other))) } }
  })
  // What may name other files comes first, because these are shown with it: an index, and then a file with shards.
  const rank = ({ path, model: { beside } }: Candidate): number => INDEX.test(path) ? 0 : beside.size > 0 ? 1 : 2
  return all.sort((one, other) => rank(one) - rank(other))
}

/** Returns the test of the paths that a file of that name may refer to, from its folder on; nothing if it refers to no other file. */
const siblingsOf = (name: string): ((path: string) => boolean) | undefined => {
  if (INDEX.test(name)) return path => TENSORS.test(path)
  const [, set] = SPLIT.exec(name) ?? []
  const begin = `${set ?? stem(name)}-`
  if (set !== undefined && /\.gguf$/i.test(name)) return path => path.startsWith(begin)
  return /\.zt$/i.test(name) ? path => path.startsWith(begin) || path.startsWith('blobs/') : undefined
}
