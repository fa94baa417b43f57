/// <reference lib="esnext.disposable" preserve="true" />
/** Reading zTensor, safetensors, GGUF, `.npy` and `.npz` files, which are validated as the command `zten` validates them. */
import { elements, toFloat32, type Elements } from './elements.ts'
import { ZtenError, failure, trouble, type Report } from './errors.ts'
import { Guest, WINDOW } from './guest.ts'
import { join } from './instance.ts'
import { nameOf, reader } from './reader.ts'
import type { Source } from './sources.ts'
import type { UrlOptions } from './url.ts'

export { ZtenError, type Elements, type Report, type Source, type UrlOptions }

/** A component of an object, as the manifest describes it. */
export interface Component {
  /** Its role: `data`, `values`, `indices`. */
  role: string
  /** What an element is: `f32`, `bf16`, `f8_e4m3fn`, `complex64`, `Q4_K`. */
  dtype: string
  /** What it is stored as; null where the type is not known. */
  storage: string | null
  dtype_known: boolean
  /** Where its bytes are in the file, or in the shard. */
  offset: number | bigint
  length: number | bigint
  /** Its bytes once decoded, where the manifest tells. */
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

/** An object of a file: one of `zten ls --json`, without its attributes. */
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
  components: Component[]
}

/** The elements of a component, or of a part of one. */
export interface Tensor {
  name: string
  component: string
  dtype: string
  /** Of dense objects their shape, in row-major order; else the number of elements of `data`. */
  shape: number[]
  /** 64-bit integers as `bigint`, `f16` as `Float16Array` where there is one, types without a typed array as their bits. */
  data: Elements
  /** Whether a digest was there and has been verified. */
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
}

type Part = Component & Reading

interface Answer {
  object: Listed & { attributes: null }
  /** True if its components are valid where each is by itself. */
  independent: boolean
  components: Reading[]
}

interface Found extends Listed {
  independent: boolean
  components: Part[]
}

const found = ({ object: { attributes: _, ...object }, independent, components }: Answer): Found =>
  ({ ...object, independent, components: object.components.map((component, place) => ({ ...component, ...components[place]! })) })

/** Objects that are listed at a time. */
const PAGE = 1024

const abandoned = new FinalizationRegistry<() => void>(close => close())

/**
 * Opens a file: its manifest is read and validated.
 *
 * @throws {ZtenError} where that breaks a rule, or the source fails.
 */
export const open = async (source: Blob | ArrayBuffer | URL | Source, options: OpenOptions = {}): Promise<ZtenFile> => {
  const from = await reader(source, options)
  try {
    const guest = new Guest(from)
    const report = await guest.open(options.name ?? nameOf(source))
    if (report) throw new ZtenError(report)
    return new ZtenFile(guest, options.memory ?? 2 ** 30)
  } catch (error) {
    from.close()
    throw error
  }
}

/** Opens a file and validates all of it: what `zten check --json` says. It throws nothing. */
export const check = async (source: Blob | ArrayBuffer | URL | Source, options: OpenOptions = {}): Promise<Report> => {
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

const reported = (error: unknown): Report => {
  if (!(error instanceof ZtenError)) return trouble(error instanceof Error ? error.message : String(error))
  const { verdict, format, rule, clause, offset, object, component, shard, more, message } = error
  return { schema: 2, file: null, verdict, format, rule, clause, offset, object, component, shard, more, message }
}

/** A file that was opened. `close` it, or declare it with `using`; what is collected is closed, too. */
export class ZtenFile {
  /** The format: `ztensor`, `safetensors`, `safetensors-index`, `gguf`, `npy` or `npz`. */
  readonly format: string
  /** The generation of a zTensor file: `0.1`, `1.1`, `1.2` or `2`. */
  readonly generation: string | null
  /** The version that the file names. */
  readonly version: string | null
  /** How many objects there are. */
  readonly size: number
  #guest: Guest | undefined
  #last: Promise<unknown> = Promise.resolve()
  readonly #memory: number

  /** @internal */
  constructor(guest: Guest, memory: number) {
    const said = guest.ask<{ format: string; generation: string | null; version: string | null; objects: number }>('file', [])
    this.format = said.format
    this.generation = said.generation
    this.version = said.version
    this.size = said.objects
    this.#guest = guest
    this.#memory = memory
    const { reader } = guest
    abandoned.register(this, () => reader.close(), this)
  }

  /** What is in the file, in the order of the file. */
  list(): Listed[] {
    const all: Listed[] = []
    for (let first = 0; first < this.size; first += PAGE) {
      for (const { independent, components, ...object } of this.#page(first)) {
        all.push({ ...object, components: components.map(({ elements, windowed, start, ...component }) => component) })
      }
    }
    return all
  }

  /**
   * The elements of a component: of the only one, or of the one that is named.
   *
   * Its digest is verified, and all else that only data can show of a component.
   *
   * @throws {ZtenError} where a rule is broken, it is not supported, or the source fails.
   * @throws {RangeError} where there is no such object or component.
   */
  get(name: string, component?: string, options: GetOptions = {}): Promise<Tensor> {
    return this.#turn(async guest => {
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
   * @throws {ZtenError} as `get`; where the object is not dense, or two elements share a byte.
   * @throws {RangeError} where there is no such object, or no such part.
   */
  slice(name: string, ranges: (readonly [number, number])[]): Promise<Tensor> {
    return this.#turn(async guest => {
      const object = this.#find(guest, name)
      const part = object.components[0]!
      if (ranges.length > object.shape.length) throw new RangeError(`${ranges.length} ranges of ${object.shape.length} dimensions`)
      const input = new DataView(new ArrayBuffer(16 * ranges.length))
      const shape = object.shape.map((dimension, at) => {
        const [start, end] = ranges[at] ?? [0, safe(dimension)]
        if (!Number.isSafeInteger(start) || !Number.isSafeInteger(end) || start < 0 || end < start || end > dimension) {
          throw new RangeError(`the range ${start} to ${end} of dimension ${at}, which has ${dimension}`)
        }
        return end - start
      })
      ranges.forEach((range, at) => range.forEach((index, side) => input.setBigUint64(16 * at + 8 * side, BigInt(index), true)))
      let pieces: Uint8Array<ArrayBuffer>[] = []
      const answer = await guest.replay('slice', [object.ordinal], {
        input: new Uint8Array(input.buffer),
        take: piece => pieces.push(piece),
        restart: () => { pieces = [] },
      })
      guest.drop()
      if ('report' in answer) throw new ZtenError(answer.report)
      return tensor(object, part, join(pieces), shape, (answer.said as { digest: string }).digest === 'verified')
    })
  }

  /** Validates all of the file: what `zten check --json` says of it. */
  check(): Promise<Report> {
    return this.#turn(async guest => {
      guest.call('check_begin', [])
      for (let first = 0; first < this.size; first += PAGE) {
        for (const object of this.#page(first)) {
          const report = await this.#checkObject(guest, object)
          if (report) return report
        }
      }
      const answer = guest.call('check_end', [])
      return 'report' in answer ? answer.report : answer.said as Report
    }).catch((error: unknown) => {
      if (error instanceof ZtenError) return reported(error)
      throw error
    })
  }

  /** Closes the file. What is being read fails, and its memory can be collected. */
  close(): void {
    if (!this.#guest) return
    abandoned.unregister(this)
    const { reader } = this.#guest
    this.#guest = undefined
    reader.close()
  }

  [Symbol.dispose](): void {
    this.close()
  }

  #open(): Guest {
    if (!this.#guest) throw failure('the file was closed')
    return this.#guest
  }

  /** One at a time: a guest reads one component. */
  #turn<T>(work: (guest: Guest) => Promise<T>): Promise<T> {
    const turn = this.#last.then(async () => {
      const guest = this.#open()
      try {
        return await work(guest)
      } finally {
        guest.drop()
      }
    })
    this.#last = turn.catch(() => {})
    return turn
  }

  #page(first: number): Found[] {
    return this.#open().ask<Answer[]>('list', [first, PAGE]).map(found)
  }

  #find(guest: Guest, name: string): Found {
    const answer = guest.ask<Answer | null>('find', [], { input: new TextEncoder().encode(name) })
    // A text that is not Unicode has no bytes of its own.
    if (answer?.object.name !== name) throw new RangeError(`there is no object ${JSON.stringify(name)}`)
    return found(answer)
  }

  #place({ name, components }: Found, wanted: string | undefined): number {
    const place = wanted === undefined && components.length === 1 ? 0 : components.findIndex(component => component.role === wanted)
    if (place < 0) {
      const names = components.map(component => JSON.stringify(component.role)).join(', ')
      throw new RangeError(`${JSON.stringify(name)} has the components ${names}: ${wanted === undefined ? 'name one' : `not ${JSON.stringify(wanted)}`}`)
    }
    return place
  }

  /** The decoded content of a component. */
  async #content(guest: Guest, object: Found, place: number, verify: boolean): Promise<{ bytes: Uint8Array<ArrayBuffer>; verified: boolean }> {
    const part = object.components[place]!
    const pieces: Uint8Array<ArrayBuffer>[] = []
    const isRaw = part.encoding === 'raw' && part.shard === null
    let take = (piece: Uint8Array<ArrayBuffer>): void => { pieces.push(piece) }
    if (isRaw) {
      // All of it is in the file, so that there is no more than is there.
      const whole = new Uint8Array(safe(part.length))
      pieces.push(whole)
      let at = 0
      take = piece => {
        whole.set(piece, at)
        at += piece.length
      }
      if (!verify && part.byte_order === 'little' && part.windowed && part.storage !== null && part.storage !== 'bool' && part.elements === null) {
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
      if (!isWindowed) this.#bound(length)
      await guest.hold(safe(part.start), isWindowed ? start : start + length)
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

  /** What is wrong with an object, if it breaks a rule. */
  async #checkObject(guest: Guest, object: Found): Promise<Report | undefined> {
    const parts = object.components.filter(part => part.shard === null)
    const length = parts.reduce((sum, part) => sum + safe(part.length), 0)
    const streams = object.independent && parts.every(part => part.windowed && part.digest?.verifiable !== false)
    if (!guest.isSync && streams && length > WINDOW) {
      for (const place of object.components.keys()) {
        const { report } = await this.#stream(guest, object, place)
        // What is not supported does not keep the rest from being validated, and is asked for again.
        if (report?.verdict === 'unsupported') break
        if (report) return report
        return undefined
      }
    }
    guest.drop()
    if (!guest.isSync) {
      this.#bound(length)
      for (const part of parts) await guest.holdMore(safe(part.start), safe(part.offset) + safe(part.length))
    }
    this.#open()
    const answer = guest.call('check_object', [object.ordinal])
    return 'report' in answer ? answer.report : undefined
  }

  #bound(length: number): void {
    if (length > this.#memory) {
      throw failure(`${length} bytes of the file would be held, expected at most ${this.#memory}: raise \`memory\`, or give a source with \`readSync\``)
    }
  }
}

const tensor = (object: Found, part: Part, bytes: Uint8Array<ArrayBuffer>, shape: number[] | undefined, verified: boolean): Tensor => {
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
