/** A note on a valid file: a known loader may fail to read the file, or zten did not check a part of it. */
export interface Note {
  /** The id of the rule that the note is about; null if the note is about none. */
  rule: string | null
  /** The clause of the specification that the rule is from, such as `v1.2 §4`. */
  clause: string | null
  /** The offset in the file of the byte that the note is about; null if it is about no single byte. */
  offset: number | bigint | null
  object: string | null
  component: string | null
  shard: string | null
  /** The number of other places in the file to which the note applies too. */
  more: number
  message: string
  advice: string | null
  /** The address of the page about the rule. */
  page: string | null
}

/** The report on a file: the document of `zten check --json`. */
export interface Report {
  /** The version of the document. */
  schema: number
  /** The name of the file, which this package does not know. */
  file: string | null
  verdict: 'valid' | 'manifest-valid' | 'invalid' | 'unsupported' | 'limit' | 'error'
  /** `error`, or `warning` if the file may be valid for another reader; null for a valid file. */
  level: 'error' | 'warning' | null
  /**
   * `ztensor`, `safetensors`, `safetensors-index`, `gguf`, `npy`, `npz`, `torch`, `torch-index`, or the name of a format that zten
   * recognizes and does not read; null if the format is unknown.
   */
  format: string | null
  /**
   * The id of the broken rule, the exceeded limit or the unsupported feature; null for a valid file, and if no rule describes the
   * error.
   */
  rule: string | null
  /** The clause of the specification that the rule is from, such as `v1.2 §4`. */
  clause: string | null
  /** The offset in the file of the byte that the error is about; null if it is about no single byte. */
  offset: number | bigint | null
  object: string | null
  component: string | null
  shard: string | null
  /** The number of invalid objects in addition to the one that the report is about; null if the other objects were not checked. */
  more: number | null
  /** The error as a sentence, or a summary of a valid file. */
  message: string
  /** What the owner of the file can do. */
  advice: string | null
  /** The address of the page about the rule. */
  page: string | null
  /** The notes on the file. A valid file can have notes. */
  notes: Note[]
}

/** The error for a file, or an object of a file, that is not valid, cannot be read or cannot be written. */
export class ZtenError extends Error implements Omit<Report, 'schema' | 'file'> {
  override readonly name = 'ZtenError'
  /**
   * `invalid`: the file breaks a rule; `unsupported`: zten or the call does not support the content; `limit`: the file exceeds a
   * limit; `error`: the call failed for another reason, which says nothing about the file.
   */
  readonly verdict: Report['verdict']
  readonly level: Report['level']
  readonly format: string | null
  readonly rule: string | null
  readonly clause: string | null
  readonly offset: number | bigint | null
  readonly object: string | null
  readonly component: string | null
  readonly shard: string | null
  readonly more: number | null
  readonly advice: string | null
  readonly page: string | null
  readonly notes: Note[]

  constructor(report: Report, options?: ErrorOptions) {
    super(report.message, options)
    this.verdict = report.verdict
    this.level = report.level
    this.format = report.format
    this.rule = report.rule
    this.clause = report.clause
    this.offset = report.offset
    this.object = report.object
    this.component = report.component
    this.shard = report.shard
    this.more = report.more
    this.advice = report.advice
    this.page = report.page
    this.notes = report.notes
  }
}

/** Returns the report with the fields of an error, or of a document that the module has written about a rejected file. */
export const report = (
  { verdict, level, format, rule, clause, offset, object, component, shard, more, message, advice, page, notes }: Omit<Report, 'schema' | 'file'>,
): Report =>
  ({ schema: 2, file: null, verdict, level, format, rule, clause, offset, object, component, shard, more, message, advice, page, notes })

/** Returns a report with the verdict `error` and this message, for an error that no rule describes, such as a failed request. */
export const trouble = (message: string): Report => ({
  schema: 2, file: null, verdict: 'error', level: 'error', format: null, rule: null, clause: null, offset: null,
  object: null, component: null, shard: null, more: null, message, advice: null, page: null, notes: [],
})

/**
 * Returns the message of a thrown value, with the message of its cause if it has one. A value that is no `Error` is converted to
 * text.
 */
export const reason = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message
}

/**
 * Converts `error`, any thrown value, to a `ZtenError` with the fields of `place`, such as the object that was read: a
 * `RangeError`, which means that memory cannot hold something, a trap of the wasm module, or an exception of a source. A
 * `ZtenError` is returned unchanged.
 */
export const wrapped = (error: unknown, place: Partial<Report> = {}): ZtenError => {
  if (error instanceof ZtenError) return error
  const about: Partial<Report> = error instanceof RangeError
    ? { verdict: 'limit', rule: 'limit-memory', clause: 'policy', message: `the content does not fit into memory: ${reason(error)}` }
    : error instanceof WebAssembly.RuntimeError ? { message: `the wasm module stopped: ${reason(error)} (out of memory, or a defect)` } : {}
  return new ZtenError({ ...trouble(reason(error)), ...place, ...about }, { cause: error })
}

/**
 * Creates an error with the verdict `error` and this message, for a failure that no rule describes. `cause` is the exception
 * behind it.
 */
export const failure = (message: string, cause?: unknown): ZtenError =>
  new ZtenError(trouble(message), cause === undefined ? undefined : { cause })

/** Parses a JSON document that the module has written. Integers that a number cannot represent become `bigint`. */
export const parse = (bytes: Uint8Array): unknown =>
  JSON.parse(new TextDecoder().decode(bytes), (_, value: unknown) =>
    typeof value === 'object' && value !== null && '$int' in value ? BigInt(value.$int as string) : value)

/**
 * Returns the report if `answer`, which the module has written, is a report that rejects the file. Returns `undefined` for any
 * other answer.
 */
export const problem = (answer: Uint8Array): Report | undefined => {
  if (answer.length === 0) return undefined
  const said = parse(answer) as Partial<Report> | null
  if (!said || said.verdict === undefined || said.verdict === 'valid') return undefined
  return report(said as Report)
}
