/** An instance of the wasm module, with the file that it serves. */
import { Instance, type Host } from '../../bindings/js/src/instance.ts'

/** Bytes that are read at a time once reads have gone on from one to the next so often. */
const AHEAD = 1 << 20
const STREAK = 2
/** Data is handed to the browser, which may put it on disk, in pieces of this many bytes. */
const PIECE = 32 << 20

export class Guest implements Host {
  private readonly instance = new Instance(this)
  private readonly reader = new FileReaderSync()
  private window: { start: number; bytes: Uint8Array } = { start: 0, bytes: new Uint8Array() }
  private streak = 0
  private pieces: BlobPart[] = []
  private held = 0
  /** Bytes of the file that have been read so far. */
  read = 0

  constructor(wasm: ArrayBuffer, private readonly file: Blob, private readonly onRead: () => void) {
    const module = new WebAssembly.Module(wasm)
    this.instance.attach(new WebAssembly.Instance(module, this.instance.imports))
  }

  /** Opens the file: what there is to say about it. */
  open(): Uint8Array<ArrayBuffer> {
    let answer = this.instance.begin(this.file.size)
    for (let needs = this.instance.needs(); needs; needs = this.instance.needs()) {
      answer = this.instance.supply(this.fetch(needs.start, needs.end - needs.start))
    }
    return answer.length > 0 ? answer : this.instance.call('file', [])
  }

  /** Escapes a name. */
  name(name: string): Uint8Array<ArrayBuffer> {
    return this.instance.call('name', [], new TextEncoder().encode(name))
  }

  /** Calls an export that answers about the open file. */
  call(name: string, args: number[]): { answer: Uint8Array<ArrayBuffer>; data: Blob | null } {
    this.pieces = []
    this.held = 0
    const answer = this.instance.call(name, args)
    const data = this.pieces.length > 0 ? new Blob(this.pieces) : null
    this.pieces = []
    return { answer, data }
  }

  private fetch(offset: number, length: number): Uint8Array {
    const bytes = this.reader.readAsArrayBuffer(this.file.slice(offset, offset + length))
    this.read += bytes.byteLength
    this.onRead()
    return new Uint8Array(bytes)
  }

  readAt(offset: number, buffer: Uint8Array): boolean {
    const { length } = buffer
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
      if (found.length !== length) return false
      buffer.set(found)
      return true
    } catch {
      // The file was changed or removed since it was opened.
      return false
    }
  }

  data(piece: Uint8Array<ArrayBuffer>): void {
    this.pieces.push(piece)
    this.held += piece.length
    if (this.held >= PIECE) {
      this.pieces = [new Blob(this.pieces)]
      this.held = 0
    }
  }
}
