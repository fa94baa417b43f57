/// <reference lib="esnext.disposable" preserve="true" />
/** Reads zTensor, safetensors, GGUF, `.npy`, `.npz` and PyTorch files, validates them as the command `zten` does, and writes files. */
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
  /** The role: `data`, `values`, `indices`. */
  role: string
  /** The type of an element: `f32`, `bf16`, `f8_e4m3fn`, `complex64`, `Q4_K`. */
  dtype: string
  /** The storage type; null if it is unknown, or the elements are opaque. */
  storage: string | null
  dtype_known: boolean
  /** The offset of the component in the file, or in the shard. */
  offset: number | bigint
  length: number | bigint
  /** The number of decoded bytes; null if the manifest does not state it. */
  decoded_length: number | bigint | null
  encoding: string
  encoding_known: boolean
  byte_order: 'little' | 'big'
  digest: Digest | null
  /** The name of the sibling file with the component; null if the component is in this file. */
  shard: string | null
}

/** A digest of stored bytes, as the file has it. */
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
  /** `dense`, `sparse_csr`, …; a name such as `quant.mxfp4` for a tensor that is stored as several tensors. */
  layout: string
  layout_known: boolean
  /**
   * `readable`; `opaque`: the bytes can be read, but zten does not interpret them, such as text, dates and records of NumPy, or an unknown
   * type or layout; `unread`: the bytes are not handed out, such as pickled Python objects.
   */
  state: 'readable' | 'opaque' | 'unread'
  /** The id of the rule that says why an unread object is not read; null for other objects. */
  reason: string | null
  /** A dimension from 2^53 on is a `bigint`. */
  shape: (number | bigint)[]
  /** The number of bits of a code of a quantized object. */
  bits: number | bigint | null
  /** The number of elements of a quantized object that share a scale; 0 if all elements of a lane do. */
  group_size: number | bigint | null
  /** The attributes; null if the object has no map of attributes. */
  attributes: Attributes | null
  components: Component[]
}

/** The elements of a component, or of a part of one. */
export interface Tensor {
  name: string
  /** The role of the component; null if the elements were computed from several components. */
  component: string | null
  dtype: string
  /** `readable`, or `opaque`: the elements are of a type that zten does not interpret, and are given as their storage type has them. */
  state: 'readable' | 'opaque'
  /** The shape of a dense tensor, in row-major order; otherwise the number of elements of `data`. */
  shape: number[]
  /** The elements: 64-bit integers as `bigint`, `f16` as `Float16Array` if the platform has it, and types without a typed array as their bits. */
  data: Elements
  /** True if the content has a digest, which was verified. */
  verified: boolean
  /** Converts the elements to 32-bit floats: 64-bit numbers are rounded, complex numbers become pairs, packed elements are unpacked. */
  toFloat32(): Float32Array<ArrayBuffer>
}

/** A deviation from a specification that is accepted if the caller names it. */
export type Tolerance = 'narrow-indices' | 'shared-blobs' | 'missing-zeros' | 'torch-global'

const TOLERANCES: readonly string[] = ['narrow-indices', 'shared-blobs', 'missing-zeros', 'torch-global'] satisfies Tolerance[]

export interface OpenOptions extends FilesOptions {
  /**
   * The name of the file, if the source is not a `File` or a `URL`, which have names. The array of an `.npy` file is named after the
   * file (`arr_0` without a name). An index of safetensors files and the first of several GGUF files are recognized by their names. Of a
   * list of files, the path of the file to open, if the list has several models.
   */
  name?: string
  /**
   * The deviations from a specification to accept, as the option `--tolerate` of the command: `torch-global` opens a checkpoint
   * with globals that zten does not know. Nothing is called, and their objects are opaque. A check still reports `torch-global`.
   */
  tolerate?: Tolerance | readonly Tolerance[]
  /**
   * False shows the tensors that the file names. By default, tensors that a program has quantized and stored as several, such as `X_blocks`
   * and `X_scales`, are one object `X` with these components, which `dequantize` reads: `docs/quantized.md`. A file with such names
   * is opened in `full.wasm`.
   */
  conventions?: boolean
  /** The largest number of bytes of an asynchronous source that are held in memory at the same time; 1 GiB by default. */
  memory?: number
}

export interface GetOptions {
  /** False skips the digest of an uncompressed component. */
  verify?: boolean
}

/** The way to read a component. */
interface Reading {
  elements: number | bigint | null
  /** True if the stored bytes are the elements in order, so that a part can be read without later bytes. */
  windowed: boolean
  /** The offset of the first byte that is read for the component. */
  start: number | bigint
  /** The offset after the last byte that is read. */
  end: number | bigint
}

type Part = Component & Reading

interface Answer {
  object: Described & { attributes: null }
  /** True if validating each component by itself validates the object. */
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

/** The number of objects that one call lists. */
const PAGE = 1024
/** The ordinal with which the attributes of the file itself are read. */
const FILE = 2 ** 32 - 1

const abandoned = new FinalizationRegistry<Files>(files => quietly(files))

/** Closes `files`, and ignores an error of closing, which would replace the error that is being thrown. */
const quietly = (files: Files | undefined): void => {
  try {
    files?.close()
  } catch {}
}

/** Throws a `TypeError` if `value`, which is the argument `what`, is not of the type `type`. */
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

/** Returns the names of the tolerances in `tolerate`. */
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

/** The options with which a file is opened. */
interface How {
  tolerate: string[]
  conventions: boolean
}

/**
 * Opens a file in the smallest module that reads its format, or in `full.wasm` if the file names sibling files that can be found,
 * or may have quantized tensors that are stored as several tensors.
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

/** Opens a file in `full.wasm`, which reads all formats. */
const reopened = async (files: Files, { tolerate, conventions }: How): Promise<Guest> => {
  const guest = new Guest(files, tolerate, conventions)
  const report = await guest.open(true)
  if (report) throw new ZtenError(report)
  return guest
}

/** The description of an open file that a module returns. */
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

/** An open file. Call `close`, or declare the file with `using`. A garbage-collected file is closed, too. */
export class ZtenFile {
  /** The format: `ztensor`, `safetensors`, `safetensors-index`, `gguf`, `npy`, `npz`, `torch` or `torch-index`. */
  readonly format: string
  /** The generation of a zTensor file: `0.1`, `1.1`, `1.2` or `2`. */
  readonly generation: string | null
  /** The version of the format that the file states. */
  readonly version: string | null
  /** The number of tensors. */
  readonly size: number
  /**
   * The notes on the file, as `check` reports them: a known loader may fail to read it, or values of a checkpoint are left out
   * (`torch-left-out`). They leave the file valid.
   */
  readonly notes: Note[]
  #guest: Guest | undefined
  /** The same file in the module that dequantizes, after the first call of `dequantize`. */
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

  /** Returns all objects, in the order of the file. */
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
   * @throws {ZtenError} if the data breaks a rule or is unsupported, the source fails, or the object or component does not exist; if the
   * object is unread, or its elements are opaque and have no storage type, such as text of NumPy, which `bytes` reads.
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
   * Reads a part of a dense object: `ranges` has the first index and the index after the last one for each dimension. Further dimensions
   * are read as a whole. Of an uncompressed component only the bytes of the part are read, and the digest, which is over all bytes, is
   * not verified.
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
   * Dequantizes an object to 32-bit floats: blocks of GGUF, `zt.mx/1`, `zt.quant_group/1`, `quantized_group`, and tensors that are stored as
   * several. The first call loads the module `full.wasm`, which opens the file again.
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

  /** Validates all of the file, and returns the report of `zten check --json`, which names the tensors as the file does. */
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

  /** Closes the file. Pending reads fail, and the memory of the file can be garbage-collected. */
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

  /** Returns a guest with `full.wasm` that has opened the file. */
  async #reopened(): Promise<Guest> {
    const guest = this.#open()
    return guest.isFull ? guest : reopened(guest.files, this.#how)
  }

  /** Does `work`, and converts each exception to a `ZtenError`. */
  #guarded<T>(work: () => T): T {
    try {
      return work()
    } catch (error) {
      throw wrapped(error, { format: this.format })
    }
  }

  /** Does `work` after the pending work has ended, because a guest reads one component at a time. Errors become `ZtenError`s about the object `name`. */
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
    // `TextEncoder` replaces lone surrogates, so the name of another object could match.
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

  /** Reads the decoded content of component `place` of `object`. */
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

  /** Reads a component to its end. */
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

  /** Validates `object`, and returns the report if it breaks a rule. */
  async #checkObject(guest: Guest, object: Found): Promise<Report | undefined> {
    const parts = object.components.filter(part => guest.fileOf(part.shard) !== undefined)
    const streams = object.independent && parts.every(part => part.windowed && part.digest?.verifiable !== false && !this.#isWhole(part))
    if (!guest.isSync && streams && heldBy(parts) > WINDOW) {
      let report: Report | undefined
      for (const place of object.components.keys()) report ??= (await this.#stream(guest, object, place)).report
      // The guest reports an unsupported object at the end, if no other object breaks a rule.
      if (report?.verdict !== 'unsupported') return report
    }
    await this.#holdAll(guest, object, parts)
    const answer = guest.call('check_object', [object.ordinal])
    return 'report' in answer ? answer.report : undefined
  }

  /** True if all of the shard with `part` is read before the part: a zTensor shard has one digest for all of its bytes. */
  #isWhole(part: Part): boolean {
    return part.shard !== null && this.generation !== null
  }

  /** Reads the bytes of `parts`, which are components of `object`, into memory if they have to be waited for. */
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

  /** Reads all zTensor shards into memory if they have to be waited for: a check begins with their digests. */
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
      ...trouble(`${length} bytes of the file would be held, expected at most ${this.#memory}: raise \`memory\`, or give a source with \`readSync\``),
      verdict: 'limit', rule: 'limit-memory', clause: 'policy', format: this.format, object: object?.name ?? null,
      component: part?.role ?? null, offset: part?.offset ?? null,
    })
  }
}

/** Makes the error `message` about the object `object`. */
const about = (object: string, message: string): ZtenError => new ZtenError({ ...trouble(message), object })

/** Makes the error of a call that does not support the state of `object`; `what` says what the object is. */
const unserved = ({ name }: Found, what: string, rule: string | null, component: string | null = null): ZtenError =>
  new ZtenError({ ...trouble(`${JSON.stringify(name)} ${what}`), verdict: 'unsupported', level: 'warning', rule, object: name, component })

/** Throws if the elements of `part` are opaque, so that no typed array has them. For an unread object, the module makes the error. */
const requireTyped = (object: Found, { role, dtype, storage }: Part): void => {
  if (object.state !== 'opaque' || storage !== null) return
  throw unserved(object, `is opaque: no typed array has elements of type ${JSON.stringify(dtype)}; \`bytes\` reads them`, 'unsupported-type', role)
}

/** Returns the number of bytes to read for `parts`. It can exceed their lengths: a checksum may cover bytes around a blob. */
const heldBy = (parts: Part[]): number => parts.reduce((sum, part) => sum + safe(part.end) - safe(part.start), 0)

/** The description of elements: their dtypes, number and role. */
type Typed = Pick<Part, 'dtype' | 'storage' | 'elements'> & { role: string | null }

const tensor = (object: Found, part: Typed, bytes: Uint8Array<ArrayBuffer>, shape: number[] | undefined, verified: boolean): Tensor => {
  const data = elements(bytes, part.storage)
  const count = part.elements === null ? null : safe(part.elements)
  return {
    name: object.name, component: part.role, dtype: part.dtype, state: object.state === 'opaque' ? 'opaque' : 'readable', shape: shape ?? [data.length], data, verified,
    toFloat32: () => toFloat32(data, part.dtype, count),
  }
}

/** Converts `number` to an exact `number`. Throws if it is too large, which no typed array can hold. */
const safe = (number: number | bigint): number => {
  if (typeof number === 'bigint' || !Number.isSafeInteger(number)) throw new RangeError(`${number} is beyond 2^53 - 1`)
  return number
}
