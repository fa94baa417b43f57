/** An instance of the wasm module, with the file that it has open and its sibling files. */
import type { Asked, Host, Instance } from '../../js/src/instance.ts'
import type { Bytes, Sibling } from './protocol.ts'
import { Window, type Opened } from './window.ts'

/** The number of bytes from which collected data is moved to a `Blob`, which the browser may store on disk. */
const PIECE = 32 << 20

/** An instance, and the function `ask`, which calls those of its exports that may read files and resolves to the answer. */
export interface Border {
  instance: Instance
  ask(name: string, args: number[]): Bytes | Promise<Bytes>
}

export class Guest implements Host {
  private readonly border: Border
  /** The file, and its sibling files in the order in which the module asked for them; `undefined` for a missing file. */
  private files: (Window | undefined)[] = []
  /** The sibling files that the module has asked for, including those that were not found. */
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

  /** Returns `name` as a JSON document in which control and invisible characters are escaped. */
  name(name: string): Bytes {
    return this.border.instance.call('name', [], new TextEncoder().encode(name))
  }

  /**
   * Opens `file`, which is called `name`, and its sibling files, for each of which it calls `find`. Resolves to the JSON document
   * of the module: the description of the file, or the error. `onRead` is called after each read.
   */
  async open(file: Opened, name: string, find: (asked: Asked) => Promise<Opened | undefined>, onRead: () => void): Promise<Bytes> {
    this.files = [new Window(file, onRead)]
    const { instance } = this.border
    let answer = instance.begin(file.reader.size, name)
    // From this call on, a quantized tensor that is stored as several tensors is shown as one tensor.
    instance.call('conventions', [])
    for (let needs = instance.needs(); needs && answer.length === 0; needs = instance.needs()) {
      if (needs === 'bind') answer = await this.border.ask('bind', [])
      else if (needs === 'siblings') answer = instance.supplySiblings(await this.sought(instance.siblings(), find, onRead))
      else answer = instance.supply(await this.window(needs.file).later(needs.start, needs.end))
    }
    return answer.length > 0 ? answer : instance.call('file', [])
  }

  /**
   * Looks for the sibling files `all` by `find`. Resolves to the length in bytes of each; `undefined` for a file that was not
   * found.
   */
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

  /**
   * Calls the export `name` of the module, after selecting a part of a tensor if `selection` is given. Resolves to the answer,
   * and to the data that the module has handed out, or null if it has handed out none.
   */
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

  /** Resolves to the bytes from `start` to before `end` of the file, or of the sibling file called `sibling`. */
  async bytes(start: number, end: number, sibling: string | null): Promise<Bytes> {
    // If there is no sibling file of this name, `window` throws, because no file has the number -1.
    const number = sibling === null ? 0 : this.siblings.findIndex(({ name }) => name === sibling) + 1 || -1
    return (await this.window(number).later(start, end)).slice()
  }

  readAt(file: number, offset: number, buffer: Uint8Array): boolean {
    try {
      buffer.set(this.window(file).now(offset, offset + buffer.length))
      return true
    } catch {
      // Reading fails if the file was changed or removed since it was opened.
      return false
    }
  }

  /**
   * Fills the buffer that `buffer` returns with the bytes of file number `file` from `offset` on, at once or when they have
   * arrived. Returns or resolves to false if the file cannot be read; `call` then throws the reason.
   */
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
    if (!window) throw new Error(`file number ${file} is not open`)
    return window
  }
}
