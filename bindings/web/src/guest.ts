/** An instance of the wasm module, with the file that it serves. */
import type { Host, Instance } from '../../js/src/instance.ts'
import type { Bytes } from './protocol.ts'
import { Window, type Opened } from './window.ts'

/** Data is handed to the browser, which may put it on disk, in pieces of this many bytes. */
const PIECE = 32 << 20

/** An instance, and how it is asked what makes it read. */
export interface Border {
  instance: Instance
  ask(name: string, args: number[]): Bytes | Promise<Bytes>
}

export class Guest implements Host {
  private readonly border: Border
  private file: Window | undefined
  private pieces: BlobPart[] = []
  private held = 0
  private failed: unknown

  constructor(wasm: ArrayBuffer, border: (guest: Guest) => Border) {
    this.border = border(this)
    const { instance } = this.border
    instance.attach(new WebAssembly.Instance(new WebAssembly.Module(wasm), instance.imports))
  }

  /** Bytes of the file that have been read so far. */
  get read(): number {
    return this.file?.read ?? 0
  }

  /** Escapes a name. */
  name(name: string): Bytes {
    return this.border.instance.call('name', [], new TextEncoder().encode(name))
  }

  /** Opens the file of that name. Returns its description, or the error. */
  async open(file: Opened, name: string, onRead: () => void): Promise<Bytes> {
    const window = new Window(file, onRead)
    this.file = window
    const { instance } = this.border
    let answer = instance.begin(window.size, name)
    for (let needs = instance.needs(); needs; needs = instance.needs()) {
      answer = instance.supply(await window.later(needs.start, needs.end))
    }
    return answer.length > 0 ? answer : instance.call('file', [])
  }

  /** Calls an export that answers about the open file, or the part of it that is selected first. */
  async call(name: string, args: number[], selection?: Bytes): Promise<{ answer: Bytes; data: Blob | null }> {
    this.pieces = []
    this.held = 0
    this.failed = undefined
    if (selection) this.border.instance.call('select', [], selection)
    const answer = await this.border.ask(name, args)
    const data = this.pieces.length > 0 ? new Blob(this.pieces) : null
    this.pieces = []
    if (this.failed) throw this.failed
    return { answer, data }
  }

  /** Bytes of the file. */
  async bytes(start: number, end: number): Promise<Bytes> {
    return (await this.window.later(start, end)).slice()
  }

  readAt(offset: number, buffer: Uint8Array): boolean {
    try {
      buffer.set(this.window.now(offset, offset + buffer.length))
      return true
    } catch {
      // The file was changed or removed since it was opened.
      return false
    }
  }

  /** The same, of a file that may have to be waited for. Why it could not be read is thrown by the call. */
  readLater(offset: number, buffer: () => Uint8Array, length: number): boolean | Promise<boolean> {
    const fill = (bytes: Uint8Array) => {
      buffer().set(bytes)
      return true
    }
    const held = this.window.held(offset, offset + length)
    if (held) return fill(held)
    return this.window.later(offset, offset + length).then(fill).catch((error: unknown) => {
      this.failed = error
      return false
    })
  }

  data(piece: Bytes): void {
    this.pieces.push(piece)
    this.held += piece.length
    if (this.held >= PIECE) {
      this.pieces = [new Blob(this.pieces)]
      this.held = 0
    }
  }

  private get window(): Window {
    if (!this.file) throw new Error('no file is open')
    return this.file
  }
}
