/** Converts decoded bytes to typed arrays, and elements of all dtypes to 32-bit floats. */
import { classOf } from './sources.ts'

/** The typed arrays for the elements of a component. */
export type Elements =
  | Float64Array<ArrayBuffer> | Float32Array<ArrayBuffer>
  | BigInt64Array<ArrayBuffer> | Int32Array<ArrayBuffer> | Int16Array<ArrayBuffer> | Int8Array<ArrayBuffer>
  | BigUint64Array<ArrayBuffer> | Uint32Array<ArrayBuffer> | Uint16Array<ArrayBuffer> | Uint8Array<ArrayBuffer>

type Make = (new (buffer: ArrayBuffer) => Elements) & { BYTES_PER_ELEMENT: number }

const MAKE: Record<string, Make> = {
  f64: Float64Array, f32: Float32Array, f16: Uint16Array, bf16: Uint16Array,
  i64: BigInt64Array, i32: Int32Array, i16: Int16Array, i8: Int8Array,
  u64: BigUint64Array, u32: Uint32Array, u16: Uint16Array, u8: Uint8Array, bool: Uint8Array,
}

/**
 * Returns `bytes`, which are decoded and little-endian, as a typed array for the storage type `storage`; as a `Uint8Array` if
 * `storage` is null. `f16` without a `Float16Array`, and `bf16`, become a `Uint16Array` of their bits.
 */
export const elements = (bytes: Uint8Array<ArrayBuffer>, storage: string | null): Elements => {
  const half = (globalThis as { Float16Array?: Make }).Float16Array
  const Type = storage === 'f16' && half ? half : MAKE[storage ?? 'u8'] ?? Uint8Array
  const whole = bytes.byteOffset === 0 && bytes.length === bytes.buffer.byteLength
  return new Type(whole ? bytes.buffer : bytes.slice().buffer)
}

/**
 * Returns the dtype in zTensor of the elements of `data`, a typed array, such as `f32`. Returns `undefined` for any other value.
 */
export const dtypeOf = (data: unknown): string | undefined => DTYPES[classOf(data)]

const DTYPES: Record<string, string> = {
  Float64Array: 'f64', Float32Array: 'f32', Float16Array: 'f16', BigInt64Array: 'i64', Int32Array: 'i32', Int16Array: 'i16', Int8Array: 'i8',
  BigUint64Array: 'u64', Uint32Array: 'u32', Uint16Array: 'u16', Uint8Array: 'u8', Uint8ClampedArray: 'u8',
}

/** Returns whether `name` is the name of a dtype in zTensor, and not a name that other programs use for one, such as `f8_e4m3`. */
export const isDtype = (name: string): boolean =>
  Object.hasOwn(MAKE, name) || Object.hasOwn(DECODE, name) || /^complex(64|128)$/.test(name)

/**
 * Returns whether a tensor of `dtype` can be written from `data`: from the typed array for this dtype; from an array of unsigned
 * integers, which are the bits of the elements, if JavaScript has no such numbers; from an array of real and imaginary parts in
 * turn for a complex dtype. `dtype` is a name for which `isDtype` returns true.
 */
export const accepts = (dtype: string, data: ArrayBufferView): boolean => {
  const own = dtypeOf(data)
  switch (dtype) {
    case 'f16': return own === 'f16' || own === 'u16'
    case 'bf16': return own === 'u16'
    case 'complex64': return own === 'f32'
    case 'complex128': return own === 'f64'
    default: return dtype in MAKE && dtype !== 'bool' ? own === dtype : own === 'u8'
  }
}

/**
 * Returns a function that converts the bits of a float to its value. The float has a sign bit, `exponent` bits of exponent with
 * the bias `bias`, and `mantissa` bits of mantissa. `special` returns the value of codes such as infinity and NaN, and
 * `undefined` for all other codes.
 */
const small = (exponent: number, mantissa: number, bias: number, special: (code: number) => number | undefined) =>
  (code: number): number => {
    const known = special(code)
    if (known !== undefined) return known
    const sign = code >> (exponent + mantissa) & 1 ? -1 : 1
    const power = code >> mantissa & (1 << exponent) - 1
    const rest = code & (1 << mantissa) - 1
    const scale = 2 ** ((power === 0 ? 1 : power) - bias - mantissa)
    return sign * ((power === 0 ? 0 : 1 << mantissa) + rest) * scale
  }

/**
 * Returns the argument `special` of `small` for a float format of IEEE 754 with so many bits of exponent and mantissa: a code
 * whose exponent bits are all set is infinite or NaN.
 */
const ieee = (exponent: number, mantissa: number) => (code: number): number | undefined => {
  const all = (1 << exponent) - 1
  if ((code >> mantissa & all) !== all) return undefined
  if (code & (1 << mantissa) - 1) return NaN
  return code >> (exponent + mantissa) & 1 ? -Infinity : Infinity
}

/** Returns the value of a half-precision float, given its 16 bits. */
export const half = small(5, 10, 15, ieee(5, 10))

const fnuz = (code: number) => code === 0x80 ? NaN : undefined

/**
 * For each dtype that JavaScript has no typed array for, except `bf16`, the function that converts the bits of an element to its
 * value.
 */
const DECODE: Record<string, (code: number) => number> = {
  f16: half,
  f8_e4m3fn: small(4, 3, 7, code => (code & 0x7f) === 0x7f ? NaN : undefined),
  f8_e5m2: small(5, 2, 15, ieee(5, 2)),
  f8_e4m3fnuz: small(4, 3, 8, fnuz),
  f8_e5m2fnuz: small(5, 2, 16, fnuz),
  f8_e8m0: code => code === 0xff ? NaN : 2 ** (code - 127),
  f4_e2m1: small(2, 1, 1, () => undefined),
}

/**
 * Converts `data`, elements of the dtype `type`, to 32-bit floats. 64-bit numbers are rounded, a complex number becomes two
 * floats, and `count` elements of `f4_e2m1` are unpacked, two from each byte. A NaN stays a NaN, and may lose its payload.
 */
export const toFloat32 = (data: Elements, type: string, count: number | null): Float32Array<ArrayBuffer> => {
  if (type === 'bf16') {
    const wide = new Float32Array(data.length)
    const bits = new Uint32Array(wide.buffer)
    ;(data as Uint16Array).forEach((code, at) => { bits[at] = code << 16 })
    return wide
  }
  const decode = DECODE[type]
  const isCodes = decode && (data instanceof Uint8Array || data instanceof Uint16Array)
  if (isCodes && type === 'f4_e2m1') {
    const bytes = data
    return Float32Array.from({ length: count ?? 2 * bytes.length }, (_, at) => decode(bytes[at >> 1]! >> (at % 2 ? 4 : 0) & 15))
  }
  const wide = new Float32Array(data.length)
  if (isCodes) data.forEach((code, at) => { wide[at] = decode(code) })
  else if (data instanceof BigInt64Array || data instanceof BigUint64Array) data.forEach((whole: bigint, at: number) => { wide[at] = Number(whole) })
  else wide.set(data)
  return wide
}
