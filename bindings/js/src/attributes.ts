/** Attributes, which come as CBOR that has been validated. */
import { half } from './elements.ts'
import { join } from './instance.ts'

/** A value of an attribute. Integers from 2^53 on are `bigint`, bytes a `Uint8Array`, and what only CBOR has a class of its own. */
export type Attribute =
  | null | undefined | boolean | number | bigint | string | Uint8Array<ArrayBuffer> | Attribute[]
  | Attributes | Map<Attribute, Attribute> | Tagged | Simple

/** Attributes by their keys, as an object without a prototype. */
export interface Attributes {
  [key: string]: Attribute
}

/** A value with a tag of CBOR. */
export class Tagged {
  constructor(readonly tag: number | bigint, readonly value: Attribute) {}
}

/** A simple value of CBOR that JavaScript has not. */
export class Simple {
  constructor(readonly code: number) {}
}

const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
/** The mark that ends a list of unknown length. */
const BREAK = Symbol('break')

/** Parses a CBOR map of attributes. Returns null if `bytes` is empty. */
export const attributes = (bytes: Uint8Array<ArrayBuffer>): Attributes | null => {
  if (bytes.length === 0) return null
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let at = 0
  const taken = (length: number): number => {
    at += length
    if (at > bytes.length) throw new Error('internal error: attributes end early')
    return at - length
  }
  /** The number that follows a head: a `bigint` where a number is not exact. */
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
  /** Parses `count` items, or the items before a break. */
  const items = (count: number): Attribute[] => {
    const all: Attribute[] = []
    while (all.length < count) {
      const item = next()
      if (item === BREAK) break
      all.push(item)
    }
    return all
  }
  // A reader lets values nest no deeper than 64 levels.
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

/** Creates a map of alternating keys and values; an object if all keys are text. The last of duplicate keys wins. */
const map = (items: Attribute[]): Attributes | Map<Attribute, Attribute> => {
  const all = new Map<Attribute, Attribute>()
  for (let at = 0; at < items.length; at += 2) all.set(items[at], items[at + 1])
  if ([...all.keys()].some(key => typeof key !== 'string')) return all
  // Without a prototype, a key such as `__proto__` is one like others.
  const object = Object.create(null) as Attributes
  for (const [key, value] of all) object[key as string] = value
  return object
}
