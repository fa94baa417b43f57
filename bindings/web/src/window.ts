/** A file of which some bytes are held in memory: those that were read last, and those that were read ahead. */
import type { Reader } from '../../js/src/sources.ts'

/** The number of bytes to read at a time after several reads have followed one another. */
const AHEAD = 1 << 20
const STREAK = 2

/** A file that can be read. */
export interface Opened {
  /** The path at which the file was found, relative to the folder of the first file. */
  path: string
  reader: Reader
  /** The first bytes of the file, as far as they have been read already. */
  head: Uint8Array
  /** The smallest number of bytes to read at a time. */
  least: number
}

export class Window {
  private start = 0
  private bytes: Uint8Array
  private streak = 0
  /** The number of bytes of the file that have been read so far. */
  read: number

  constructor(private readonly file: Opened, private readonly onRead: () => void) {
    this.bytes = file.head
    this.read = file.head.length
  }

  get size(): number {
    return this.file.reader.size
  }

  /** Returns the bytes if they are held in memory. */
  held(start: number, end: number): Uint8Array | undefined {
    const from = start - this.start
    return from >= 0 && end - this.start <= this.bytes.length ? this.bytes.subarray(from, from + end - start) : undefined
  }

  /** Returns the bytes, which are read synchronously if they are not held. */
  now(start: number, end: number): Uint8Array {
    const { readSync } = this.file.reader
    if (!readSync) throw new Error('the file has to be waited for')
    const held = this.held(start, end)
    if (held) return held
    const [from, to] = this.around(start, end)
    return this.hold(from, readSync(from, to), start, end)
  }

  /** Returns the bytes, which are read asynchronously if they are not held. */
  async later(start: number, end: number): Promise<Uint8Array> {
    const held = this.held(start, end)
    if (held) return held
    const [from, to] = this.around(start, end)
    return this.hold(from, await this.file.reader.read(from, to), start, end)
  }

  /** Returns the range to read for bytes that are not held. */
  private around(start: number, end: number): [number, number] {
    const { size, file: { least } } = this
    this.streak = start > this.start && start <= this.start + this.bytes.length ? this.streak + 1 : 0
    const length = Math.max(end - start, least, this.streak > STREAK ? AHEAD : 0)
    // A read at the end of the file begins earlier instead of being short.
    const from = end === size ? Math.max(0, Math.min(start, end - least)) : start
    return [from, Math.max(end, Math.min(start + length, size))]
  }

  private hold(from: number, bytes: Uint8Array, start: number, end: number): Uint8Array {
    this.start = from
    this.bytes = bytes
    this.read += bytes.length
    this.onRead()
    return bytes.subarray(start - from, end - from)
  }
}
