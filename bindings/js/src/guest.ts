/** An instance of the wasm module with its file and sibling files, whose bytes may arrive asynchronously. */
import { Instance, type Host } from './instance.ts'
import { ZtenError, failure, parse, problem, type Report } from './errors.ts'
import { START, compiled, moduleFor } from './module.ts'
import type { Files } from './reader.ts'
import type { Reader } from './sources.ts'

/** The number of bytes of the file that are read at a time. */
export const WINDOW = 4 << 20
/** The number of bytes that are read beyond the missing ones the first time; the number doubles each time. */
const AHEAD = 64 << 10

/** Bytes of the file with this number. */
interface Held {
  file: number
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
  /** The first byte that was missing, and the number of its file. */
  private missed: { file: number; at: number } | undefined
  /** The file, and its sibling files in the order of their numbers; `undefined` for a missing one. */
  private readonly readers: (Reader | undefined)[]
  /** The numbers of the sibling files by their names. */
  private readonly numbers = new Map<string, number>()
  private failed: unknown
  /** True if the module is `full.wasm`, which opens all formats and dequantizes. */
  isFull = false
  private take: (piece: Uint8Array<ArrayBuffer>) => void = () => {}

  constructor(readonly files: Files, private readonly tolerate: readonly string[], private readonly conventions: boolean) {
    this.readers = [files.reader]
    this.instance = new Instance(this)
  }

  /** The file itself. */
  get reader(): Reader {
    return this.files.reader
  }

  /** Opens the file, and its sibling files if the module knows such. Returns the report if the file is rejected. */
  async open(isFull = false): Promise<Report | undefined> {
    const { reader, name } = this.files
    const { size } = reader
    const start = await reader.read(0, Math.min(START, size))
    const module = isFull ? 'full' : moduleFor(start)
    this.isFull = module === 'full'
    this.instance.attach(await WebAssembly.instantiate(await compiled(module), this.instance.imports))
    for (const name of this.tolerate) this.instance.call('tolerate', [], new TextEncoder().encode(name))
    let answer = this.instance.begin(size, name)
    if (this.isFull && this.conventions) this.instance.call('conventions', [])
    for (let needs = this.instance.needs(); needs && answer.length === 0; needs = this.instance.needs()) {
      if (needs === 'bind') {
        const bound = await this.replay('bind', [])
        this.drop()
        if ('report' in bound) return bound.report
      } else if (needs === 'siblings') answer = this.instance.supplySiblings(await this.find())
      else {
        const own = needs.file === 0 && needs.end <= start.length
        answer = this.instance.supply(own ? start.subarray(needs.start, needs.end) : await this.number(needs.file).read(needs.start, needs.end))
      }
    }
    return problem(answer)
  }

  /** Looks for the sibling files that the module asks for, and returns their lengths. */
  private async find(): Promise<(number | undefined)[]> {
    const lengths = []
    for (const asked of this.instance.siblings()) {
      const found = await this.files.find(asked)
      this.numbers.set(asked.name, this.readers.length)
      this.readers.push(found)
      lengths.push(found?.size)
    }
    return lengths
  }

  /** Returns the number of the file that holds a component: that of its shard, or 0. Returns `undefined` if that file was not found. */
  fileOf(shard: string | null): number | undefined {
    const number = shard === null ? 0 : this.numbers.get(shard)
    return number !== undefined && this.readers[number] ? number : undefined
  }

  /** Returns the numbers of the sibling files that were found. */
  found(): number[] {
    return [...this.readers.keys()].filter(file => file > 0 && this.readers[file])
  }

  /** Returns the file with this number. */
  number(file: number): Reader {
    const reader = this.readers[file]
    if (!reader) throw failure('there is no such file')
    return reader
  }

  /** Calls the export `name`, and returns the data that it hands out. */
  bytes(name: string, args: number[]): Uint8Array<ArrayBuffer> {
    return this.instance.call(name, args)
  }

  /** True if all bytes can be read without waiting. */
  get isSync(): boolean {
    return this.readers.every(reader => !reader || reader.readSync)
  }

  readAt(file: number, offset: number, buffer: Uint8Array): boolean {
    try {
      const reader = this.number(file)
      if (reader.readSync) {
        buffer.set(reader.readSync(offset, offset + buffer.length))
        return true
      }
      let at = 0
      while (at < buffer.length) {
        const position = offset + at
        const found = this.held.find(held => held.file === file && held.start <= position && position < held.start + held.bytes.length)
        if (!found) {
          this.missed = { file, at: position }
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

  /** Reads the bytes of a file from `start` to before `end` ahead, and drops the bytes that were read ahead before. */
  async hold(file: number, start: number, end: number): Promise<void> {
    this.held = []
    await this.holdMore(file, start, end)
  }

  /** Reads the bytes of a file from `start` to before `end` ahead, and keeps the bytes that were read ahead before. */
  async holdMore(file: number, start: number, end: number): Promise<void> {
    const reader = this.number(file)
    if (start < end && !reader.readSync) this.held.push({ file, start, bytes: await reader.read(start, end) })
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
    const missed = this.missing()
    if (missed) throw failure(`the byte ${missed.at} is not there`)
    const report = problem(answer)
    if (report) return { report }
    return { said: answer.length === 0 ? undefined : parse(answer) }
  }

  /** Returns the first byte that the last call missed. */
  private missing(): { file: number; at: number } | undefined {
    return this.missed
  }

  /** Calls the export `name`. If bytes were missing, reads them and repeats the call until no bytes are missing. */
  async replay(name: string, args: number[], by: With = {}): Promise<Answer> {
    this.held = []
    for (let [ahead, length] = [AHEAD, 0]; ; ahead *= 2) {
      by.restart?.()
      try {
        return this.call(name, args, by)
      } catch (error) {
        if (this.missed === undefined) throw error
      }
      const { file, at } = this.missed
      const end = Math.min(at + ahead, this.number(file).size)
      length += end - at
      by.bound?.(length)
      await this.holdMore(file, at, end)
    }
  }

  /** Calls the export `name`, and returns its JSON document. Throws the error if the call fails. */
  ask<T>(name: string, args: (number | bigint)[], by?: With): T {
    const answer = this.call(name, args, by)
    if ('report' in answer) throw new ZtenError(answer.report)
    return answer.said as T
  }
}
