/// <reference lib="esnext.disposable" preserve="true" />
/** Reading zTensor, safetensors, GGUF, `.npy`, `.npz` and PyTorch files, which are validated as the command `zten` validates them. */
import { attributes, Simple, Tagged, type Attribute, type Attributes } from './attributes.ts'
import { elements, toFloat32, type Elements } from './elements.ts'
import { ZtenError, failure, report, trouble, wrapped, type Note, type Report } from './errors.ts'
import { Guest, WINDOW } from './guest.ts'
import { join } from './instance.ts'
import { setWasm, type Wasm, type WasmModules } from './module.ts'
import { nameOf, reader, requireSource, type AnySource } from './reader.ts'
import type { BytesLike, Reader, Source } from './sources.ts'
import type { UrlOptions } from './url.ts'

export {
  setWasm, Simple, Tagged, ZtenError, type Attribute, type Attributes, type BytesLike, type Elements, type AnySource, type Note, type Report,
  type Source, type UrlOptions, type Wasm, type WasmModules,
}

/** A component of an object, as the manifest describes it. */
export interface Component {
  /** The role: `data`, `values`, `indices`. */
  role: string
  /** The type of an element: `f32`, `bf16`, `f8_e4m3fn`, `complex64`, `Q4_K`. */
  dtype: string
  /** The storage type; null where the type is unknown. */
  storage: string | null
  dtype_known: boolean
  /** The range of its bytes in the file, or in the shard. */
  offset: number | bigint
  length: number | bigint
  /** The number of decoded bytes, where the manifest gives it. */
  decoded_length: number | bigint | null
  encoding: string
  encoding_known: boolean
  byte_order: 'little' | 'big'
  digest: Digest | null
  /** The name of the file beside this one that it is in; null where it is in this one. */
  shard: string | null
}

/** A digest of stored bytes, as the file has it. */
export interface Digest {
  algorithm: string
  text: string
  /** False where it cannot be verified. */
  verifiable: boolean
}

/** An object of a file: one of `zten ls --json`. */
export interface Listed {
  name: string
  ordinal: number
  /** `dense`, `sparse_csr`, … */
  layout: string
  layout_known: boolean
  /** A dimension from 2^53 on is a `bigint`. */
  shape: (number | bigint)[]
  /** Bits of each code of a quantized object. */
  bits: number | bigint | null
  /** Elements of a quantized object that have a scale in common: 0 for all of a lane. */
  group_size: number | bigint | null
  /** Null where it has no map of them. */
  attributes: Attributes | null
  components: Component[]
}

/** The elements of a component, or of a part of one. */
export interface Tensor {
  name: string
  /** The role of the component; null where the elements were computed of several. */
  component: string | null
  dtype: string
  /** The shape of a dense object, in row-major order; else the number of elements of `data`. */
  shape: number[]
  /** 64-bit integers as `bigint`, `f16` as `Float16Array` where there is one, types without a typed array as their bits. */
  data: Elements
  /** True if there was a digest and it has been verified. */
  verified: boolean
  /** The elements as 32-bit floats: 64 bits rounded, complex ones as pairs, packed ones one by one. */
  toFloat32(): Float32Array<ArrayBuffer>
}

export interface OpenOptions extends UrlOptions {
  /**
   * The name of the file. A `File` and a `URL` have one. The array of an `.npy` file has the name of the file (`arr_0` without one), and
   * an index of safetensors files and the first of several GGUF files are known by it.
   */
  name?: string
  /** Bytes of the file that may be held at a time, where they have to be waited for: 1 GiB if not given. */
  memory?: number
}

export interface GetOptions {
  /** False leaves out the digest of what is stored as it is. */
  verify?: boolean
}

/** The way to read a component. */
interface Reading {
  elements: number | bigint | null
  /** True if its bytes are its elements in order, of which any part can be read without a later one. */
  windowed: boolean
  /** The offset of the first byte that is read for its content. */
  start: number | bigint
  /** The offset behind the last one. */
  end: number | bigint
}

type Part = Component & Reading

interface Answer {
  object: Described & { attributes: null }
  /** True if its components are valid where each is by itself. */
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

/** Objects that are listed at a time. */
const PAGE = 1024
/** The ordinal that stands for the file itself when its attributes are read. */
const FILE = 2 ** 32 - 1

const abandoned = new FinalizationRegistry<Reader>(reader => quietly(reader))

/** Closes a source where an error of its own would hide another one. */
const quietly = (reader: Reader | undefined): void => {
  try {
    reader?.close()
  } catch {}
}

/** Throws a `TypeError` where a value is of another type. */
const requireType = (what: string, value: unknown, type: string): void => {
  if (typeof value !== type) throw new TypeError(`${what} is of the type ${value === null ? 'null' : typeof value}, expected a ${type}`)
}

const requireArguments = (source: AnySource, { name = '', memory = 0 }: OpenOptions): void => {
  requireSource(source)
  requireType('the name of the file', name, 'string')
  requireType('the option memory', memory, 'number')
}

/**
 * Opens a file: its manifest is read and validated.
 *
 * @throws {ZtenError} where that breaks a rule, the source fails, or a module cannot be loaded.
 * @throws {TypeError} where an argument is of another type.
 */
export const open = async (source: AnySource, options: OpenOptions = {}): Promise<ZtenFile> => {
  requireArguments(source, options)
  let from: Reader | undefined
  try {
    from = await reader(source, options)
    const guest = new Guest(from)
    const name = options.name ?? nameOf(source)
    const report = await guest.open(name)
    if (report) throw new ZtenError(report)
    return new ZtenFile(guest, name, options.memory ?? 2 ** 30)
  } catch (error) {
    quietly(from)
    throw wrapped(error)
  }
}

/**
 * Opens a file and validates all of it: what `zten check --json` says, also of one that cannot be read.
 *
 * @throws {TypeError} where an argument is of another type.
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
    return reported(error)
  }
}

const reported = (error: unknown): Report => report(wrapped(error))

/** A file that was opened. `close` it, or declare it with `using`; what is collected is closed, too. */
export class ZtenFile {
  /** The format: `ztensor`, `safetensors`, `safetensors-index`, `gguf`, `npy`, `npz` or `torch`. */
  readonly format: string
  /** The generation of a zTensor file: `0.1`, `1.1`, `1.2` or `2`. */
  readonly generation: string | null
  /** The version that the file names. */
  readonly version: string | null
  /** The number of objects. */
  readonly size: number
  #guest: Guest | undefined
  /** The same file in the module that dequantizes, once that was asked for. */
  #full: Promise<Guest> | undefined
  #attributes: Attributes | null | undefined
  #last: Promise<unknown> = Promise.resolve()
  readonly #name: string
  readonly #memory: number

  /** @internal */
  constructor(guest: Guest, name: string, memory: number) {
    const said = guest.ask<{ format: string; generation: string | null; version: string | null; objects: number }>('file', [])
    this.format = said.format
    this.generation = said.generation
    this.version = said.version
    this.size = said.objects
    this.#guest = guest
    this.#name = name
    this.#memory = memory
    abandoned.register(this, guest.reader, this)
  }

  /** The attributes of the file: metadata of safetensors and GGUF. Null where it has no map of them. */
  get attributes(): Attributes | null {
    return this.#attributes ??= this.#guarded(() => attributes(this.#open().bytes('attributes', [FILE])))
  }

  /** The objects of the file, in the order of the file. */
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
   * The elements of a component: of the only one, or of the one that is named.
   *
   * Verifies the digest, and all else that only data can show of a component.
   *
   * @throws {ZtenError} where a rule is broken, it is not supported, the source fails, or there is no such object or component.
   */
  async get(name: string, component?: string, options: GetOptions = {}): Promise<Tensor> {
    requireType('the name', name, 'string')
    requireType('the component', component ?? '', 'string')
    return this.#turn(name, async guest => {
      const object = this.#find(guest, name)
      const place = this.#place(object, component)
      const part = object.components[place]!
      const { bytes, verified } = await this.#content(guest, object, place, options.verify ?? true)
      const shape = object.layout === 'dense' ? object.shape.map(safe) : undefined
      return tensor(object, part, bytes, shape, verified)
    })
  }

  /**
   * A part of a dense object: from the first to before the second index of each dimension. Dimensions
   * for which nothing is given are taken whole. Of what is stored as it is, only that is read, and
   * no digest is verified, which is over all of it.
   *
   * @throws {ZtenError} as `get`; where the object is not dense, has no such part, or two elements share a byte.
   */
  async slice(name: string, ranges: (readonly [number, number])[]): Promise<Tensor> {
    requireType('the name', name, 'string')
    const isRange = (range: unknown) => Array.isArray(range) && range.length === 2 && range.every(index => typeof index === 'number')
    if (!Array.isArray(ranges) || !ranges.every(isRange)) throw new TypeError('the ranges are not a list of [start, end]')
    return this.#turn(name, async guest => {
      const object = this.#find(guest, name)
      const part = object.components[0]
      if (!part) throw about(name, `the object ${JSON.stringify(name)} has no components`)
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
   * The elements of a quantized object as 32-bit floats: of blocks of GGUF, `zt.mx/1` and `quantized_group`. The module that does
   * this is loaded by the first call, and opens the file again.
   *
   * @throws {ZtenError} as `get`; where the object is not quantized, or in a way that is not known.
   */
  async dequantize(name: string): Promise<Tensor> {
    requireType('the name', name, 'string')
    return this.#turn(name, async () => {
      const guest = await (this.#full ??= this.#reopened().catch(error => {
        this.#full = undefined
        throw error
      }))
      const object = this.#find(guest, name)
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

  /** Validates all of the file: what `zten check --json` says of it. */
  check(): Promise<Report> {
    return this.#turn(null, async guest => {
      const begun = guest.call('check_begin', [])
      if ('report' in begun) return begun.report
      for (let first = 0; first < this.size; first += PAGE) {
        for (const object of this.#page(first)) {
          const report = await this.#checkObject(guest, object)
          if (report) return report
        }
      }
      const answer = guest.call('check_end', [])
      return 'report' in answer ? answer.report : answer.said as Report
    }).catch(reported)
  }

  /** Closes the file. What is being read fails, and its memory can be collected. */
  close(): void {
    if (!this.#guest) return
    abandoned.unregister(this)
    const { reader } = this.#guest
    this.#guest = this.#full = undefined
    this.#guarded(() => reader.close())
  }

  [Symbol.dispose](): void {
    this.close()
  }

  #open(): Guest {
    if (!this.#guest) throw failure('the file was closed')
    return this.#guest
  }

  /** The file in a guest that dequantizes. */
  async #reopened(): Promise<Guest> {
    const guest = this.#open()
    if (guest.isFull) return guest
    const full = new Guest(guest.reader)
    const report = await full.open(this.#name, true)
    if (report) throw new ZtenError(report)
    return full
  }

  /** Does work that throws nothing but a `ZtenError`. */
  #guarded<T>(work: () => T): T {
    try {
      return work()
    } catch (error) {
      throw wrapped(error, { format: this.format })
    }
  }

  /** One at a time: a guest reads one component. What fails is a `ZtenError`, about the object of that name. */
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

  #page(first: number): Found[] {
    return this.#open().ask<Answer[]>('list', [first, PAGE]).map(found)
  }

  #find(guest: Guest, name: string): Found {
    const input = new TextEncoder().encode(name)
    // A text that is not Unicode has no bytes of its own.
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

  /** The decoded content of a component. */
  async #content(guest: Guest, object: Found, place: number, verify: boolean): Promise<{ bytes: Uint8Array<ArrayBuffer>; verified: boolean }> {
    const part = object.components[place]!
    const pieces: Uint8Array<ArrayBuffer>[] = []
    const isWindowed = part.windowed && part.shard === null
    let take = (piece: Uint8Array<ArrayBuffer>): void => { pieces.push(piece) }
    if (isWindowed) {
      // All of it is in the file, so that there is no more than is there.
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
          whole.set(await guest.reader.read(start + at, start + Math.min(at + WINDOW, whole.length)), at)
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
    const isHeld = !guest.isSync && part.shard === null
    const isWindowed = isHeld && part.windowed
    const [start, length] = isHeld ? [safe(part.offset), safe(part.length)] : [0, 0]
    if (isHeld) {
      if (!isWindowed) this.#bound(heldBy([part]), object, part)
      await guest.hold(safe(part.start), isWindowed ? start : safe(part.end))
    }
    const begun = guest.call('stream', [object.ordinal, place])
    if ('report' in begun) return begun
    for (let at = 0; ; at += WINDOW) {
      if (isWindowed) await guest.hold(start + at, start + Math.min(at + WINDOW, length))
      this.#open()
      const answer = guest.call('advance', [BigInt(WINDOW), take ? 1 : 0], { take })
      if ('report' in answer) return answer
      if (answer.said) return { said: answer.said as { digest: string } }
    }
  }

  /** The error of an object that breaks a rule. */
  async #checkObject(guest: Guest, object: Found): Promise<Report | undefined> {
    const parts = inFile(object)
    const streams = object.independent && parts.every(part => part.windowed && part.digest?.verifiable !== false)
    if (!guest.isSync && streams && heldBy(parts) > WINDOW) {
      let report: Report | undefined
      for (const place of object.components.keys()) report ??= (await this.#stream(guest, object, place)).report
      // An unsupported object does not keep the rest from being validated, and is reported later.
      if (report?.verdict !== 'unsupported') return report
    }
    await this.#holdAll(guest, object)
    const answer = guest.call('check_object', [object.ordinal])
    return 'report' in answer ? answer.report : undefined
  }

  /** Holds all of an object, where it has to be waited for. */
  async #holdAll(guest: Guest, object: Found): Promise<void> {
    guest.drop()
    if (!guest.isSync) {
      const parts = inFile(object)
      this.#bound(heldBy(parts), object, parts[0])
      for (const part of parts) await guest.holdMore(safe(part.start), safe(part.end))
    }
    this.#open()
  }

  #bound(length: number, { name }: Found, part: Part | undefined): void {
    if (length <= this.#memory) return
    throw new ZtenError({
      ...trouble(`${length} bytes of the file would be held, expected at most ${this.#memory}: raise \`memory\`, or give a source with \`readSync\``),
      verdict: 'limit', rule: 'limit-memory', clause: 'policy', format: this.format, object: name,
      component: part?.role ?? null, offset: part?.offset ?? null,
    })
  }
}

/** The error of what was asked for of an object, and is not there. */
const about = (object: string, message: string): ZtenError => new ZtenError({ ...trouble(message), object })

const inFile = (object: Found): Part[] => object.components.filter(part => part.shard === null)
/** The number of bytes to read for components: those around a blob that its checksum covers are more than its length. */
const heldBy = (parts: Part[]): number => parts.reduce((sum, part) => sum + safe(part.end) - safe(part.start), 0)

/** The facts that come with elements. */
type Typed = Pick<Part, 'dtype' | 'storage' | 'elements'> & { role: string | null }

const tensor = (object: Found, part: Typed, bytes: Uint8Array<ArrayBuffer>, shape: number[] | undefined, verified: boolean): Tensor => {
  const data = elements(bytes, part.storage)
  const count = part.elements === null ? null : safe(part.elements)
  return {
    name: object.name, component: part.role, dtype: part.dtype, shape: shape ?? [data.length], data, verified,
    toFloat32: () => toFloat32(data, part.dtype, count),
  }
}

/** A number that is exact; what is larger has no place in a typed array. */
const safe = (number: number | bigint): number => {
  if (typeof number === 'bigint' || !Number.isSafeInteger(number)) throw new RangeError(`${number} is beyond 2^53 - 1`)
  return number
}
