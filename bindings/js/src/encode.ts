/** The function `encode`, which writes a zTensor, safetensors, .npz or .npy file in memory. */
import { encoded, type AttributeInput } from './attributes.ts'
import { accepts, dtypeOf, isDtype } from './elements.ts'
import { ZtenError, failure, problem, trouble, wrapped } from './errors.ts'
import { Instance } from './instance.ts'
import { compiled } from './module.ts'
import { classOf } from './sources.ts'

/** A tensor to write. A tensor that `get`, `slice` or `dequantize` returned can be passed as it is. */
export interface TensorInput {
  /**
   * The elements in row-major order, in the typed array for the dtype. JavaScript has no typed array for some dtypes, such as
   * `bf16`: their bits are passed in an array of unsigned integers. A complex number takes two elements, its real part and its
   * imaginary part.
   */
  readonly data: ArrayBufferView
  /**
   * The dtype, such as `bf16`, `f8_e4m3fn` or `complex64`, or a name that other programs use, such as `BF16`, `bfloat16` or
   * `fp32`. If it is missing, the class of `data` decides.
   */
  readonly dtype?: string
  /** The dimensions, outermost first. If they are missing, the tensor has one dimension with all elements. */
  readonly shape?: readonly (number | bigint)[]
}

export interface EncodeOptions {
  /** The format of the file. Without this option, the suffix of the name selects the format. */
  format?: 'zt' | 'safetensors' | 'npz' | 'npy'
  /**
   * The attributes of the file. In a safetensors file they are the metadata, whose values are text; other values become JSON
   * text.
   */
  attributes?: { readonly [key: string]: AttributeInput }
  /** The generation of a zTensor file; `1.2` by default. */
  generation?: '1.2' | '2'
  /** The level, from 1 to 5, at which the tensors of a zTensor file are compressed. Without it, they are not compressed. */
  zstd?: number
}

/** The number that the module's function `write_next` returns if no tensor is left to write. */
const END = 2 ** 32 - 1

/**
 * Writes `tensors` as a file in memory, and resolves to its bytes. The keys of `tensors` are the names of the tensors. The option
 * `format` selects the format. Without it, the suffix of `name` does: `.zt`, `.safetensors`, `.npz`, or `.npy` for a single
 * tensor.
 *
 * @throws {ZtenError} if no format is selected, the format cannot hold a tensor, an attribute or an option, a dtype is unknown, or
 * a tensor has more or fewer elements than its shape.
 * @throws {TypeError} if an argument has a wrong type.
 */
export const encode = async (
  name: string, tensors: { readonly [name: string]: TensorInput | ArrayBufferView }, options: EncodeOptions = {},
): Promise<Uint8Array<ArrayBuffer>> => {
  const given = declared(name, await renamed(tensors), options)
  const described = request(name, given, options)
  try {
    const file = new NewFile()
    const instance = new Instance(file)
    instance.attach(await WebAssembly.instantiate(await compiled('write'), instance.imports))
    const call = (export_: string, input?: Uint8Array): void => {
      const report = problem(instance.call(export_, [], input))
      if (report) throw new ZtenError(report)
    }
    call('write_begin', described)
    for (let at = instance.count('write_next'); at !== END; at = instance.count('write_next')) call('write_tensor', given[at]!.bytes)
    call('write_end')
    return file.bytes()
  } catch (error) {
    throw wrapped(error)
  }
}

/**
 * Returns `tensors` with the names that zTensor has for their dtypes: `bf16` for `BF16` and `bfloat16`. The module `write.wasm`
 * knows the names that other programs use. A name that it does not know stays as it is.
 */
const renamed = async (tensors: unknown): Promise<unknown> => {
  if (classOf(tensors) !== 'Object') return tensors
  const entries = Object.entries(tensors as Record<string, Partial<TensorInput> | undefined>)
  const unknown = new Map<string, string>()
  for (const [, tensor] of entries) {
    const dtype = ArrayBuffer.isView(tensor) ? undefined : tensor?.dtype
    if (typeof dtype === 'string' && !isDtype(dtype)) unknown.set(dtype, dtype)
  }
  if (unknown.size === 0) return tensors
  try {
    const instance = new Instance(new NewFile())
    instance.attach(await WebAssembly.instantiate(await compiled('write'), instance.imports))
    for (const name of unknown.keys()) {
      const own = new TextDecoder().decode(instance.call('write_dtype', [], new TextEncoder().encode(name)))
      if (own !== '') unknown.set(name, own)
    }
  } catch (error) {
    throw wrapped(error)
  }
  const own = (tensor: Partial<TensorInput> | undefined) => {
    const dtype = ArrayBuffer.isView(tensor) || tensor?.dtype === undefined ? undefined : unknown.get(tensor.dtype)
    return dtype === undefined ? tensor : { data: tensor?.data, shape: tensor?.shape, dtype }
  }
  return Object.fromEntries(entries.map(([name, tensor]) => [name, own(tensor)]))
}

/** A tensor to write, after its arguments have been checked: its name, its dtype, its dimensions, and the bytes of its elements. */
interface Declared {
  name: string
  dtype: string
  shape: (number | bigint)[]
  bytes: Uint8Array
}

/** Throws a `TypeError` unless `value` is a plain object, whose keys are names. The message calls the value `what`. */
const requireRecord = (what: string, value: unknown): void => {
  // `Object.entries` would lose the entries of a `Map`, and take the indices of a list for names.
  if (classOf(value) !== 'Object') throw new TypeError(`${what} are of the type ${classOf(value)}, expected an object`)
}

const declared = (name: unknown, tensors: unknown, options: EncodeOptions): Declared[] => {
  if (typeof name !== 'string') throw new TypeError(`the name of the file is of the type ${typeof name}, expected a string`)
  requireRecord('the tensors', tensors)
  for (const [option, type] of [['format', 'string'], ['generation', 'string'], ['zstd', 'number']] as const) {
    const value = options[option]
    if (value !== undefined && typeof value !== type) throw new TypeError(`the option ${option} is of the type ${typeof value}, expected a ${type}`)
  }
  if (options.attributes !== undefined) requireRecord('the attributes', options.attributes)
  return Object.entries(tensors as Record<string, unknown>).map(([name, tensor]) => {
    const about = `the tensor ${JSON.stringify(name)}`
    const { data, dtype = dtypeOf(data), shape } = (ArrayBuffer.isView(tensor) ? { data: tensor } : tensor ?? {}) as Partial<TensorInput>
    if (!ArrayBuffer.isView(data)) throw new TypeError(`${about} has no typed array as its data`)
    if (typeof dtype !== 'string') throw new TypeError(`${about} has a ${classOf(data)} as its data, whose elements have no dtype: name one`)
    if (!isDtype(dtype)) {
      const message = `unknown dtype ${JSON.stringify(dtype)}, expected a name such as "bf16", "float32" or "F8_E4M3"`
      throw new ZtenError({ ...trouble(message), object: name })
    }
    if (!accepts(dtype, data)) throw new TypeError(`${about} has a ${classOf(data)} as its data, which holds no elements of the dtype ${dtype}`)
    const isDimension = (side: unknown) => typeof side === 'bigint' ? side >= 0n : Number.isSafeInteger(side) && (side as number) >= 0
    if (shape && !(Array.isArray(shape) && shape.every(isDimension))) throw new TypeError(`${about} has a shape that is not a list of dimensions`)
    const { length = 0 } = data as { length?: number }
    if (/^complex/.test(dtype) && length % 2) throw new TypeError(`${about} has ${length} parts of complex numbers, which are pairs`)
    const elements = /^complex/.test(dtype) ? length / 2 : dtype === 'f4_e2m1' ? 2 * length : length
    return { name, dtype, shape: [...shape ?? [elements]], bytes: new Uint8Array(data.buffer, data.byteOffset, data.byteLength) }
  })
}

/** Encodes the description of the file and its `tensors` as the CBOR map that the module's function `write_begin` takes. */
const request = (name: string, tensors: Declared[], { format, generation, zstd, attributes }: EncodeOptions): Uint8Array => {
  const described = tensors.map(({ name, dtype, shape, bytes }) => [name, dtype, shape, bytes.length])
  const all = { name, format: format ?? null, generation: generation ?? null, zstd: zstd ?? null, tensors: described }
  return encoded(attributes ? { ...all, attributes: encoded(attributes) } : all)
}

/** Collects the pieces of a new file that the module hands out. */
class NewFile {
  #pieces: { start: number; bytes: Uint8Array<ArrayBuffer> }[] = []
  #at = 0
  #length = 0

  readAt(): boolean {
    return false
  }

  data(piece: Uint8Array<ArrayBuffer>): void {
    if (this.#at === this.#length) this.#pieces.push({ start: this.#at, bytes: piece })
    else this.#patch(piece)
    this.#at += piece.length
    this.#length = Math.max(this.#length, this.#at)
  }

  position(at: number): void {
    this.#at = at
  }

  bytes(): Uint8Array<ArrayBuffer> {
    const all = new Uint8Array(this.#length)
    for (const { start, bytes } of this.#pieces) all.set(bytes, start)
    return all
  }

  /**
   * Replaces bytes of the file from the current position on by `piece`, which must not reach over the end of the file. The module
   * goes back to write the checksum into the header of a member of an archive, because the checksum is known only after the member.
   */
  #patch(piece: Uint8Array<ArrayBuffer>): void {
    const end = this.#at + piece.length
    if (end > this.#length) throw failure(`bytes are written from ${this.#at} to ${end}, over the end of the file at ${this.#length}`)
    // The search goes backwards, because the bytes to replace were usually written recently.
    for (let index = this.#pieces.length - 1; index >= 0; index--) {
      const { start, bytes } = this.#pieces[index]!
      if (start + bytes.length <= this.#at) break
      const [from, to] = [Math.max(start, this.#at), Math.min(start + bytes.length, end)]
      if (from < to) bytes.set(piece.subarray(from - this.#at, to - this.#at), from - start)
    }
  }
}
