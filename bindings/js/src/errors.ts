/** A note on a valid file: a known loader may fail to read the file, or zten did not check a part of it. */
export interface Note {
  /** The id of the rule. */
  rule: string | null
  /** The source of the rule. */
  clause: string | null
  /** The offset of the byte that the note is about. */
  offset: number | bigint | null
  object: string | null
  component: string | null
  shard: string | null
  /** The number of further places to which the note applies. */
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
  /** The id of the rule, the limit or the feature. */
  rule: string | null
  /** The source of the rule. */
  clause: string | null
  /** The byte that the finding is about. */
  offset: number | bigint | null
  object: string | null
  component: string | null
  shard: string | null
  /** The number of other objects that are not valid; null if they were not checked. */
  more: number | null
  /** The finding in a sentence, or a summary of a valid file. */
  message: string
  /** What the owner of the file can do. */
  advice: string | null
  /** The address of the page about the rule. */
  page: string | null
  /** The notes on the file. A valid file can have notes. */
  notes: Note[]
}

/** A file, or a part of it, that is not valid or cannot be read. */
export class ZtenError extends Error implements Omit<Report, 'schema' | 'file'> {
  override readonly name = 'ZtenError'
  /**
   * `invalid`: the file breaks a rule; `unsupported`; `limit`: the file exceeds a limit; `error`: nothing is known about the file.
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

/** Makes the full report from an error, or from the answer of a guest. */
export const report = (
  { verdict, level, format, rule, clause, offset, object, component, shard, more, message, advice, page, notes }: Omit<Report, 'schema' | 'file'>,
): Report =>
  ({ schema: 2, file: null, verdict, level, format, rule, clause, offset, object, component, shard, more, message, advice, page, notes })

/** Makes the report of an error that breaks no rule, such as a failed request. */
export const trouble = (message: string): Report => ({
  schema: 2, file: null, verdict: 'error', level: 'error', format: null, rule: null, clause: null, offset: null,
  object: null, component: null, shard: null, more: null, message, advice: null, page: null, notes: [],
})

/** Returns the message of an error, or of any other thrown value. */
export const reason = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message
}

/**
 * Converts any thrown value to a `ZtenError` that says where it happened: a number or an allocation that JavaScript cannot
 * represent, a trap of the module, or an exception of a source.
 */
export const wrapped = (error: unknown, place: Partial<Report> = {}): ZtenError => {
  if (error instanceof ZtenError) return error
  const about: Partial<Report> = error instanceof RangeError
    ? { verdict: 'limit', rule: 'limit-memory', clause: 'policy', message: `it cannot be held: ${reason(error)}` }
    : error instanceof WebAssembly.RuntimeError ? { message: `the module ended: ${reason(error)} (out of memory, or a defect)` } : {}
  return new ZtenError({ ...trouble(reason(error)), ...place, ...about }, { cause: error })
}

/** Makes an error that no rule describes. */
export const failure = (message: string, cause?: unknown): ZtenError =>
  new ZtenError(trouble(message), cause === undefined ? undefined : { cause })

/** Parses a document of the guest. Integers that a number cannot represent become `bigint`. */
export const parse = (bytes: Uint8Array): unknown =>
  JSON.parse(new TextDecoder().decode(bytes), (_, value: unknown) =>
    typeof value === 'object' && value !== null && '$int' in value ? BigInt(value.$int as string) : value)

/** Returns the error that the module reports, or `undefined` if its answer is empty or another document. */
export const problem = (answer: Uint8Array): Report | undefined => {
  if (answer.length === 0) return undefined
  const said = parse(answer) as Partial<Report> | null
  if (!said || said.verdict === undefined || said.verdict === 'valid') return undefined
  return report(said as Report)
}
