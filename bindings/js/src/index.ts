/// <reference lib="esnext.disposable" preserve="true" />
/**
 * Reads zTensor, safetensors, GGUF, `.npy`, `.npz` and PyTorch files, validates them as the command `zten` does, and writes
 * files.
 */
import { attributes, Simple, Tagged, type Attribute, type AttributeInput, type Attributes } from './attributes.ts'
import { elements, toFloat32, type Elements } from './elements.ts'
import { encode, type EncodeOptions, type TensorInput } from './encode.ts'
import { ZtenError, failure, report, trouble, wrapped, type Note, type Report } from './errors.ts'
import { Guest, WINDOW } from './guest.ts'
import { join } from './instance.ts'
import { setWasm, type Wasm, type WasmModules } from './module.ts'
import { Files, SiblingTypeError, requireSource, type AnySource, type FileSource, type FilesOptions, type FindSibling } from './reader.ts'
import type { BytesLike, Source } from './sources.ts'
import type { UrlOptions } from './url.ts'

export {
  encode, setWasm, Simple, Tagged, ZtenError, type Attribute, type AttributeInput, type Attributes, type BytesLike, type Elements,
  type EncodeOptions, type AnySource, type FileSource, type FindSibling, type Note, type Report, type Source, type TensorInput, type UrlOptions, type Wasm, type WasmModules,
}

/** A component of an object, as the manifest describes it. */
export interface Component {
  /** The role of the component in its object, such as `data`, `values` or `indices`. */
  role: string
  /** The type of the elements, as the file spells it: `f32`, `bf16`, `f8_e4m3fn`, `complex64`, `Q4_K`, … */
  dtype: string
  /** The type as which the elements are stored, such as `u8` for `f8_e4m3fn`; null if it is unknown, or the elements are opaque. */
  storage: string | null
  dtype_known: boolean
  /** The offset in bytes of the component in the file, or in the shard that holds it. */
  offset: number | bigint
  length: number | bigint
  /** The number of decoded bytes; null if the manifest does not state it. */
  decoded_length: number | bigint | null
  encoding: string
  encoding_known: boolean
  byte_order: 'little' | 'big'
  digest: Digest | null
  /** The name of the shard or sibling file that holds the component; null if the component is in this file. */
  shard: string | null
}

/** The digest of a component, as the file spells it. */
export interface Digest {
  algorithm: string
  text: string
  /** False if the package cannot verify the digest. */
  verifiable: boolean
}

/** An object of a file, as `zten ls --json` lists it. */
export interface Listed {
  name: string
  ordinal: number
  /** The layout: `dense`, `sparse_csr`, …; a name such as `quant.mxfp4` for a tensor that is stored as several tensors. */
  layout: string
  layout_known: boolean
  /**
   * `readable`; `opaque`: the bytes can be read, but zten does not interpret them, such as text, dates and records of NumPy, or
   * an unknown type or layout; `unread`: the bytes are not handed out, such as pickled Python objects.
   */
  state: 'readable' | 'opaque' | 'unread'
  /** The id of the rule that says why an unread object is not read; null for other objects. */
  reason: string | null
  /** The number of elements in each dimension, outermost first: a `bigint` from 2^53 on. */
  shape: (number | bigint)[]
  /** The number of bits of a code of a quantized object; null for other objects, and for blocks that hold more than codes. */
  bits: number | bigint | null
  /**
   * The number of neighboring elements of a quantized object that share a scale; 0 if all elements of a row or column, or more,
   * share one; null for other objects.
   */
  group_size: number | bigint | null
  /** The attributes; null if the object has no map of attributes. */
  attributes: Attributes | null
  components: Component[]
}

/** The elements of a component, or of a part of one. */
export interface Tensor {
  name: string
  /** The role of the component that was read; null if the elements were computed from several components, as `dequantize` does. */
  component: string | null
  dtype: string
  /** `readable`, or `opaque` for elements of a type that zten does not interpret: `data` has them as their storage type. */
  state: 'readable' | 'opaque'
  /**
   * The dimensions of a dense or dequantized tensor, outermost first; for any other component, only the number of elements of
   * `data`.
   */
  shape: number[]
  /**
   * The elements in row-major order: 64-bit integers as `bigint`, `f16` as `Float16Array` if the platform has this class, and
   * types for which JavaScript has no typed array as their bits.
   */
  data: Elements
  /** True if the elements have been verified by a digest in the file. */
  verified: boolean
  /**
   * Converts the elements to 32-bit floats: 64-bit numbers are rounded, a complex number becomes two elements, and two elements
   * that share a byte are unpacked.
   */
  toFloat32(): Float32Array<ArrayBuffer>
}

/** The name of a deviation from a specification that `open` and `check` reject, unless the option `tolerate` names it. */
export type Tolerance = 'narrow-indices' | 'shared-blobs' | 'missing-zeros' | 'torch-global'

const TOLERANCES: readonly string[] = ['narrow-indices', 'shared-blobs', 'missing-zeros', 'torch-global'] satisfies Tolerance[]

export interface OpenOptions extends FilesOptions {
  /**
   * The name of the file, if the source is not a `File` or a `URL`, which have names. The array of an `.npy` file is named after
   * the file (`arr_0` without a name). An index of safetensors files and the first of several GGUF files are recognized by their
   * names. Of a list of files, the path of the file to open, if the list has several models.
   */
  name?: string
  /**
   * The deviations from a specification to accept, as the option `--tolerate` of the command: `torch-global` opens a checkpoint
   * with classes or functions that zten does not know. None of them is called, and the objects that they would make are opaque.
   * `check` still reports `torch-global`.
   */
  tolerate?: Tolerance | readonly Tolerance[]
  /**
   * By default, a quantized tensor that a program has stored as several tensors, such as `X_blocks` and `X_scales`, is one object
   * `X` with these components, which `dequantize` reads: `docs/quantized.md`. A file with such names is opened in the module
   * `full.wasm`. With false, the objects are the tensors that the file names.
   */
  conventions?: boolean
  /** The largest number of bytes of an asynchronous source that are held in memory at the same time; 1 GiB by default. */
  memory?: number
}

export interface GetOptions {
  /** False does not verify the digest of an uncompressed component. By default, it is verified. */
  verify?: boolean
}

/** What the module says about reading a component, in addition to `Component`. */
interface Reading {
  elements: number | bigint | null
  /** True if the stored bytes are the elements in order, so that a part can be read without later bytes. */
  windowed: boolean
  /**
   * The offset of the first byte of the file or shard that is read for the component: a checksum may cover bytes before the
   * component.
   */
  start: number | bigint
  /** The offset after the last byte of the file or shard that is read for the component. */
  end: number | bigint
}

type Part = Component & Reading

interface Answer {
  object: Described & { attributes: null }
  /** True if no rule relates two components of the object, so that validating each component by itself validates the object. */
  independent: boolean
  components: Reading[]
}

type Described = Omit<Listed, 'attributes'>

interface Found extends Described {
  independent: boolean
  components: Part[]
}

const found = ({ object: { attributes: _, ...object }, independent, components }: Answer): Found =>
  ({ ...object, independent, components: object.components.map((component, place) => ({ ...component, ...components[place]! })) })

/** The number of objects that one call of the module's function `list` returns. */
const PAGE = 1024
/** The ordinal that means the file itself, and not an object, in a call of the module's function `attributes`. */
const FILE = 2 ** 32 - 1

const abandoned = new FinalizationRegistry<Files>(files => quietly(files))

/** Closes `files`, and ignores an error of closing them, which would hide the error because of which they are closed. */
const quietly = (files: Files | undefined): void => {
  try {
    files?.close()
  } catch {}
}

/** Throws a `TypeError` unless `typeof value` is `type`. The message calls the value `what`. */
const requireType = (what: string, value: unknown, type: string): void => {
  if (typeof value !== type) throw new TypeError(`${what} is of the type ${value === null ? 'null' : typeof value}, expected a ${type}`)
}

const requireNames = (name: string, component: string | undefined): void => {
  requireType('the name', name, 'string')
  requireType('the component', component ?? '', 'string')
}

const requireArguments = (source: AnySource, options: OpenOptions): void => {
  const { name = '', memory = 0, siblings = false, conventions = true } = options
  requireSource(source)
  requireType('the name of the file', name, 'string')
  requireType('the option memory', memory, 'number')
  requireType('the option conventions', conventions, 'boolean')
  if (siblings !== false) requireType('the option siblings', siblings, 'function')
  const unknown = tolerated(options).find(name => !TOLERANCES.includes(name))
  if (unknown !== undefined) throw new TypeError(`the option tolerate has ${JSON.stringify(unknown)}, expected ${TOLERANCES.join(', ')}`)
}

/** Returns the option `tolerate`, which is one name or a list of names, as a list. */
const tolerated = ({ tolerate = [] }: OpenOptions): string[] => [tolerate].flat()

/**
 * Opens a file: reads and validates its manifest.
 *
 * @throws {ZtenError} if the manifest breaks a rule, the source fails, or a module cannot be loaded.
 * @throws {TypeError} if an argument has a wrong type.
 */
export const open = async (source: AnySource, options: OpenOptions = {}): Promise<ZtenFile> => {
  requireArguments(source, options)
  let files: Files | undefined
  try {
    files = await Files.open(source, options)
    const how = { tolerate: tolerated(options), conventions: options.conventions ?? true }
    return new ZtenFile(await opened(files, how), how, options.memory ?? 2 ** 30)
  } catch (error) {
    quietly(files)
    throw error instanceof SiblingTypeError ? error : wrapped(error)
  }
}

/** The options for opening a file that the modules need: the names of the tolerances, and whether conventions are applied. */
interface How {
  tolerate: string[]
  conventions: boolean
}

/**
 * Opens the file of `files`, and returns the module instance that has it open: the smallest module that reads the format, or
 * `full.wasm` if the file names sibling files that can be found, or may have quantized tensors that are stored as several
 * tensors.
 */
const opened = async (files: Files, how: How): Promise<Guest> => {
  const guest = new Guest(files, how.tolerate, how.conventions)
  const report = await guest.open()
  const head = report ? undefined : guest.ask<Head>('file', [])
  const isSplit = files.hasSiblings && (report?.rule === 'gguf-split-file' || (head?.shards ?? 0) > 0)
  if ((isSplit || how.conventions && head?.groups) && !guest.isFull) return reopened(files, how)
  if (report) throw new ZtenError(report)
  return guest
}

/** Opens the file of `files` in the module `full.wasm`, which reads all formats, and returns the instance of the module. */
const reopened = async (files: Files, { tolerate, conventions }: How): Promise<Guest> => {
  const guest = new Guest(files, tolerate, conventions)
  const report = await guest.open(true)
  if (report) throw new ZtenError(report)
  return guest
}

/** What a module says about an open file: its format, the numbers of its objects and shards, and the notes on it. */
interface Head {
  format: string
  generation: string | null
  version: string | null
  objects: number
  shards: number
  /** True if the file has quantized tensors that are stored as several tensors, or tensors whose names look like those. */
  groups: boolean
  notes: Note[]
}

/**
 * Opens a file, validates all of it, and returns the report of `zten check --json`. A file that cannot be read has a report, too.
 *
 * @throws {TypeError} if an argument has a wrong type.
 */
export const check = async (source: AnySource, options: OpenOptions = {}): Promise<Report> => {
  requireArguments(source, options)
  try {
    const file = await open(source, options)
    try {
      return await file.check()
    } finally {
      file.close()
    }
  } catch (error) {
    if (error instanceof SiblingTypeError) throw error
    return reported(error)
  }
}

const reported = (error: unknown): Report => report(wrapped(error))

/** An open file. Close it with `close`, or declare the variable with `using`. A file that is garbage-collected is closed, too. */
export class ZtenFile {
  /** The format: `ztensor`, `safetensors`, `safetensors-index`, `gguf`, `npy`, `npz`, `torch` or `torch-index`. */
  readonly format: string
  /** The generation of a zTensor file: `0.1`, `1.1`, `1.2` or `2`; null for a file of another format. */
  readonly generation: string | null
  /** The version number that a zTensor file of generation 1.x has in its header; null for other files. */
  readonly version: string | null
  /** The number of objects of the file. */
  readonly size: number
  /**
   * The notes on the file that opening it has found, as `check` reports them: a known loader may fail to read the file, or values
   * of a checkpoint are left out (`torch-left-out`). A file with notes can be valid.
   */
  readonly notes: Note[]
  #guest: Guest | undefined
  /** The instance of `full.wasm` that has this file open, for `dequantize`; `undefined` before the first call of `dequantize`. */
  #full: Promise<Guest> | undefined
  #attributes: Attributes | null | undefined
  #last: Promise<unknown> = Promise.resolve()
  readonly #how: How
  readonly #memory: number

  /** @internal */
  constructor(guest: Guest, how: How, memory: number) {
    const said = guest.ask<Head>('file', [])
    this.format = said.format
    this.generation = said.generation
    this.version = said.version
    this.size = said.objects
    this.notes = said.notes
    this.#guest = guest
    this.#how = how
    this.#memory = memory
    abandoned.register(this, guest.files, this)
  }

  /** The attributes of the file, such as the metadata of safetensors and GGUF; null if the file has no map of attributes. */
  get attributes(): Attributes | null {
    return this.#attributes ??= this.#guarded(() => attributes(this.#open().bytes('attributes', [FILE])))
  }

  /** Returns the descriptions of all objects with their attributes, in the order of the file. No data is read. */
  list(): Listed[] {
    return this.#guarded(() => {
      const all: Listed[] = []
      for (let first = 0; first < this.size; first += PAGE) {
        for (const { independent, components, ...object } of this.#page(first)) {
          all.push({
            ...object,
            attributes: attributes(this.#open().bytes('attributes', [object.ordinal])),
            components: components.map(({ elements, windowed, start, end, ...component }) => component),
          })
        }
      }
      return all
    })
  }

  /**
   * Reads the elements of the component `component` of the object `name`, or of its only component.
   *
   * Verifies the digest of the component, and validates all rules about its data.
   *
   * @throws {ZtenError} if the data breaks a rule or is unsupported, the source fails, or the object or component does not exist;
   * if the object is unread, or its elements are opaque and have no storage type, such as text of NumPy, which `bytes` reads.
   */
  async get(name: string, component?: string, options: GetOptions = {}): Promise<Tensor> {
    requireNames(name, component)
    return this.#turn(name, async guest => {
      const object = this.#find(guest, name)
      const place = this.#place(object, component)
      const part = object.components[place]!
      requireTyped(object, part)
      const { bytes, verified } = await this.#content(guest, object, place, options.verify ?? true)
      const shape = object.layout === 'dense' ? object.shape.map(safe) : undefined
      return tensor(object, part, bytes, shape, verified)
    })
  }

  /**
   * Reads the decoded bytes of the component `component` of the object `name`, or of its only component: little-endian elements in
   * row-major order, and opaque elements with the byte order of the file. Verifies as `get` does.
   *
   * @throws {ZtenError} as `get`, but not for opaque elements.
   */
  async bytes(name: string, component?: string, options: GetOptions = {}): Promise<Uint8Array<ArrayBuffer>> {
    requireNames(name, component)
    return this.#turn(name, async guest => {
      const object = this.#find(guest, name)
      const { bytes } = await this.#content(guest, object, this.#place(object, component), options.verify ?? true)
      return bytes
    })
  }

  /**
   * Reads a part of the dense object `name`. `ranges` has the first index and the index after the last one for each of the first
   * dimensions; the last dimensions, for which it has no range, are read as a whole. Of an uncompressed component only the bytes
   * of the part are read, so its digest is not verified, because a digest covers all bytes.
   *
   * @throws {ZtenError} as `get`; if the object is not dense, a range is outside its shape, or two elements share a byte.
   */
  async slice(name: string, ranges: (readonly [number, number])[]): Promise<Tensor> {
    requireType('the name', name, 'string')
    const isRange = (range: unknown) => Array.isArray(range) && range.length === 2 && range.every(index => typeof index === 'number')
    if (!Array.isArray(ranges) || !ranges.every(isRange)) throw new TypeError('the ranges are not a list of [start, end]')
    return this.#turn(name, async guest => {
      const object = this.#find(guest, name)
      const part = object.components[0]
      if (!part) throw about(name, `the object ${JSON.stringify(name)} has no components`)
      requireTyped(object, part)
      if (ranges.length > object.shape.length) throw about(name, `${ranges.length} ranges of ${object.shape.length} dimensions`)
      const input = new DataView(new ArrayBuffer(16 * ranges.length))
      const shape = object.shape.map((dimension, at) => {
        const [start, end] = ranges[at] ?? [0, safe(dimension)]
        if (!Number.isSafeInteger(start) || !Number.isSafeInteger(end) || start < 0 || end < start || end > dimension) {
          throw about(name, `the range ${start} to ${end} of dimension ${at}, which has ${dimension}`)
        }
        return end - start
      })
      ranges.forEach((range, at) => range.forEach((index, side) => input.setBigUint64(16 * at + 8 * side, BigInt(index), true)))
      let pieces: Uint8Array<ArrayBuffer>[] = []
      const answer = await guest.replay('slice', [object.ordinal], {
        input: new Uint8Array(input.buffer),
        take: piece => pieces.push(piece),
        restart: () => { pieces = [] },
        bound: length => this.#bound(length, object, part),
      })
      guest.drop()
      if ('report' in answer) throw new ZtenError(answer.report)
      return tensor(object, part, join(pieces), shape, (answer.said as { digest: string }).digest === 'verified')
    })
  }

  /**
   * Reads the quantized object `name`, and computes its values as 32-bit floats: blocks of GGUF, `zt.mx/1`, `zt.quant_group/1`,
   * `quantized_group`, and quantized tensors that are stored as several tensors. If the file is open in a smaller module, the
   * first call loads the module `full.wasm` and opens the file again in it.
   *
   * @throws {ZtenError} as `get`; if the object is not quantized, or its quantization is unknown.
   */
  async dequantize(name: string): Promise<Tensor> {
    requireType('the name', name, 'string')
    return this.#turn(name, async () => {
      const guest = await (this.#full ??= this.#reopened().catch(error => {
        this.#full = undefined
        throw error
      }))
      const object = this.#find(guest, name)
      if (object.state === 'unread') throw unserved(object, `is unread (rule ${object.reason})`, object.reason)
      if (object.layout === 'dense') throw about(name, `the object ${JSON.stringify(name)} is dense, not quantized: use \`get\``)
      await this.#holdAll(guest, object)
      const pieces: Uint8Array<ArrayBuffer>[] = []
      try {
        const answer = guest.call('dequantize', [object.ordinal], { take: piece => pieces.push(piece) })
        if ('report' in answer) throw new ZtenError(answer.report)
        const { digest } = answer.said as { digest: string }
        const values = { role: null, dtype: 'f32', storage: 'f32', elements: null }
        return tensor(object, values, join(pieces), object.shape.map(safe), digest === 'verified')
      } finally {
        guest.drop()
      }
    })
  }

  /**
   * Reads and validates all of the file, and returns the report of `zten check --json`, whose names are those of the tensors in
   * the file.
   */
  check(): Promise<Report> {
    return this.#turn(null, async own => {
      const isGrouped = own.isFull && this.#how.conventions && own.ask<Head>('file', []).groups
      const guest = isGrouped ? await reopened(own.files, { ...this.#how, conventions: false }) : own
      const size = guest.ask<Head>('file', []).objects
      await this.#holdShards(guest)
      const begun = guest.call('check_begin', [])
      guest.drop()
      if ('report' in begun) return begun.report
      for (let first = 0; first < size; first += PAGE) {
        for (const object of this.#page(first, guest)) {
          const report = await this.#checkObject(guest, object)
          if (report) return report
        }
      }
      if (guest.isFull) {
        const compared = await guest.replay('check_copies', [], { bound: length => this.#bound(length) })
        guest.drop()
        if ('report' in compared) return compared.report
      }
      const answer = guest.call('check_end', [])
      return 'report' in answer ? answer.report : answer.said as Report
    }).catch(reported)
  }

  /** Closes the file and its sibling files. Pending and later reads fail, and the memory of the file can be garbage-collected. */
  close(): void {
    if (!this.#guest) return
    abandoned.unregister(this)
    const { files } = this.#guest
    this.#guest = this.#full = undefined
    this.#guarded(() => files.close())
  }

  [Symbol.dispose](): void {
    this.close()
  }

  #open(): Guest {
    if (!this.#guest) throw failure('the file was closed')
    return this.#guest
  }

  /**
   * Returns an instance of `full.wasm` that has this file open: the current one, or a new one in which the file is opened again.
   */
  async #reopened(): Promise<Guest> {
    const guest = this.#open()
    return guest.isFull ? guest : reopened(guest.files, this.#how)
  }

  /** Calls `work`, and returns its result. Converts any exception to a `ZtenError` with the format of this file. */
  #guarded<T>(work: () => T): T {
    try {
      return work()
    } catch (error) {
      throw wrapped(error, { format: this.format })
    }
  }

  /**
   * Calls `work` after all earlier calls of this file have ended, because an instance reads one component at a time, and resolves
   * to its result. Converts any exception to a `ZtenError` about the object `name`, or about the file if `name` is null.
   */
  #turn<T>(name: string | null, work: (guest: Guest) => Promise<T>): Promise<T> {
    const turn = this.#last.then(async () => {
      try {
        const guest = this.#open()
        try {
          return await work(guest)
        } finally {
          guest.drop()
        }
      } catch (error) {
        throw wrapped(error, { format: this.format, object: name })
      }
    })
    this.#last = turn.catch(() => {})
    return turn
  }

  #page(first: number, guest = this.#open()): Found[] {
    return guest.ask<Answer[]>('list', [first, PAGE]).map(found)
  }

  #find(guest: Guest, name: string): Found {
    const input = new TextEncoder().encode(name)
    // `TextEncoder` replaces a lone surrogate by another character, so the encoded name could be that of a different object.
    if (new TextDecoder('utf-8', { ignoreBOM: true }).decode(input) !== name) throw about(name, `no tensor named ${JSON.stringify(name)}`)
    const answer = guest.call('find', [], { input })
    if ('report' in answer) throw new ZtenError({ ...answer.report, object: name })
    return found(answer.said as Answer)
  }

  #place({ name, components }: Found, wanted: string | undefined): number {
    const place = wanted === undefined && components.length === 1 ? 0 : components.findIndex(component => component.role === wanted)
    if (place < 0) {
      const names = components.map(component => JSON.stringify(component.role)).join(', ')
      throw about(name, `${JSON.stringify(name)} has the components ${names}: ${wanted === undefined ? 'name one' : `not ${JSON.stringify(wanted)}`}`)
    }
    return place
  }

  /**
   * Reads component `place` of `object`. Resolves to its decoded bytes, and to whether they were verified by a digest. If
   * `verify` is false, the digest of an uncompressed component is not verified.
   */
  async #content(guest: Guest, object: Found, place: number, verify: boolean): Promise<{ bytes: Uint8Array<ArrayBuffer>; verified: boolean }> {
    const part = object.components[place]!
    const pieces: Uint8Array<ArrayBuffer>[] = []
    const file = guest.fileOf(part.shard)
    const isWindowed = part.windowed && file !== undefined && !this.#isWhole(part)
    let take = (piece: Uint8Array<ArrayBuffer>): void => { pieces.push(piece) }
    if (isWindowed) {
      // An uncompressed component lies within the file, so the allocation is at most as large as the file.
      const whole = new Uint8Array(safe(part.length))
      pieces.push(whole)
      let at = 0
      take = piece => {
        whole.set(piece, at)
        at += piece.length
      }
      if (!verify && part.byte_order === 'little' && part.storage !== null && part.storage !== 'bool' && part.elements === null) {
        const start = safe(part.offset)
        for (let at = 0; at < whole.length; at += WINDOW) {
          whole.set(await guest.number(file).read(start + at, start + Math.min(at + WINDOW, whole.length)), at)
          this.#open()
        }
        return { bytes: whole, verified: false }
      }
    }
    const { report, said } = await this.#stream(guest, object, place, take)
    if (report) throw new ZtenError(report)
    return { bytes: join(pieces), verified: said?.digest === 'verified' }
  }

  /**
   * Reads and verifies component `place` of `object` to its end, and passes its decoded bytes to `take`, if it is given. Resolves
   * to the report of an error, or to the answer of the module, which says whether the digest was verified.
   */
  async #stream(
    guest: Guest, object: Found, place: number, take?: (piece: Uint8Array<ArrayBuffer>) => void,
  ): Promise<{ report?: Report; said?: { digest: string } }> {
    const part = object.components[place]!
    const file = guest.isSync ? undefined : guest.fileOf(part.shard)
    const isWindowed = file !== undefined && part.windowed && !this.#isWhole(part)
    const [start, length] = file === undefined ? [0, 0] : [safe(part.offset), safe(part.length)]
    if (isWindowed) await guest.hold(file, safe(part.start), start)
    else if (file !== undefined) await this.#holdAll(guest, object, [part])
    const begun = guest.call('stream', [object.ordinal, place])
    if ('report' in begun) return begun
    for (let at = 0; ; at += WINDOW) {
      if (isWindowed) await guest.hold(file, start + at, start + Math.min(at + WINDOW, length))
      this.#open()
      const answer = guest.call('advance', [BigInt(WINDOW), take ? 1 : 0], { take })
      if ('report' in answer) return answer
      if (answer.said) return { said: answer.said as { digest: string } }
    }
  }

  /** Reads and validates `object`. Resolves to the report if the object breaks a rule, and to `undefined` otherwise. */
  async #checkObject(guest: Guest, object: Found): Promise<Report | undefined> {
    const parts = object.components.filter(part => guest.fileOf(part.shard) !== undefined)
    const streams = object.independent && parts.every(part => part.windowed && part.digest?.verifiable !== false && !this.#isWhole(part))
    if (!guest.isSync && streams && heldBy(parts) > WINDOW) {
      let report: Report | undefined
      for (const place of object.components.keys()) report ??= (await this.#stream(guest, object, place)).report
      // An unsupported component is not returned at once: `check_object` records it, and `check_end` reports it if no object
      // breaks a rule.
      if (report?.verdict !== 'unsupported') return report
    }
    await this.#holdAll(guest, object, parts)
    const answer = guest.call('check_object', [object.ordinal])
    return 'report' in answer ? answer.report : undefined
  }

  /**
   * Returns whether reading `part` reads all of the shard that holds it, because a shard of a zTensor file has one digest for all
   * its bytes.
   */
  #isWhole(part: Part): boolean {
    return part.shard !== null && this.generation !== null
  }

  /** Reads the bytes of `parts`, components of `object`, ahead into memory, unless all files can be read synchronously. */
  async #holdAll(guest: Guest, object: Found, parts = object.components): Promise<void> {
    guest.drop()
    if (!guest.isSync) {
      const ranges = new Map<string, [number, number, number]>()
      for (const part of parts) {
        const file = guest.fileOf(part.shard)
        if (file === undefined) continue
        const [start, end] = this.#isWhole(part) ? [0, guest.number(file).size] : [safe(part.start), safe(part.end)]
        ranges.set(`${file} ${start} ${end}`, [file, start, end])
      }
      this.#bound([...ranges.values()].reduce((sum, [, start, end]) => sum + end - start, 0), object, parts[0])
      for (const range of ranges.values()) await guest.holdMore(...range)
    }
    this.#open()
  }

  /**
   * Reads all shards of a zTensor file ahead into memory, unless all files can be read synchronously: a check begins with their
   * digests.
   */
  async #holdShards(guest: Guest): Promise<void> {
    guest.drop()
    if (guest.isSync || this.generation === null) return
    const found = guest.found()
    this.#bound(found.reduce((sum, file) => sum + guest.number(file).size, 0))
    for (const file of found) await guest.holdMore(file, 0, guest.number(file).size)
    this.#open()
  }

  #bound(length: number, object?: Found, part?: Part): void {
    if (length <= this.#memory) return
    throw new ZtenError({
      ...trouble(`${length} bytes of the file would be held in memory, expected at most ${this.#memory}: raise the option \`memory\`, or give a source with \`readSync\``),
      verdict: 'limit', rule: 'limit-memory', clause: 'policy', format: this.format, object: object?.name ?? null,
      component: part?.role ?? null, offset: part?.offset ?? null,
    })
  }
}

/** Creates an error with `message` about the object called `object`. */
const about = (object: string, message: string): ZtenError => new ZtenError({ ...trouble(message), object })

/** Creates the error of a call that does not support `object`. The message is the name of the object followed by `what`. */
const unserved = ({ name }: Found, what: string, rule: string | null, component: string | null = null): ZtenError =>
  new ZtenError({ ...trouble(`${JSON.stringify(name)} ${what}`), verdict: 'unsupported', level: 'warning', rule, object: name, component })

/**
 * Throws if the elements of the component `part` are opaque and have no storage type, because then no typed array can hold them.
 */
const requireTyped = (object: Found, { role, dtype, storage }: Part): void => {
  if (object.state !== 'opaque' || storage !== null) return
  throw unserved(object, `is opaque: no typed array has elements of type ${JSON.stringify(dtype)}; \`bytes\` reads them`, 'unsupported-type', role)
}

/**
 * Returns the number of bytes that reading the components `parts` reads. A checksum may cover bytes around a component, which are
 * read too.
 */
const heldBy = (parts: Part[]): number => parts.reduce((sum, part) => sum + safe(part.end) - safe(part.start), 0)

/**
 * What `tensor` needs to know about elements: their dtype, their storage type, their number if several share a byte, and their
 * role.
 */
type Typed = Pick<Part, 'dtype' | 'storage' | 'elements'> & { role: string | null }

const tensor = (object: Found, part: Typed, bytes: Uint8Array<ArrayBuffer>, shape: number[] | undefined, verified: boolean): Tensor => {
  const data = elements(bytes, part.storage)
  const count = part.elements === null ? null : safe(part.elements)
  return {
    name: object.name, component: part.role, dtype: part.dtype, state: object.state === 'opaque' ? 'opaque' : 'readable', shape: shape ?? [data.length], data, verified,
    toFloat32: () => toFloat32(data, part.dtype, count),
  }
}

/**
 * Returns `number` as a `number`. Throws a `RangeError` from 2^53 on: a number would not be exact, and no typed array is so long.
 */
const safe = (number: number | bigint): number => {
  if (typeof number === 'bigint' || !Number.isSafeInteger(number)) throw new RangeError(`${number} is beyond 2^53 - 1`)
  return number
}
