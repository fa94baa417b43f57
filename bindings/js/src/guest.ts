/** An instance and its file, whose bytes may arrive asynchronously. */
import { Instance, type Host } from './instance.ts'
import { ZtenError, failure, parse, problem, type Report } from './errors.ts'
import { START, compiled, moduleFor } from './module.ts'
import type { Reader } from './sources.ts'

/** The number of bytes of the file that are read at a time. */
export const WINDOW = 4 << 20
/** The number of bytes that are read beyond the missing ones the first time; the number doubles each time. */
const AHEAD = 64 << 10

interface Held {
  start: number
  bytes: Uint8Array
}

/** The result of a call: the report of an error, or the answer. */
export type Answer = { report: Report } | { said: unknown }

/** The inputs and outputs of a call besides its arguments and its answer. */
export interface With {
  input?: Uint8Array
  take?: (piece: Uint8Array<ArrayBuffer>) => void
  /** Drops the data that `take` received, because the call is repeated. */
  restart?: () => void
  /** Throws if holding `length` bytes of the file exceeds the limit of memory. */
  bound?: (length: number) => void
}

export class Guest implements Host {
  private readonly instance: Instance
  /** The bytes of the file in memory, which the next calls can read. */
  private held: Held[] = []
  private missed: number | undefined
  private failed: unknown
  /** True if the module is `full.wasm`, which opens all formats and dequantizes. */
  isFull = false
  private take: (piece: Uint8Array<ArrayBuffer>) => void = () => {}

  constructor(readonly reader: Reader) {
    this.instance = new Instance(this)
  }

  /** Opens the file, whose name is `name`. Returns the report if the file is rejected. */
  async open(name: string, isFull = false): Promise<Report | undefined> {
    const { size } = this.reader
    const start = await this.reader.read(0, Math.min(START, size))
    const module = isFull ? 'full' : moduleFor(start)
    this.isFull = module === 'full'
    this.instance.attach(await WebAssembly.instantiate(await compiled(module), this.instance.imports))
    let answer = this.instance.begin(size, name)
    for (let needs = this.instance.needs(); needs; needs = this.instance.needs()) {
      const bytes = needs.end <= start.length ? start.subarray(needs.start, needs.end) : await this.reader.read(needs.start, needs.end)
      answer = this.instance.supply(bytes)
      if (answer.length > 0) break
    }
    return problem(answer)
  }

  /** Calls the export `name`, and returns the data that it hands out. */
  bytes(name: string, args: number[]): Uint8Array<ArrayBuffer> {
    return this.instance.call(name, args)
  }

  get isSync(): boolean {
    return this.reader.readSync !== undefined
  }

  readAt(offset: number, buffer: Uint8Array): boolean {
    try {
      if (this.reader.readSync) {
        buffer.set(this.reader.readSync(offset, offset + buffer.length))
        return true
      }
      let at = 0
      while (at < buffer.length) {
        const position = offset + at
        const found = this.held.find(({ start, bytes }) => start <= position && position < start + bytes.length)
        if (!found) {
          this.missed = position
          return false
        }
        const from = position - found.start
        const part = found.bytes.subarray(from, from + buffer.length - at)
        buffer.set(part, at)
        at += part.length
      }
      return true
    } catch (error) {
      this.failed = error
      return false
    }
  }

  data(piece: Uint8Array<ArrayBuffer>): void {
    this.take(piece)
  }

  /** Reads the bytes from `start` to before `end` ahead, and drops the bytes that were read ahead before. */
  async hold(start: number, end: number): Promise<void> {
    this.held = []
    await this.holdMore(start, end)
  }

  /** Reads the bytes from `start` to before `end` ahead, and keeps the bytes that were read ahead before. */
  async holdMore(start: number, end: number): Promise<void> {
    if (start < end) this.held.push({ start, bytes: await this.reader.read(start, end) })
  }

  /** Drops all bytes that were read ahead. */
  drop(): void {
    this.held = []
  }

  /** Calls the export `name`, which may read only bytes in memory. */
  call(name: string, args: (number | bigint)[], { input, take }: With = {}): Answer {
    this.failed = this.missed = undefined
    this.take = take ?? (() => {})
    const answer = this.instance.call(name, args, input)
    if (this.failed) throw this.failed
    if (this.missed !== undefined) throw failure(`the byte ${this.missed} is not there`)
    const report = problem(answer)
    if (report) return { report }
    return { said: answer.length === 0 ? undefined : parse(answer) }
  }

  /** Calls the export `name`, reads the bytes that were missing, and repeats the call until none are missing. */
  async replay(name: string, args: number[], by: With): Promise<Answer> {
    this.held = []
    for (let [ahead, length] = [AHEAD, 0]; ; ahead *= 2) {
      by.restart?.()
      try {
        return this.call(name, args, by)
      } catch (error) {
        if (this.missed === undefined) throw error
      }
      const end = Math.min(this.missed + ahead, this.reader.size)
      length += end - this.missed
      by.bound?.(length)
      await this.holdMore(this.missed, end)
    }
  }

  /** Calls the export `name`, and returns its JSON document. Throws the error if the call fails. */
  ask<T>(name: string, args: (number | bigint)[], by?: With): T {
    const answer = this.call(name, args, by)
    if ('report' in answer) throw new ZtenError(answer.report)
    return answer.said as T
  }
}
