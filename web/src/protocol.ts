/** What the guest says, as JSON; texts of the file come escaped. */
import type { Version } from '../../bindings/js/src/url.ts'

export interface Problem {
  verdict: 'refused' | 'unsupported' | 'limit' | 'error'
  sentence: string
  rule?: string
  clause?: string
  holds?: string
  source?: 'spec' | 'implied' | 'policy'
  why?: string
  advice?: string
  offset?: number | null
  ordinal?: number | null
  part?: number | null
  manifestStart?: number | null
  manifestEnd?: number | null
  generation?: string | null
  objectShown?: string | null
  componentShown?: string | null
  length?: number | null
}

export interface Summary {
  verdict: 'manifest-valid'
  generation: string
  version: string | null
  objects: number
  components: number
  stored: number
  manifestStart: number
  manifestEnd: number
  attributes: [string, string][]
}

export interface Validated {
  verdict: 'valid'
  digest: 'verified' | 'none' | 'unverifiable'
}

export interface Component {
  role: string
  type: string
  storage: string | null
  typeKnown: boolean
  offset: number
  length: number
  decoded: number | null
  encoding: string
  encodingKnown: boolean
  digest: string | null
  verifiable: boolean
}

export interface Listed {
  name: string
  format: string
  known: boolean
  shape: string[]
  components: Component[]
}

export interface Detailed extends Listed {
  attributes: [string, string][]
  components: (Component & { digestText: string | null; order: 'little' | 'big' })[]
}

export interface Statistics {
  elements: number
  zeros: number
  nans: number
  infinities: number
  min: string | null
  max: string | null
  mean: number | null
  /** The standard deviation of all finite elements. */
  deviation: number | null
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

/** A file, or the address of one. */
export type Subject = File | { url: string }

/** What is known of a file once it can be read. */
export interface Known {
  size: number
  /** What the server says of it: that stays the same as long as the page shows it. */
  version?: Version
}

/** What the worker begins with. */
export interface Start {
  wasm: ArrayBuffer
  subject: Subject
  name: string
  /** What was known when the file was opened before. */
  before: Known | undefined
}

/** What the worker is asked for: an export of the guest and its arguments, or bytes of the file. */
export type Request = { id: number } & ({ call: string; args: number[] } | { start: number; end: number })

export type Reply =
  | { known: Known }
  | { id: number; progress: number }
  | { id: number; read: number; answer: ArrayBuffer; data: Blob | null }
  | { id: number; failed: string }

export const isProblem = (said: object): said is Problem =>
  'verdict' in said && said.verdict !== 'valid' && said.verdict !== 'manifest-valid'
