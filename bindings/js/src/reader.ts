/** Sources of every kind, and the sibling files of a file. */
import { failure } from './errors.ts'
import { pathsOf, type Asked } from './instance.ts'
import { candidates, type Model } from './models.ts'
import { START } from './module.ts'
import { bytesOf, classOf, ofBlob, ofBytes, ofSource, type BytesLike, type Reader, type Source } from './sources.ts'
import { besideUrl, isMissing, nameOfUrl, ofUrl, type UrlOptions } from './url.ts'

/** All kinds of sources of one file. */
export type FileSource = Blob | BytesLike | URL | Source

/** All kinds of sources: of one file, or the files of a model, such as those of an `<input>`. */
export type AnySource = FileSource | Iterable<File>

/**
 * Finds the sibling file at `path`, relative to the folder of the file, such as `model-00001-of-00002.safetensors`. Returns nothing
 * if the file does not exist.
 */
export type FindSibling = (path: string) => FileSource | null | undefined | Promise<FileSource | null | undefined>

/** The options that decide on the files that are read. */
export interface FilesOptions extends UrlOptions {
  /** The name of the file, or the path of the file to open in a list of files. */
  name?: string
  /**
   * Finds the files that are named by an index, by the first of several GGUF files, or by a zTensor file with shards. Without this
   * option they are looked for in the list of files or in the folder of the URL. With `false`, no other file is read.
   */
  siblings?: FindSibling | false
}

const isUrl = (source: unknown): source is URL => classOf(source) === 'URL'
const isBlob = (source: unknown): source is Blob => /^(Blob|File)$/.test(classOf(source))
const isSource = (source: unknown): source is FileSource =>
  !!bytesOf(source) || isUrl(source) || isBlob(source) || typeof (source as Source | undefined)?.read === 'function'
const isList = (source: unknown): source is Iterable<File> =>
  typeof source === 'object' && source !== null && Symbol.iterator in source && [...source as Iterable<unknown>].every(file => classOf(file) === 'File')

/** Throws a `TypeError` if `source` is not a source. */
export const requireSource = (source: AnySource): void => {
  if (isSource(source) || isList(source)) return
  const address = typeof source === 'string' ? '; an address is given as `new URL(…)`' : ''
  throw new TypeError(`the source is ${source === null ? 'null' : `of the type ${typeof source}`}, expected a Blob, bytes, a URL, a { size, read } or a list of Files${address}`)
}

const reader = async (source: FileSource, options: UrlOptions): Promise<Reader> => {
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
const nameOf = (source: FileSource): string => {
  if (isUrl(source)) return nameOfUrl(source)
  return isBlob(source) && 'name' in source ? String(source.name) : ''
}

/**
 * The error of a function `siblings` that returned a value that is not a source. This is an error of the caller, not of a source.
 */
export class SiblingTypeError extends TypeError {}

/** A file and its sibling files. Each file is opened once, even if several modules ask for it. */
export class Files {
  readonly #found = new Map<string, Promise<Reader | undefined>>()
  readonly #opened: Reader[] = []

  private constructor(
    readonly reader: Reader,
    readonly name: string,
    private readonly source: ((path: string) => Promise<Reader | undefined>) | undefined,
  ) {}

  /** Opens the file of `source`. */
  static async open(source: AnySource, options: FilesOptions): Promise<Files> {
    const model = isSource(source) ? undefined : chosen(source, options.name)
    const own = model?.file ?? source as FileSource
    const name = model?.file.name ?? options.name ?? nameOf(own)
    const find = options.siblings === false ? undefined : options.siblings ?? finder(own, model)
    const beside = find && (async (path: string): Promise<Reader | undefined> => {
      const found = await find(path)
      if (found === null || found === undefined) return undefined
      if (!isSource(found)) throw new SiblingTypeError(`the sibling file ${JSON.stringify(path)} is of the type ${typeof found}, expected a Blob, bytes, a URL or a { size, read }`)
      try {
        return await reader(found, options)
      } catch (error) {
        if (isMissing(error)) return undefined
        throw error
      }
    })
    return new Files(await reader(own, options), name, beside)
  }

  /** True if sibling files are looked for. */
  get hasSiblings(): boolean {
    return this.source !== undefined
  }

  /** Finds a sibling file. */
  find(asked: Asked): Promise<Reader | undefined> {
    const known = this.#found.get(asked.name) ?? this.#open(asked)
    this.#found.set(asked.name, known)
    return known
  }

  async #open(asked: Asked): Promise<Reader | undefined> {
    for (const path of pathsOf(asked, this.name)) {
      const found = await this.source?.(path)
      if (!found) continue
      this.#opened.push(found)
      return found
    }
    return undefined
  }

  /** Closes all files that were opened. */
  close(): void {
    const errors: unknown[] = []
    for (const file of [this.reader, ...this.#opened]) {
      try {
        file.close()
      } catch (error) {
        errors.push(error)
      }
    }
    if (errors.length > 0) throw errors[0]
  }
}

/** Returns the function that finds sibling files of `source`, or `undefined` if they cannot be found. */
const finder = (source: FileSource, model: Model | undefined): FindSibling | undefined => {
  if (model) return path => model.beside.get(path)
  return isUrl(source) ? path => besideUrl(source, path) : undefined
}

/**
 * Returns the model in a list of files: the model at the path `name`, or the only model. A named file that is not a model is opened
 * alone.
 */
const chosen = (files: Iterable<File>, name: string | undefined): Model => {
  const given = [...files].map(file => ({ path: file.webkitRelativePath || file.name, file }))
  const isNamed = (path: string, file: File): boolean => path === name || file.name === name
  const all = candidates(given)
  const models = name === undefined ? all : all.filter(({ path, model: { file } }) => isNamed(path, file))
  if (models.length === 0) {
    // The file is a part of a model, has an unknown suffix, or is one of more files than are listed.
    const [own, other] = given.filter(({ path, file }) => isNamed(path, file))
    if (own && !other) return { file: own.file, beside: new Map() }
  }
  const [first, second] = models
  // Models with sibling files are sorted first. Which files are shards of a file is known only after the file was opened, so the
  // others may all be its shards.
  const isOnly = first && (!second || first.model.beside.size > 0 && models.slice(1).every(({ path }) => first.model.beside.has(path.slice(first.path.lastIndexOf('/') + 1))))
  if (first && isOnly) return first.model
  const listed = all.slice(0, 5).map(({ path }) => JSON.stringify(path)).join(', ')
  throw failure(all.length === 0 ? 'the list has no files'
    : models.length === 0 ? `the list has no file ${JSON.stringify(name)}, but ${listed}`
      : `the list has ${all.length} models: ${listed}; name one with the option \`name\``)
}
