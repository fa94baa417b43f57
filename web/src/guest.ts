/** An instance of the wasm module, which serves one file. */

interface Exports {
  memory: WebAssembly.Memory
  input(length: number): number
  begin(length: bigint): number
  needs(): number
  needs_start(): bigint
  needs_end(): bigint
  supply(): number
  name(): number
  [call: string]: unknown
}

/** Bytes that are read at a time once reads have gone on from one to the next so often. */
const AHEAD = 1 << 20
const STREAK = 2
/** Data is handed to the browser, which may put it on disk, in pieces of this many bytes. */
const PIECE = 32 << 20

export class Guest {
  private readonly exports: Exports
  private readonly reader = new FileReaderSync()
  private window: { start: number; bytes: Uint8Array } = { start: 0, bytes: new Uint8Array() }
  private streak = 0
  private answer: Uint8Array<ArrayBuffer>[] = []
  private data: BlobPart[] = []
  private held = 0
  /** Bytes of the file that have been read so far. */
  read = 0

  constructor(wasm: ArrayBuffer, private readonly file: Blob, private readonly onRead: () => void) {
    const module = new WebAssembly.Module(wasm)
    const instance = new WebAssembly.Instance(module, {
      host: {
        read_at: (offset: bigint, buffer: number, length: number) =>
          this.readAt(Number(offset), buffer >>> 0, length >>> 0),
        take: (channel: number, bytes: number, length: number) =>
          this.take(channel, bytes >>> 0, length >>> 0),
      },
    })
    this.exports = instance.exports as unknown as Exports
  }

  /** Opens the file: what there is to say about it. */
  open(): Uint8Array<ArrayBuffer> {
    this.answer = []
    this.exports.begin(BigInt(this.file.size))
    while (this.exports.needs() === 1) {
      const start = Number(this.exports.needs_start())
      this.put(this.fetch(start, Number(this.exports.needs_end()) - start))
      this.exports.supply()
    }
    return this.answered()
  }

  /** Escapes a name. */
  name(name: string): Uint8Array<ArrayBuffer> {
    this.answer = []
    this.put(new TextEncoder().encode(name))
    this.exports.name()
    return this.answered()
  }

  /** Calls an export that answers about the open file. */
  call(name: string, args: number[]): { answer: Uint8Array<ArrayBuffer>; data: Blob | null } {
    this.answer = []
    this.data = []
    this.held = 0
    const called = this.exports[name]
    if (typeof called !== 'function' || called(...args) !== 1) throw new Error(`no answer: ${name}`)
    const data = this.data.length > 0 ? new Blob(this.data) : null
    this.data = []
    return { answer: this.answered(), data }
  }

  private answered(): Uint8Array<ArrayBuffer> {
    const length = this.answer.reduce((sum, piece) => sum + piece.length, 0)
    const whole = new Uint8Array(length)
    let at = 0
    for (const piece of this.answer) {
      whole.set(piece, at)
      at += piece.length
    }
    this.answer = []
    return whole
  }

  private put(bytes: Uint8Array): void {
    const buffer = this.exports.input(bytes.length) >>> 0
    if (buffer === 0) throw new Error('there is no memory for it')
    new Uint8Array(this.exports.memory.buffer, buffer, bytes.length).set(bytes)
  }

  private fetch(offset: number, length: number): Uint8Array {
    const bytes = this.reader.readAsArrayBuffer(this.file.slice(offset, offset + length))
    this.read += bytes.byteLength
    this.onRead()
    return new Uint8Array(bytes)
  }

  private readAt(offset: number, buffer: number, length: number): number {
    try {
      let { start, bytes } = this.window
      const end = start + bytes.length
      if (offset < start || offset + length > end) {
        this.streak = offset > start && offset <= end ? this.streak + 1 : 0
        bytes = this.fetch(offset, this.streak > STREAK ? Math.max(length, AHEAD) : length)
        this.window = { start: offset, bytes }
        start = offset
      }
      const found = bytes.subarray(offset - start, offset - start + length)
      if (found.length !== length) return 0
      new Uint8Array(this.exports.memory.buffer, buffer, length).set(found)
      return 1
    } catch {
      // The file was changed or removed since it was opened.
      return 0
    }
  }

  private take(channel: number, bytes: number, length: number): void {
    const piece = new Uint8Array(this.exports.memory.buffer, bytes, length).slice()
    if (channel === 0) {
      this.answer.push(piece)
      return
    }
    this.data.push(piece)
    this.held += length
    if (this.held >= PIECE) {
      this.data = [new Blob(this.data)]
      this.held = 0
    }
  }
}
