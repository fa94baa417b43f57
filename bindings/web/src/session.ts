/** A file and the worker that has it open. A worker that is busy can be stopped only by ending it and starting another one. */
import { unpack85 } from './digits.ts'
import { parse } from './protocol.ts'
import type { Bytes, Known, Reply, Request, Sibling, Start, Subject } from './protocol.ts'

declare const WORKER: string
/** The wasm module, compressed by gzip and encoded in base 85. `bundle.mjs` defines it. */
declare const WASM: string

export interface Answer {
  bytes: ArrayBuffer
  data: Blob | null
}

interface Pending {
  resolve(answer: Answer): void
  reject(error: Error): void
  onProgress: (bytes: number) => void
  begun: number
}

export class Stopped extends Error {}

const unpack = async (): Promise<ArrayBuffer> => {
  const stream = new Blob([unpack85(WASM)]).stream().pipeThrough(new DecompressionStream('gzip'))
  return new Response(stream).arrayBuffer()
}
let wasm: Promise<ArrayBuffer> | undefined
let source: string | undefined

export class Session {
  private worker: Worker | undefined
  private pending = new Map<number, Pending>()
  private next = 2
  /** The number of bytes that earlier workers of this session have read. */
  private before = 0
  private now = 0
  private known: Known | undefined
  private opened = false
  /** The sibling files to which the file refers, including those that were not found. */
  siblings: Sibling[] = []

  /**
   * Creates a session for `subject`, called `name`, without opening it. `onRead` is called with the number of bytes that have
   * been read so far.
   */
  constructor(
    private readonly subject: Subject, private readonly name: string, private readonly onRead: (bytes: number) => void,
  ) {}

  /** The size of the file in bytes. */
  get size(): number {
    return this.known?.size ?? 0
  }

  /** The number of bytes of the file and of all sibling files that were found. */
  get total(): number {
    return this.siblings.reduce((sum, { size }) => sum + (size ?? 0), this.size)
  }

  /** Returns whether bytes of the file can be read, or bytes of the sibling file with the display name `sibling`. */
  has(sibling: string | null): boolean {
    return sibling === null || this.siblings.some(({ shown, size }) => shown === sibling && size !== null)
  }

  /**
   * Starts a worker that opens the file. Calls `onName` with the name of the file, whose hidden characters are escaped, and
   * `onProgress` with the number of bytes read. Resolves to the answer of the module: the description of the file, or the error.
   */
  async open(onName: (name: string) => void, onProgress?: (bytes: number) => void): Promise<Answer> {
    wasm ??= unpack()
    source ??= URL.createObjectURL(new Blob([WORKER], { type: 'text/javascript' }))
    const bytes = await wasm
    const worker = new Worker(source)
    this.worker = worker
    worker.onmessage = ({ data }: MessageEvent<Reply>) => this.take(data)
    worker.onerror = event => this.fail(new Error(event.message || 'the worker failed'))
    const named = this.wait(0).then(({ bytes }) => onName(JSON.parse(new TextDecoder().decode(bytes))))
    const opened = Promise.all([this.wait(1, onProgress), named])
    worker.postMessage({ wasm: bytes, subject: this.subject, name: this.name, before: this.known } satisfies Start)
    try {
      const [answer] = await opened
      this.opened = true
      return answer
    } catch (error) {
      if (this.worker === worker) this.close()
      throw error
    }
  }

  /**
   * Has the worker call the export `call` of the module with `args`, after selecting a part of a tensor if `selection` is given.
   * Calls `onProgress` with the number of bytes read. Resolves to the answer.
   */
  ask(call: string, args: number[], onProgress: (bytes: number) => void = () => {}, selection?: Bytes): Promise<Answer> {
    return this.request(id => ({ id, call, args, ...(selection && { selection }) }), onProgress)
  }

  /** Resolves to the bytes from `start` to before `end` of the file, or of the sibling file called `sibling`. */
  async bytes(start: number, end: number, sibling: string | null): Promise<Uint8Array> {
    const { bytes } = await this.request(id => ({ id, start, end, sibling }), () => {})
    return new Uint8Array(bytes)
  }

  private request(about: (id: number) => Request, onProgress: (bytes: number) => void): Promise<Answer> {
    const id = this.next++
    const answer = this.wait(id, onProgress)
    if (this.worker) this.worker.postMessage(about(id))
    else this.fail(new Stopped('the file is not open'))
    return answer
  }

  async askJson<T>(call: string, args: number[], onProgress?: (bytes: number) => void, selection?: Bytes): Promise<T> {
    const { bytes } = await this.ask(call, args, onProgress, selection)
    return parse(bytes) as T
  }

  /**
   * Stops the running call. This call and all waiting calls reject with `Stopped`. If the file was open, it is opened again in a
   * new worker for later calls.
   */
  async stop(): Promise<void> {
    this.close()
    if (this.opened) await this.open(() => {})
  }

  /** Ends the worker. Pending calls reject with `Stopped`. */
  close(): void {
    this.worker?.terminate()
    this.worker = undefined
    this.before += this.now
    this.now = 0
    this.fail(new Stopped('stopped'))
  }

  get busy(): boolean {
    return this.pending.size > 0
  }

  private wait(id: number, onProgress: (bytes: number) => void = () => {}): Promise<Answer> {
    return new Promise((resolve, reject) =>
      this.pending.set(id, { resolve, reject, onProgress, begun: this.now }))
  }

  private take(reply: Reply): void {
    if ('known' in reply) {
      this.known = reply.known
      return
    }
    if ('siblings' in reply) {
      this.siblings = reply.siblings
      return
    }
    const pending = this.pending.get(reply.id)
    const read = 'progress' in reply ? reply.progress : 'read' in reply ? reply.read : this.now
    this.now = read
    if (this.known) this.onRead(this.before + this.now)
    if ('progress' in reply) {
      pending?.onProgress(read - pending.begun)
      return
    }
    this.pending.delete(reply.id)
    if ('failed' in reply) pending?.reject(new Error(reply.failed))
    else pending?.resolve({ bytes: reply.answer, data: reply.data })
  }

  private fail(error: Error): void {
    for (const { reject } of this.pending.values()) reject(error)
    this.pending.clear()
  }
}
