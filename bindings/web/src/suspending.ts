/** An instance of the module whose running call is suspended while bytes of a file have to be waited for. */
import { failure } from '../../js/src/errors.ts'
import { Instance, type Host } from '../../js/src/instance.ts'

/** A host that may have to wait for the bytes that it reads. */
export interface WaitingHost extends Host {
  /**
   * Fills the buffer that `buffer` returns with the `length` bytes of file number `file` from `offset` on, at once or when they
   * have arrived. Returns or resolves to whether that succeeded.
   */
  readLater(file: number, offset: number, buffer: () => Uint8Array, length: number): boolean | Promise<boolean>
}

type ReadAt = (file: number, offset: bigint, buffer: number, length: number) => number | Promise<number>

/** The interface of JavaScript Promise Integration, by which a call of WebAssembly is suspended. Not every browser has it. */
interface Suspension {
  Suspending?: new (read: ReadAt) => WebAssembly.ImportValue
  promising?: (called: unknown) => (...args: number[]) => Promise<number>
}

const { Suspending, promising } = WebAssembly as Suspension

export class SuspendingInstance extends Instance {
  constructor(host: WaitingHost) {
    super(host)
    if (!Suspending) {
      throw failure('this browser cannot suspend WebAssembly, which reading from an address needs; save the file and pick it')
    }
    const readAt: ReadAt = (file, offset, buffer, length) => {
      const read = host.readLater(file, Number(offset), () => this.memory(buffer, length), length >>> 0)
      return read instanceof Promise ? read.then(Number) : Number(read)
    }
    this.imports.host!.read_at = new Suspending(readAt)
  }

  /**
   * Calls the export `name`, which may read a file, and resolves to its answer. Until then no other call of the instance is
   * allowed.
   */
  async callLater(name: string, args: number[]): Promise<Uint8Array<ArrayBuffer>> {
    const called = this.exports[name]
    if (!promising || typeof called !== 'function') throw new Error(`the module has no export ${name}`)
    this.answer = []
    return this.answered(await promising(called)(...args))
  }
}
