/** An instance of the wasm module with its file and sibling files. */
import type { Asked, Host, Instance } from '../../js/src/instance.ts'
import type { Bytes, Sibling } from './protocol.ts'
import { Window, type Opened } from './window.ts'

/** The number of bytes in each piece of data that is handed to the browser, which may store pieces on disk. */
const PIECE = 32 << 20

/** An instance, and the function that calls its exports that read files. */
export interface Border {
  instance: Instance
  ask(name: string, args: number[]): Bytes | Promise<Bytes>
}

export class Guest implements Host {
  private readonly border: Border
  /** The file, and its sibling files in the order in which the module asked for them; `undefined` for a missing file. */
  private files: (Window | undefined)[] = []
  /** The sibling files that the module has asked for. */
  readonly siblings: Sibling[] = []
  private pieces: BlobPart[] = []
  private held = 0
  private failed: unknown

  constructor(wasm: ArrayBuffer, border: (guest: Guest) => Border) {
    this.border = border(this)
    const { instance } = this.border
    instance.attach(new WebAssembly.Instance(new WebAssembly.Module(wasm), instance.imports))
  }

  /** The number of bytes of all files that have been read so far. */
  get read(): number {
    return this.files.reduce((sum, file) => sum + (file?.read ?? 0), 0)
  }

  /** Returns the name with its hidden characters escaped. */
  name(name: string): Bytes {
    return this.border.instance.call('name', [], new TextEncoder().encode(name))
  }

  /** Opens the file called `name`, and the sibling files that `find` finds. Returns its description, or the error. */
  async open(file: Opened, name: string, find: (asked: Asked) => Promise<Opened | undefined>, onRead: () => void): Promise<Bytes> {
    this.files = [new Window(file, onRead)]
    const { instance } = this.border
    let answer = instance.begin(file.reader.size, name)
    // Quantized tensors that are stored as several tensors are shown as one tensor each.
    instance.call('conventions', [])
    for (let needs = instance.needs(); needs && answer.length === 0; needs = instance.needs()) {
      if (needs === 'bind') answer = await this.border.ask('bind', [])
      else if (needs === 'siblings') answer = instance.supplySiblings(await this.sought(instance.siblings(), find, onRead))
      else answer = instance.supply(await this.window(needs.file).later(needs.start, needs.end))
    }
    return answer.length > 0 ? answer : instance.call('file', [])
  }

  /** Looks for the sibling files that the module asks for, and returns their lengths. */
  private async sought(
    all: Asked[], find: (asked: Asked) => Promise<Opened | undefined>, onRead: () => void,
  ): Promise<(number | undefined)[]> {
    const lengths: (number | undefined)[] = []
    for (const asked of all) {
      const found = await find(asked)
      this.files.push(found && new Window(found, onRead))
      this.siblings.push({ name: asked.name, shown: asked.shown, path: found?.path ?? '', size: found?.reader.size ?? null })
      lengths.push(found?.reader.size)
    }
    return lengths
  }

  /** Calls an export about the open file, after selecting a part of a tensor if `selection` is given. */
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

  /** Reads bytes of the file, or of the sibling file called `sibling`. */
  async bytes(start: number, end: number, sibling: string | null): Promise<Bytes> {
    // No file has the number -1, so a name that is not found is an error.
    const number = sibling === null ? 0 : this.siblings.findIndex(({ name }) => name === sibling) + 1 || -1
    return (await this.window(number).later(start, end)).slice()
  }

  readAt(file: number, offset: number, buffer: Uint8Array): boolean {
    try {
      buffer.set(this.window(file).now(offset, offset + buffer.length))
      return true
    } catch {
      // The file was changed or removed since it was opened.
      return false
    }
  }

  /** Fills the buffer with bytes that may arrive later. If the file cannot be read, the call of the module throws the reason. */
  readLater(file: number, offset: number, buffer: () => Uint8Array, length: number): boolean | Promise<boolean> {
    const fill = (bytes: Uint8Array) => {
      buffer().set(bytes)
      return true
    }
    const window = this.window(file)
    const held = window.held(offset, offset + length)
    if (held) return fill(held)
    return window.later(offset, offset + length).then(fill).catch((error: unknown) => {
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

  private window(file: number): Window {
    const window = this.files[file]
    if (!window) throw new Error('no such file is open')
    return window
  }
}
