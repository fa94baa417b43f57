/** Finds the models among several files: which files belong together. */
import { stem } from './instance.ts'

/** A file that a user has chosen, with its path relative to the chosen folder. */
export interface Chosen {
  path: string
  file: File
}

/** A file, and the files to which it may refer, by their paths relative to the folder of the file. */
export interface Model {
  file: File
  beside: Map<string, File>
}

/** The largest number of models that `candidates` returns. */
export const LISTED = 1000

const TENSORS = /\.(zt|safetensors|gguf|npy|npz|pt|pth|bin|ckpt)$/i
const INDEX = /\.index(\.[\w-]+)?\.json$/i
const SPLIT = /^(.*)-(\d{5})-of-(\d{5})(\.\w+)$/

const split = (path: string): [string, string] => {
  const end = path.lastIndexOf('/') + 1
  return [path.slice(0, end), path.slice(end)]
}

/** A model among the chosen files, with the path of the file by which it is opened. */
export interface Candidate {
  path: string
  model: Model
}

/**
 * Returns the models among the files `chosen`, up to `LISTED`: each index and each tensor file, except numbered files that belong
 * to another file, or all files if none of them has the suffix of a model. Numbered files belong to the index in their folder, and
 * numbered GGUF files to the first of them. To which other files a file refers is known only after it was opened.
 */
export const candidates = (chosen: Chosen[]): Candidate[] => {
  // Without the suffixes, the name of a file is a prefix of the names of its shards, so the file sorts before its shards.
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
  // If no file has a known suffix, all files are opened nevertheless, so that the user learns what they are.
  const roots = (own.length > 0 ? own : sorted).slice(0, LISTED)
  const folders = new Map<string, Chosen[]>()
  for (const one of sorted) {
    // Shards that are named by their digests are in `blobs/ALGORITHM/`, and count as files of the folder that has `blobs`.
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
  // Files that may name other files come first, because the other files are shown together with them: first an index, then a file
  // with shards.
  const rank = ({ path, model: { beside } }: Candidate): number => INDEX.test(path) ? 0 : beside.size > 0 ? 1 : 2
  return all.sort((one, other) => rank(one) - rank(other))
}

/**
 * Returns a predicate for the paths to which a file called `name` may refer, relative to its folder, or `undefined` if the file
 * refers to no other files.
 */
const siblingsOf = (name: string): ((path: string) => boolean) | undefined => {
  if (INDEX.test(name)) return path => TENSORS.test(path)
  const [, set] = SPLIT.exec(name) ?? []
  const begin = `${set ?? stem(name)}-`
  if (set !== undefined && /\.gguf$/i.test(name)) return path => path.startsWith(begin)
  return /\.zt$/i.test(name) ? path => path.startsWith(begin) || path.startsWith('blobs/') : undefined
}
