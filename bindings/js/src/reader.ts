/** Makes readers from all kinds of sources, and finds the sibling files of a file. */
import { failure } from './errors.ts'
import { pathsOf, type Asked } from './instance.ts'
import { candidates, type Model } from './models.ts'
import { START } from './module.ts'
import { bytesOf, classOf, ofBlob, ofBytes, ofSource, type BytesLike, type Reader, type Source } from './sources.ts'
import { besideUrl, isMissing, nameOfUrl, ofUrl, type UrlOptions } from './url.ts'

/** What a caller can pass as the source of one file. */
export type FileSource = Blob | BytesLike | URL | Source

/**
 * What a caller can pass as a source: that of one file, or a list with the files of a model, such as the `files` of an `<input>`.
 */
export type AnySource = FileSource | Iterable<File>

/**
 * Returns the source of the sibling file at `path`, such as `model-00001-of-00002.safetensors`, which is relative to the folder
 * of the opened file. Returns null or `undefined` if there is no such file.
 */
export type FindSibling = (path: string) => FileSource | null | undefined | Promise<FileSource | null | undefined>

/** The options that decide which files are read, and how remote files are fetched. */
export interface FilesOptions extends UrlOptions {
  /** The name of the file, or the path of the file to open in a list of files. */
  name?: string
  /**
   * The function that finds the files to which an index, the first of several GGUF files, or a zTensor file with shards refers.
   * Without this option, these files are looked for in the list of files, or in the folder of the URL. With `false`, only the
   * file itself is read.
   */
  siblings?: FindSibling | false
}

const isUrl = (source: unknown): source is URL => classOf(source) === 'URL'
const isBlob = (source: unknown): source is Blob => /^(Blob|File)$/.test(classOf(source))
const isSource = (source: unknown): source is FileSource =>
  !!bytesOf(source) || isUrl(source) || isBlob(source) || typeof (source as Source | undefined)?.read === 'function'
const isList = (source: unknown): source is Iterable<File> =>
  typeof source === 'object' && source !== null && Symbol.iterator in source && [...source as Iterable<unknown>].every(file => classOf(file) === 'File')

/** Throws a `TypeError` unless `source` is one of the kinds of sources that `AnySource` lists. */
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
  // The first request asks for the bytes by which the module is chosen. A request for one byte would not do: some development
  // servers ignore the end of the range `bytes=0-0`.
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
 * The error for a function `siblings` that returned a value that is not a source. It is thrown as it is, and not as a
 * `ZtenError`, because it is an error in the caller's program.
 */
export class SiblingTypeError extends TypeError {}

/** The readers of a file and of its sibling files. Each file is opened once, even if it is read by several module instances. */
export class Files {
  readonly #found = new Map<string, Promise<Reader | undefined>>()
  readonly #opened: Reader[] = []

  private constructor(
    readonly reader: Reader,
    readonly name: string,
    private readonly source: ((path: string) => Promise<Reader | undefined>) | undefined,
  ) {}

  /** Opens the file of `source`, or the model among several files. Its sibling files are opened when `find` asks for them. */
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

  /**
   * True if `find` can find sibling files: there is a function `siblings`, or `siblings` is not false and there is a list of files
   * or a URL.
   */
  get hasSiblings(): boolean {
    return this.source !== undefined
  }

  /** Looks for the sibling file `asked`, and opens it. Resolves to `undefined` if it does not exist. */
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

  /**
   * Closes the file and all sibling files that were opened. If that fails for some files, throws the first error after closing
   * the others.
   */
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

/**
 * Returns the function that finds the sibling files of `source` if the caller gives none: among the files of `model`, or next to
 * a URL. Returns `undefined` if there is no place to look for them.
 */
const finder = (source: FileSource, model: Model | undefined): FindSibling | undefined => {
  if (model) return path => model.beside.get(path)
  return isUrl(source) ? path => besideUrl(source, path) : undefined
}

/**
 * Returns the model to open among several files: the model at the path `name`, or the only model if `name` is `undefined`. If the
 * file `name` is not the first file of a model, it is opened alone.
 *
 * @throws {ZtenError} if there is no such file, or there are several models, of which `name` names none or more than one.
 */
const chosen = (files: Iterable<File>, name: string | undefined): Model => {
  const given = [...files].map(file => ({ path: file.webkitRelativePath || file.name, file }))
  const isNamed = (path: string, file: File): boolean => path === name || file.name === name
  const all = candidates(given)
  const models = name === undefined ? all : all.filter(({ path, model: { file } }) => isNamed(path, file))
  if (models.length === 0) {
    // The named file belongs to another file of a model, has an unknown suffix, or comes after the largest number of models that
    // are listed.
    const [own, other] = given.filter(({ path, file }) => isNamed(path, file))
    if (own && !other) return { file: own.file, beside: new Map() }
  }
  const [first, second] = models
  // `candidates` sorts models with sibling files first. Which files are the shards of a file is known only after the file was
  // opened. If all other models may be shards of the first one, it is taken for the only model.
  const isOnly = first && (!second || first.model.beside.size > 0 && models.slice(1).every(({ path }) => first.model.beside.has(path.slice(first.path.lastIndexOf('/') + 1))))
  if (first && isOnly) return first.model
  const listed = all.slice(0, 5).map(({ path }) => JSON.stringify(path)).join(', ')
  throw failure(all.length === 0 ? 'the list has no files'
    : models.length === 0 ? `the list has no file ${JSON.stringify(name)}, but ${listed}`
      : `the list has ${all.length} models: ${listed}; name one with the option \`name\``)
}
