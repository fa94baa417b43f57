/**
 * The messages between the page and its worker, and the JSON documents with which the wasm module answers. In these, control and
 * invisible characters of texts from the file are escaped.
 */
import type { Model } from '../../js/src/models.ts'
import type { Version } from '../../js/src/url.ts'

export interface Problem {
  verdict: 'invalid' | 'unsupported' | 'limit' | 'error'
  sentence: string
  rule: string | null
  clause: string | null
  holds: string | null
  source: 'spec' | 'implied' | 'policy' | null
  why: string | null
  advice: string | null
  offset: number | null
  ordinal: number | null
  part: number | null
  manifest_start: number | null
  manifest_end: number | null
  generation: string | null
  object_shown: string | null
  component_shown: string | null
  length: number | null
  /** The name of the format, as `zten check --json` has it; null if the format is unknown. */
  format: string | null
  /** The name of the sibling file in which the problem is, or which is missing; null if the problem is in the file itself. */
  shard: string | null
}

export interface Summary {
  verdict: 'manifest-valid'
  /** The name of the format for display, such as `PyTorch`. */
  format: string
  /** The generation of a zTensor file; null for other formats. */
  generation: string | null
  version: string | null
  totals: {
    objects: number
    components: number
    stored: number
    parameters: number | null
    dtypes: { dtype: string | null; components: number; stored: number }[]
  }
  manifest_start: number
  manifest_end: number
  attributes: [string, string][]
  notes: Note[]
  /** The names of the first values of a checkpoint that zten leaves out, and the number of all values that it leaves out. */
  left_out: [string[], number]
}

/** A note on a valid file. */
export interface Note {
  rule: string | null
  sentence: string
  object: string | null
  shard: string | null
  offset: number | null
  /** The number of other places in the file that have the same note. */
  more: number
  advice: string | null
}

/** The report on a valid file whose whole content was read. */
export interface ValidFile {
  verdict: 'valid'
  notes: Note[]
}

/** The report on a valid component. */
export interface ValidComponent {
  verdict: 'valid'
  digest: 'verified' | 'none' | 'unverifiable'
}

/** A component, as `docs/json.md` describes it. */
export interface Component {
  role: string
  dtype: string
  storage: string | null
  dtype_known: boolean
  offset: number
  length: number
  decoded_length: number | null
  encoding: string
  encoding_known: boolean
  byte_order: 'little' | 'big'
  digest: { algorithm: string; text: string; verifiable: boolean } | null
  /** The name of the sibling file that holds the component; null if the component is in the file itself. */
  shard: string | null
}

/** A tensor, as `docs/json.md` describes it. */
export interface Listed {
  name: string
  layout: string
  layout_known: boolean
  /**
   * `unread` if zten does not hand out the bytes: `reason` is the id of the rule that says why. `opaque` if zten does not
   * interpret the bytes.
   */
  state: 'readable' | 'opaque' | 'unread'
  reason: string | null
  /** The dimensions, outermost first. A dimension that a number cannot represent is a text. */
  shape: (number | string)[]
  /** The number of bits of a code of a quantized tensor; null for other tensors. */
  bits: number | string | null
  /** The number of elements of a quantized tensor that share a scale, as text if it is too large for a number; otherwise null. */
  group_size: number | string | null
  /**
   * The name of the quantized form of a tensor that is stored as several tensors, such as `MXFP4 [32]`. Only objects of the list
   * have it.
   */
  form?: string | null
  components: Component[]
}

/** A tensor, its attributes in diagnostic notation, and for an unread tensor the reason and the advice. */
export type Detailed = [Listed, [string, string][], [string, string] | null]

export interface Statistics {
  statistics: {
    count: number
    zeros: number
    nan: number
    infinities: number
    mean: number | null
    /** The standard deviation of all finite elements. */
    deviation: number | null
  }
  /** The smallest element, in as many digits as tell it from other elements of its type; null without elements. */
  min: string | null
  max: string | null
  magnitude: boolean
  histogram: { width: number; start: number; counts: number[] } | null
}

export interface Picture {
  rows: number
  columns: number
  height: number
  width: number
  counted: boolean
}

export type Bytes = Uint8Array<ArrayBuffer>

/** The elements of a part of an array, in row-major order. */
export interface Values {
  values: string[]
}

/** The selected entries of a sparse tensor, and the number of all its entries. */
export interface Entries {
  total: number
  coordinates: (number | string)[][]
  values: string[]
}

/** What a worker opens: a file of this machine with the files to which it may refer, or the address of a file. */
export type Subject = Model | { url: string }

/** A sibling file, to which the opened file refers. */
export interface Sibling {
  name: string
  /** The name with escaped control and invisible characters, for display. */
  shown: string
  /** The path at which the sibling file was found, relative to the folder of the opened file; empty if it was not found. */
  path: string
  /** The size of the sibling file in bytes; null if it was not found. */
  size: number | null
}

/** What is known about a file as soon as it can be read. */
export interface Known {
  size: number
  /** The version that the server reports. It must stay the same while the page shows the file. */
  version?: Version
}

/** The first message to a worker: the wasm module, and what to open with it. */
export interface Start {
  wasm: ArrayBuffer
  subject: Subject
  /** The name of the file for display, before its hidden characters are escaped. */
  name: string
  /** What was known about the file when an earlier worker had it open; `undefined` for the first worker. */
  before: Known | undefined
}

/**
 * A request to the worker: to call an export of the module with these arguments, after selecting a part of a tensor if there is a
 * `selection`; or to read bytes of the file, or of its sibling file called `sibling`.
 */
export type Request = { id: number } & ({ call: string; args: number[]; selection?: Bytes } | { start: number; end: number; sibling: string | null })

export type Reply =
  | { known: Known }
  | { siblings: Sibling[] }
  | { id: number; progress: number }
  | { id: number; read: number; answer: ArrayBuffer; data: Blob | null }
  | { id: number; failed: string }

/**
 * Parses a JSON document of the module. An integer that a number cannot represent becomes a text if it is in a list, and is
 * rounded elsewhere.
 */
export const parse = (bytes: ArrayBuffer | Uint8Array): unknown =>
  JSON.parse(new TextDecoder().decode(bytes), function (this: unknown, _, value: unknown) {
    if (typeof value !== 'object' || value === null || !('$int' in value)) return value
    return Array.isArray(this) ? value.$int : Number(value.$int)
  })

export const isProblem = (said: object): said is Problem =>
  'verdict' in said && said.verdict !== 'valid' && said.verdict !== 'manifest-valid'
