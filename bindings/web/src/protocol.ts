/** The answers of the guest, which are JSON. Texts of the file are escaped in them. */
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
  /** The name of the format in JSON; null if it is unknown. */
  format: string | null
  /** The sibling file in which the problem is, or which is missing. */
  shard: string | null
}

export interface Summary {
  verdict: 'manifest-valid'
  /** The name of the format for people. */
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
  /** The sibling file that holds the component. */
  shard: string | null
}

/** A tensor, as `docs/json.md` describes it. */
export interface Listed {
  name: string
  layout: string
  layout_known: boolean
  /** `unread` if the bytes are not handed out, by the rule `reason`. */
  state: 'readable' | 'opaque' | 'unread'
  reason: string | null
  /** A dimension that a number cannot represent is a text. */
  shape: (number | string)[]
  /** For a quantized tensor: the number of bits of a code, and the number of elements that share a scale. */
  bits: number | string | null
  group_size: number | string | null
  /** The name of the quantized form of a tensor that is stored as several tensors, such as `MXFP4 [32]`. Only objects of the list have it. */
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
  /** The minimum, in as many digits as its type needs. */
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

/** The selected entries of a sparse tensor. */
export interface Entries {
  total: number
  coordinates: (number | string)[][]
  values: string[]
}

/** A file with the files in its folder, or the address of a file. */
export type Subject = Model | { url: string }

/** A sibling file that a file names. */
export interface Sibling {
  name: string
  /** The name for display. */
  shown: string
  /** The path at which the file was found, relative to the folder of the first file; empty if it was not found. */
  path: string
  /** The size of the file; null if it was not found. */
  size: number | null
}

/** The facts about a file that are known once it can be read. */
export interface Known {
  size: number
  /** The version that the server reports. It must stay the same while the page shows the file. */
  version?: Version
}

/** The first message to the worker. */
export interface Start {
  wasm: ArrayBuffer
  subject: Subject
  /** The name to show. */
  name: string
  /** The facts from an earlier time that the file was open. */
  before: Known | undefined
}

/**
 * A request to the worker: a call of an export of the guest with its arguments, after an optional selection; or bytes of the file.
 */
export type Request = { id: number } & ({ call: string; args: number[]; selection?: Bytes } | { start: number; end: number; sibling: string | null })

export type Reply =
  | { known: Known }
  | { siblings: Sibling[] }
  | { id: number; progress: number }
  | { id: number; read: number; answer: ArrayBuffer; data: Blob | null }
  | { id: number; failed: string }

/** Parses a document of the guest. An integer that a number cannot represent becomes a text in a list, and is rounded elsewhere. */
export const parse = (bytes: ArrayBuffer | Uint8Array): unknown =>
  JSON.parse(new TextDecoder().decode(bytes), function (this: unknown, _, value: unknown) {
    if (typeof value !== 'object' || value === null || !('$int' in value)) return value
    return Array.isArray(this) ? value.$int : Number(value.$int)
  })

export const isProblem = (said: object): said is Problem =>
  'verdict' in said && said.verdict !== 'valid' && said.verdict !== 'manifest-valid'
