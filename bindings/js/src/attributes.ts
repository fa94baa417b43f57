/** Parses attributes from validated CBOR, and encodes attributes as CBOR. */
import { half } from './elements.ts'
import { failure } from './errors.ts'
import { join } from './instance.ts'

/**
 * A value of an attribute. Integers of 2^53 and more, or of -2^53 and less, are `bigint`, bytes are a `Uint8Array`, and values that
 * only CBOR has are instances of `Tagged` or `Simple`.
 */
export type Attribute =
  | null | undefined | boolean | number | bigint | string | Uint8Array<ArrayBuffer> | Attribute[]
  | Attributes | Map<Attribute, Attribute> | Tagged | Simple

/** Attributes by their keys, as an object without a prototype. */
export interface Attributes {
  [key: string]: Attribute
}

/** A tagged value of CBOR: a value, and a number that gives it a meaning. */
export class Tagged {
  constructor(readonly tag: number | bigint, readonly value: Attribute) {}
}

/** A simple value of CBOR for which JavaScript has no value, given by its number. */
export class Simple {
  constructor(readonly code: number) {}
}

const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
/** Stands for the break, the byte that ends a CBOR item of indefinite length. It is no attribute. */
const BREAK = Symbol('break')

/** Parses `bytes`, a CBOR map of attributes that the module has validated. Returns null if `bytes` is empty: there is no map. */
export const attributes = (bytes: Uint8Array<ArrayBuffer>): Attributes | null => {
  if (bytes.length === 0) return null
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let at = 0
  const taken = (length: number): number => {
    at += length
    if (at > bytes.length) throw new Error('internal error: attributes end early')
    return at - length
  }
  /**
   * Returns the argument of a CBOR item whose first byte has the low five bits `info`: a `bigint` if a number would not be exact.
   */
  const argument = (info: number): number | bigint => {
    switch (info) {
      case 24: return view.getUint8(taken(1))
      case 25: return view.getUint16(taken(2))
      case 26: return view.getUint32(taken(4))
      case 27: return exact(view.getBigUint64(taken(8)))
      default: return info
    }
  }
  const float = (info: number): Attribute => {
    switch (info) {
      case 20: case 21: return info === 21
      case 22: return null
      case 23: return undefined
      case 25: return half(view.getUint16(taken(2)))
      case 26: return view.getFloat32(taken(4))
      case 27: return view.getFloat64(taken(8))
      default: return new Simple(Number(argument(info)))
    }
  }
  /** Parses `count` items, or fewer if a break ends the list. */
  const items = (count: number): Attribute[] => {
    const all: Attribute[] = []
    while (all.length < count) {
      const item = next()
      if (item === BREAK) break
      all.push(item)
    }
    return all
  }
  // The module rejects files whose values nest deeper than 64 levels, so this recursion is bounded.
  const next = (): Attribute | typeof BREAK => {
    const head = view.getUint8(taken(1))
    const [major, info] = [head >> 5, head & 31]
    if (head === 0xff) return BREAK
    if (major === 7) return float(info)
    const number = info === 31 ? Infinity : argument(info)
    const count = Number(number)
    switch (major) {
      case 0: return number
      case 1: return exact(-1n - BigInt(number))
      case 2: {
        if (count < Infinity) return bytes.slice(taken(count), at)
        return join(items(count) as Uint8Array<ArrayBuffer>[])
      }
      case 3: return count < Infinity ? text.decode(bytes.subarray(taken(count), at)) : items(count).join('')
      case 4: return items(count)
      case 5: return map(items(2 * count))
      default: return new Tagged(number, next() as Attribute)
    }
  }
  return next() as Attributes
}

const exact = (number: bigint): number | bigint =>
  number > Number.MAX_SAFE_INTEGER || number < Number.MIN_SAFE_INTEGER ? number : Number(number)

/**
 * Returns the map with `items`, in which each key is followed by its value: an object if all keys are text, otherwise a `Map`. Of
 * duplicate keys, the last value is used.
 */
const map = (items: Attribute[]): Attributes | Map<Attribute, Attribute> => {
  const all = new Map<Attribute, Attribute>()
  for (let at = 0; at < items.length; at += 2) all.set(items[at], items[at + 1])
  if ([...all.keys()].some(key => typeof key !== 'string')) return all
  // Without a prototype, a key such as `__proto__` is a key like any other.
  const object = Object.create(null) as Attributes
  for (const [key, value] of all) object[key as string] = value
  return object
}

/** A value that can be written as an attribute. The prototype of an object must be `Object.prototype` or null. */
export type AttributeInput =
  | null | undefined | boolean | number | bigint | string | Uint8Array | readonly AttributeInput[]
  | { readonly [key: string]: AttributeInput } | ReadonlyMap<AttributeInput, AttributeInput> | Tagged | Simple

/** The largest number of levels to which values may nest. Readers of zTensor files reject values that nest deeper. */
const DEPTH = 64

/**
 * Encodes `value` as CBOR. A `bigint` and a safe integer become an integer of CBOR, any other number, and -0, a float of 64 bits.
 *
 * @throws {ZtenError} if text has a lone surrogate, a `bigint` needs more than 64 bits, or values nest deeper than 64 levels.
 * @throws {TypeError} if a value is of a type that attributes do not have, such as a function.
 */
export const encoded = (value: AttributeInput): Uint8Array<ArrayBuffer> => {
  const pieces: Uint8Array<ArrayBuffer>[] = []
  const head = (major: number, number: number | bigint): void => {
    const big = BigInt(number)
    const [info, width] = big < 24n ? [Number(big), 0] : big < 256n ? [24, 1] : big < 65536n ? [25, 2] : big < 1n << 32n ? [26, 4] : [27, 8]
    const bytes = new Uint8Array(1 + width)
    bytes[0] = major << 5 | info
    for (let [at, rest] = [width, big]; at > 0; at--, rest >>= 8n) bytes[at] = Number(rest & 255n)
    pieces.push(bytes)
  }
  const float = (number: number): void => {
    const view = new DataView(new ArrayBuffer(9))
    view.setUint8(0, 0xfb)
    view.setFloat64(1, number)
    pieces.push(new Uint8Array(view.buffer))
  }
  const string = (value: string): void => {
    const bytes = utf8(value)
    head(3, bytes.length)
    pieces.push(bytes)
  }
  const next = (value: AttributeInput, depth: number): void => {
    if (depth > DEPTH) throw failure(`attributes nest deeper than ${DEPTH} levels`)
    if (value === null) head(7, 22)
    else if (value === undefined) head(7, 23)
    else if (typeof value === 'boolean') head(7, value ? 21 : 20)
    else if (typeof value === 'number' && (!Number.isSafeInteger(value) || Object.is(value, -0))) float(value)
    else if (typeof value === 'bigint' && (value >= 1n << 64n || value < -(1n << 64n))) throw failure(`the integer ${value} needs more than 64 bits`)
    else if (typeof value === 'number' || typeof value === 'bigint') value < 0 ? head(1, -1n - BigInt(value)) : head(0, value)
    else if (typeof value === 'string') string(value)
    else if (value instanceof Uint8Array) {
      head(2, value.length)
      pieces.push(value.slice())
    } else if (value instanceof Tagged) {
      head(6, value.tag)
      next(value.value, depth + 1)
    } else if (value instanceof Simple) head(7, value.code)
    else if (Array.isArray(value)) {
      head(4, value.length)
      for (const item of value as AttributeInput[]) next(item, depth + 1)
    } else if (value instanceof Map) {
      head(5, value.size)
      for (const [key, item] of value as Map<AttributeInput, AttributeInput>) {
        next(key, depth + 1)
        next(item, depth + 1)
      }
    } else if (typeof value === 'object' && (Object.getPrototypeOf(value) === null || Object.getPrototypeOf(Object.getPrototypeOf(value)) === null)) {
      const entries = Object.entries(value as { [key: string]: AttributeInput })
      head(5, entries.length)
      for (const [key, item] of entries) {
        string(key)
        next(item, depth + 1)
      }
    } else throw new TypeError(`an attribute has a value of the unsupported type ${typeof value === 'object' ? Object.prototype.toString.call(value).slice(8, -1) : typeof value}`)
  }
  next(value, 0)
  return join(pieces)
}

/** Encodes `value` as UTF-8. Throws if it has a lone surrogate, in whose place `TextEncoder` would write another character. */
export const utf8 = (value: string): Uint8Array<ArrayBuffer> => {
  const bytes = new TextEncoder().encode(value)
  if (new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes) !== value) throw failure(`the text ${JSON.stringify(value)} has a lone surrogate`)
  return bytes
}
