/** A file of which the bytes that were read last, and bytes after them that were read ahead, are held in memory. */
import type { Reader } from '../../js/src/sources.ts'

/** The number of bytes to read at a time after several reads of successive bytes. */
const AHEAD = 1 << 20
const STREAK = 2

/** A file that has been opened, and how to read it. */
export interface Opened {
  /** The path at which the file was found, relative to the folder of the file that the user has opened. */
  path: string
  reader: Reader
  /** The bytes at the beginning of the file that were read when it was opened; empty if none were. */
  head: Uint8Array
  /** The smallest number of bytes that are read at a time. */
  least: number
}

export class Window {
  private start = 0
  private bytes: Uint8Array
  private streak = 0
  /** The number of bytes that have been read from the file so far. Bytes that are read twice count twice. */
  read: number

  constructor(private readonly file: Opened, private readonly onRead: () => void) {
    this.bytes = file.head
    this.read = file.head.length
  }

  get size(): number {
    return this.file.reader.size
  }

  /** Returns the bytes from `start` to before `end` if they are held in memory, otherwise `undefined`. */
  held(start: number, end: number): Uint8Array | undefined {
    const from = start - this.start
    return from >= 0 && end - this.start <= this.bytes.length ? this.bytes.subarray(from, from + end - start) : undefined
  }

  /** Returns the bytes from `start` to before `end`. If they are not held in memory, reads them synchronously. */
  now(start: number, end: number): Uint8Array {
    const { readSync } = this.file.reader
    if (!readSync) throw new Error('the file can only be read asynchronously')
    const held = this.held(start, end)
    if (held) return held
    const [from, to] = this.around(start, end)
    return this.hold(from, readSync(from, to), start, end)
  }

  /** Resolves to the bytes from `start` to before `end`. If they are not held in memory, reads them asynchronously. */
  async later(start: number, end: number): Promise<Uint8Array> {
    const held = this.held(start, end)
    if (held) return held
    const [from, to] = this.around(start, end)
    return this.hold(from, await this.file.reader.read(from, to), start, end)
  }

  /**
   * Returns the range to read if the bytes from `start` to before `end` are needed and not held: at least these, and bytes read
   * ahead.
   */
  private around(start: number, end: number): [number, number] {
    const { size, file: { least } } = this
    this.streak = start > this.start && start <= this.start + this.bytes.length ? this.streak + 1 : 0
    const length = Math.max(end - start, least, this.streak > STREAK ? AHEAD : 0)
    // At the end of the file, a read of fewer than `least` bytes begins earlier, so that the bytes before are held too.
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
