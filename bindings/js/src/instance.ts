/** An instance of a wasm module of `zten`, which serves one file: the host's side of the interface. */

interface Exports {
  memory: WebAssembly.Memory
  needs(): number
  needs_file(): number
  needs_start(): bigint
  needs_end(): bigint
  supply(length: number): number
  [call: string]: unknown
}

/**
 * What an instance waits for while it opens a file: bytes of a file, the lengths of sibling files, or the call that connects these
 * files.
 */
export type Needs = { file: number; start: number; end: number } | 'siblings' | 'bind'

/** A sibling file, such as a shard, whose length an instance asks for while it opens a file. */
export interface Asked {
  /** The name of the sibling file in the file that refers to it. */
  name: string
  /** The name with escaped control and invisible characters, for display. */
  shown: string
  /**
   * What follows in the name of the sibling file after the name, without its suffix, of the file that refers to it: `-a.zt` if `m.zt` refers to
   * `m-a.zt`. Null if the name of the sibling file is not derived from that name.
   */
  suffix: string | null
  /**
   * Another path at which the sibling file may be, relative to the folder of the file that refers to it: the names of the folders, then the
   * name of the file. Empty if there is no other path.
   */
  path: string[]
}

/** Returns the paths at which the sibling file may be, relative to the folder of the file called `name`, which refers to it. */
export const pathsOf = ({ suffix, path }: Asked, name: string): string[] => [
  ...suffix === null ? [] : [`${stem(name)}${suffix}`], ...path.length > 0 ? [path.join('/')] : [],
]

/** Returns the file name `name` without its suffix, which begins at the last dot. A dot at the beginning of the name begins no suffix. */
export const stem = (name: string): string => name.replace(/(?<=.)\.[^.]*$/s, '')

/** The functions that an instance calls to read files and to hand out data. */
export interface Host {
  /**
   * Fills `buffer` with the bytes of file number `file` from `offset` on: 0 is the file itself, and 1 the first sibling file. Returns
   * false if that failed.
   */
  readAt(file: number, offset: number, buffer: Uint8Array): boolean
  /** Takes `piece`, the next piece of decoded bytes or of a new file. The instance does not use the piece afterwards. */
  data(piece: Uint8Array<ArrayBuffer>): void
  /**
   * Takes the offset in the new file at which the next piece of data is written. It is called before a piece that does not directly follow the
   * previous piece. A host that writes no file does not need this function.
   */
  position?(at: number): void
}

export class Instance {
  protected exports!: Exports
  protected answer: Uint8Array<ArrayBuffer>[] = []
  private input: Uint8Array = new Uint8Array()

  /** The functions that the wasm module imports, for `WebAssembly.instantiate`. */
  readonly imports: WebAssembly.Imports = {
    host: {
      read_at: (file: number, offset: bigint, buffer: number, length: number) =>
        this.host.readAt(file, Number(offset), this.memory(buffer, length)) ? 1 : 0,
      input: (buffer: number, length: number) => this.memory(buffer, length).set(this.input),
      take: (channel: number, bytes: number, length: number) => {
        const piece = this.memory(bytes, length).slice()
        if (channel === 0) this.answer.push(piece)
        else if (channel === 1) this.host.data(piece)
        else this.host.position?.(Number(new DataView(piece.buffer).getBigUint64(0, true)))
      },
    },
  }

  constructor(private readonly host: Host) {}

  /** Stores the exports of the instantiated wasm module, which all other methods call. */
  attach({ exports }: WebAssembly.Instance): void {
    this.exports = exports as unknown as Exports
  }

  /** Begins to open a file of `size` bytes called `name`, which is empty if unknown. The answer is empty, or the report of a rejected file. */
  begin(size: number, name = ''): Uint8Array<ArrayBuffer> {
    return this.call('begin', [BigInt(size)], new TextEncoder().encode(name))
  }

  /** Returns what the instance needs next to open the file: a range may be empty. Returns `undefined` if the file is open or was rejected. */
  needs(): Needs | undefined {
    const { exports } = this
    switch (exports.needs()) {
      case 1: return { file: exports.needs_file() >>> 0, start: Number(exports.needs_start()), end: Number(exports.needs_end()) }
      case 2: return 'siblings'
      case 3: return 'bind'
      default: return undefined
    }
  }

  /** Returns the sibling files whose lengths the instance needs next, after `needs` has returned `siblings`. */
  siblings(): Asked[] {
    return JSON.parse(new TextDecoder().decode(this.call('siblings', [])))
  }

  /**
   * Supplies the lengths in bytes of the files that `siblings` returned, in their order; `undefined` for a missing file. The answer is empty,
   * or the report of a rejected file.
   */
  supplySiblings(lengths: (number | undefined)[]): Uint8Array<ArrayBuffer> {
    const words = BigUint64Array.from(lengths, length => length === undefined ? 2n ** 64n - 1n : BigInt(length))
    return this.call('supply_siblings', [], new Uint8Array(words.buffer))
  }

  /** Supplies the bytes of the range that `needs` returned. The answer is empty, or the report of a rejected file. */
  supply(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
    return this.call('supply', [], bytes)
  }

  /** Calls the export `name` with `args`, and returns its answer. The module fetches `input`, whose length is the last argument of the call. */
  call(name: string, args: (number | bigint)[], input?: Uint8Array): Uint8Array<ArrayBuffer> {
    const called = this.exports[name]
    if (typeof called !== 'function') throw new Error(`there is no ${name}`)
    if (!input) return this.asked(() => called(...args) as number)
    this.input = input
    try {
      return this.asked(() => called(...args, input.length) as number)
    } finally {
      this.input = new Uint8Array()
    }
  }

  /** Calls the export `name`, and returns its result, a number from 0 to 2^32 - 1. */
  count(name: string): number {
    return (this.exports[name] as () => number)() >>> 0
  }

  private asked(call: () => number): Uint8Array<ArrayBuffer> {
    this.answer = []
    return this.answered(call())
  }

  /** Returns the collected answer to a call that returned `status`: 1 means success, 2 that there is no memory, 0 that the call was not allowed. */
  protected answered(status: number): Uint8Array<ArrayBuffer> {
    switch (status) {
      case 1: break
      case 2: throw new RangeError(`there is no memory for ${this.input.length} bytes`)
      default: throw new Error('there is no answer: called out of turn')
    }
    const answer = join(this.answer)
    this.answer = []
    return answer
  }

  /** Returns `length` bytes of the memory of the instance from `at` on. Pointers from 2 GiB on arrive as negative numbers. */
  protected memory(at: number, length: number): Uint8Array<ArrayBuffer> {
    return new Uint8Array(this.exports.memory.buffer as ArrayBuffer, at >>> 0, length >>> 0)
  }
}

/** Returns the bytes of all `pieces`, one after another. A single piece is not copied. */
export const join = (pieces: Uint8Array<ArrayBuffer>[]): Uint8Array<ArrayBuffer> => {
  if (pieces.length === 1) return pieces[0]!
  const whole = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0))
  let at = 0
  for (const piece of pieces) {
    whole.set(piece, at)
    at += piece.length
  }
  return whole
}
