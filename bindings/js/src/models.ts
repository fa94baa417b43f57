/** The models among several files: which files belong together. */
import { stem } from './instance.ts'

/** A file with its path from the folder that was chosen on. */
export interface Chosen {
  path: string
  file: File
}

/** A file, and the files in and below its folder to which it may refer, by their paths from there on. */
export interface Model {
  file: File
  beside: Map<string, File>
}

/** Models that are listed, at most. */
export const LISTED = 1000

const TENSORS = /\.(zt|safetensors|gguf|npy|npz|pt|pth|bin|ckpt)$/i
const INDEX = /\.index(\.[\w-]+)?\.json$/i
const SPLIT = /^(.*)-(\d{5})-of-(\d{5})(\.\w+)$/

const split = (path: string): [string, string] => {
  const end = path.lastIndexOf('/') + 1
  return [path.slice(0, end), path.slice(end)]
}

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
  const sorted = chosen.map(one => ({ one, key: key(one) })).sort((a, b) => a.key < b.key ? -1 : a.key > b.key ? 1 : 0).map(({ one }) => one)
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
