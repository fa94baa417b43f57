/** An instance with the file that it serves, whose bytes may have to be waited for. */
import { Instance, type Host } from './instance.ts'
import { ZtenError, failure, parse, problem, type Report } from './errors.ts'
import { START, compiled, moduleFor } from './module.ts'
import type { Reader } from './sources.ts'

/** Bytes of the file that are read at a time. */
export const WINDOW = 4 << 20
/** Bytes that are read beyond what was missed, the first time: twice as many each time after. */
const AHEAD = 64 << 10

interface Held {
  start: number
  bytes: Uint8Array
}

/** The result of a call. */
export type Answer = { report: Report } | { said: unknown }

/** The inputs and outputs of a call besides its arguments and its answer. */
export interface With {
  input?: Uint8Array
  take?: (piece: Uint8Array<ArrayBuffer>) => void
  /** Forgets what `take` was given: the call is made again. */
  restart?: () => void
  /** Throws if `length` bytes of the file are more than may be held. */
  bound?: (length: number) => void
}

export class Guest implements Host {
  private readonly instance: Instance
  /** Bytes of the file that are there for the next calls. */
  private held: Held[] = []
  private missed: number | undefined
  private failed: unknown
  /** True if its module opens all formats and dequantizes. */
  isFull = false
  private take: (piece: Uint8Array<ArrayBuffer>) => void = () => {}

  constructor(readonly reader: Reader) {
    this.instance = new Instance(this)
  }

  /** Opens the file, of that name: what is wrong with it, if anything is. */
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

  /** Asks for bytes. */
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

  /** Reads part of the file ahead, in the place of what has been. */
  async hold(start: number, end: number): Promise<void> {
    this.held = []
    await this.holdMore(start, end)
  }

  /** The same, beside what has been. */
  async holdMore(start: number, end: number): Promise<void> {
    if (start < end) this.held.push({ start, bytes: await this.reader.read(start, end) })
  }

  /** Lets go of what was read ahead. */
  drop(): void {
    this.held = []
  }

  /** Calls an export that reads nothing that is not held. */
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

  /** Calls it again and again until what it reads is held. */
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

  /** Asks for a document; what is wrong is thrown. */
  ask<T>(name: string, args: (number | bigint)[], by?: With): T {
    const answer = this.call(name, args, by)
    if ('report' in answer) throw new ZtenError(answer.report)
    return answer.said as T
  }
}
