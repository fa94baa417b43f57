/** The answers of the guest, as JSON; texts of the file come escaped. */
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
  /** The name of the format in JSON, where that is known. */
  format: string | null
  /** Another file that the file names, and that is at fault or not there. */
  shard: string | null
}

export interface Summary {
  verdict: 'manifest-valid'
  /** The name of the format, for people. */
  format: string
  /** The generation of zTensor; none in other formats. */
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
  /** The names of the first values that are left out, and the number of all names. */
  left_out: [string[], number]
}

/** A note on a valid file. */
export interface Note {
  rule: string | null
  sentence: string
  object: string | null
  shard: string | null
  offset: number | null
  /** The number of other places with the same note. */
  more: number
  advice: string | null
}

/** The report on a valid file, all of which has been read. */
export interface ValidFile {
  verdict: 'valid'
  notes: Note[]
}

/** The report on a valid component. */
export interface ValidComponent {
  verdict: 'valid'
  digest: 'verified' | 'none' | 'unverifiable'
}

/** A component, as `docs/json.md` has it. */
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
  /** Another file that holds it. */
  shard: string | null
}

/** A tensor, as `docs/json.md` has it. */
export interface Listed {
  name: string
  layout: string
  layout_known: boolean
  /** `unread` if the bytes are not handed out, by the rule `reason`. */
  state: 'readable' | 'opaque' | 'unread'
  reason: string | null
  /** A dimension that a number does not hold is a text. */
  shape: (number | string)[]
  /** Of a quantized tensor: the bits of a code, and the number of elements that share a scale. */
  bits: number | string | null
  group_size: number | string | null
  components: Component[]
}

/** A tensor, its attributes in diagnostic notation, and why it is not read, with the advice. */
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
  /** In the digits of the type. */
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

/** Elements of a part of an array, in row-major order. */
export interface Values {
  values: string[]
}

/** Entries of a sparse tensor. */
export interface Entries {
  total: number
  coordinates: (number | string)[][]
  values: string[]
}

/** A file with the files beside it, or the address of one. */
export type Subject = Model | { url: string }

/** A sibling file that a file names. */
export interface Sibling {
  name: string
  /** The name for display. */
  shown: string
  /** Where it was found, from the folder of the file on; empty if it was not. */
  path: string
  /** Its size; null if it was not found. */
  size: number | null
}

/** Facts about a file once it can be read. */
export interface Known {
  size: number
  /** The version that the server gives: it stays the same as long as the page shows it. */
  version?: Version
}

/** The first message to the worker. */
export interface Start {
  wasm: ArrayBuffer
  subject: Subject
  /** The name to show. */
  name: string
  /** The facts of the time when the file was opened before. */
  before: Known | undefined
}

/** A question to the worker: an export of the guest and its arguments, after a selection if one comes with it, or bytes of the file. */
export type Request = { id: number } & ({ call: string; args: number[]; selection?: Bytes } | { start: number; end: number; sibling: string | null })

export type Reply =
  | { known: Known }
  | { siblings: Sibling[] }
  | { id: number; progress: number }
  | { id: number; read: number; answer: ArrayBuffer; data: Blob | null }
  | { id: number; failed: string }

/** A document of the guest. An integer that a number does not hold exactly is a text in a list, and else rounded. */
export const parse = (bytes: ArrayBuffer | Uint8Array): unknown =>
  JSON.parse(new TextDecoder().decode(bytes), function (this: unknown, _, value: unknown) {
    if (typeof value !== 'object' || value === null || !('$int' in value)) return value
    return Array.isArray(this) ? value.$int : Number(value.$int)
  })

export const isProblem = (said: object): said is Problem =>
  'verdict' in said && said.verdict !== 'valid' && said.verdict !== 'manifest-valid'
