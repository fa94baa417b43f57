/** An instance of the wasm module with its file and sibling files, whose bytes may arrive asynchronously. */
import { Instance, type Host } from './instance.ts'
import { ZtenError, failure, parse, problem, type Report } from './errors.ts'
import { START, compiled, moduleFor } from './module.ts'
import type { Files } from './reader.ts'
import type { Reader } from './sources.ts'

/** The number of bytes of a large component that are read and passed to the module at a time. */
export const WINDOW = 4 << 20
/**
 * The number of bytes that `replay` reads from the first missing byte on before it repeats a call. It doubles with each further
 * repetition of the call.
 */
const AHEAD = 64 << 10

/** Bytes of a file that have been read ahead into memory: those of file number `file` from the offset `start` on. */
interface Held {
  file: number
  start: number
  bytes: Uint8Array
}

/** The result of a call of the module: the report of an error, or the JSON document that it has answered with, if any. */
export type Answer = { report: Report } | { said: unknown }

/** What is passed to a call of the module besides its numbers: the input, and functions that the call uses. */
export interface With {
  input?: Uint8Array
  take?: (piece: Uint8Array<ArrayBuffer>) => void
  /** Called before the call is made or repeated. It drops the data that `take` has received from an incomplete call. */
  restart?: () => void
  /** Called before a read after which `length` bytes are held in memory in total. It throws if that exceeds the caller's limit. */
  bound?: (length: number) => void
}

export class Guest implements Host {
  private readonly instance: Instance
  /**
   * The bytes of files that have been read ahead. Calls of the module can read only these bytes, unless all files are read
   * synchronously.
   */
  private held: Held[] = []
  /**
   * The number of the file and the offset of the byte that the last call needed and that was not read ahead; `undefined` if none
   * was missing.
   */
  private missed: { file: number; at: number } | undefined
  /**
   * The file itself, number 0, and its sibling files in the order of their numbers; `undefined` for a sibling file that does not
   * exist.
   */
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

  /** The source of the file that was opened, without its sibling files. */
  get reader(): Reader {
    return this.files.reader
  }

  /**
   * Opens the file in the module for its format, or in `full.wasm` if `isFull` is true. `full.wasm` also opens the sibling files.
   * Resolves to the report if the file is rejected, otherwise to `undefined`.
   */
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

  /**
   * Looks for the sibling files that the module asks for. Resolves to their lengths in bytes; `undefined` for a file that does
   * not exist.
   */
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

  /**
   * Returns the number of the file that holds a component: that of its shard, or 0. Returns `undefined` if that file was not
   * found.
   */
  fileOf(shard: string | null): number | undefined {
    const number = shard === null ? 0 : this.numbers.get(shard)
    return number !== undefined && this.readers[number] ? number : undefined
  }

  /** Returns the numbers of the sibling files that were found. */
  found(): number[] {
    return [...this.readers.keys()].filter(file => file > 0 && this.readers[file])
  }

  /**
   * Returns the source of the file with the number `file`: 0 is the file itself, and 1 the first sibling file. Throws if it does
   * not exist.
   */
  number(file: number): Reader {
    const reader = this.readers[file]
    if (!reader) throw failure(`file number ${file} is not open`)
    return reader
  }

  /** Calls the export `name` of the module, and returns the bytes of its answer. */
  bytes(name: string, args: number[]): Uint8Array<ArrayBuffer> {
    return this.instance.call(name, args)
  }

  /** True if all files can be read synchronously, so that no bytes have to be read ahead. */
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

  /**
   * Reads the bytes of a file from `start` to before `end` ahead, unless it can be read synchronously, and drops the bytes that
   * were read ahead before.
   */
  async hold(file: number, start: number, end: number): Promise<void> {
    this.held = []
    await this.holdMore(file, start, end)
  }

  /**
   * Reads the bytes of a file from `start` to before `end` ahead, unless it can be read synchronously, and keeps the bytes that
   * were read ahead before.
   */
  async holdMore(file: number, start: number, end: number): Promise<void> {
    const reader = this.number(file)
    if (start < end && !reader.readSync) this.held.push({ file, start, bytes: await reader.read(start, end) })
  }

  /** Drops all bytes that were read ahead. */
  drop(): void {
    this.held = []
  }

  /**
   * Calls the export `name` of the module. Throws if the call fails to read a file, or needs bytes of a file that is read
   * asynchronously and that were not read ahead.
   */
  call(name: string, args: (number | bigint)[], { input, take }: With = {}): Answer {
    this.failed = this.missed = undefined
    this.take = take ?? (() => {})
    const answer = this.instance.call(name, args, input)
    if (this.failed) throw this.failed
    const missed = this.missing()
    if (missed) throw failure(`byte ${missed.at} of the file was not read ahead`)
    const report = problem(answer)
    if (report) return { report }
    return { said: answer.length === 0 ? undefined : parse(answer) }
  }

  /** Returns the file and the offset of the byte that the last call missed; `undefined` if it missed none. */
  private missing(): { file: number; at: number } | undefined {
    return this.missed
  }

  /**
   * Drops the bytes that were read ahead before, and calls the export `name` of the module. As long as a byte is missing, reads it
   * and bytes after it ahead, and repeats the call.
   */
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

  /**
   * Calls the export `name` of the module, and returns the JSON document that it answers with. Throws a `ZtenError` if the call
   * fails.
   */
  ask<T>(name: string, args: (number | bigint)[], by?: With): T {
    const answer = this.call(name, args, by)
    if ('report' in answer) throw new ZtenError(answer.report)
    return answer.said as T
  }
}
