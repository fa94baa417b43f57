/** The interface of a source of bytes, and readers that check what a source returns. */
import { ZtenError, failure, reason } from './errors.ts'

/** A source of the bytes of a file, which can be read at any offset. Callers can implement it. */
export interface Source {
  /** The number of bytes of the file. */
  readonly size: number
  /** Returns or resolves to the bytes from the offset `start` to before the offset `end`: no fewer and no more. */
  read(start: number, end: number): BytesLike | Promise<BytesLike>
  /** Returns the bytes that `read` resolves to. If a source has this method, zten reads synchronously, and reads no bytes ahead. */
  readSync?(start: number, end: number): BytesLike
  /** Called once, when the file is closed or garbage-collected. */
  close?(): void
}

/** Bytes in memory: a buffer, or a view of a buffer, such as a `Uint8Array` or a `Buffer`. */
export type BytesLike = ArrayBufferView | ArrayBuffer | SharedArrayBuffer

/** Returns the name of the class of `value`, such as `Map`. Unlike `instanceof`, this also works for objects of another window or realm. */
export const classOf = (value: unknown): string => Object.prototype.toString.call(value).slice(8, -1)

/** Returns the bytes of `value` as a view, without a copy, if it is a buffer or a view of one. Returns `undefined` for any other value. */
export const bytesOf = (value: unknown): Uint8Array | undefined => {
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
  return /^(Shared)?ArrayBuffer$/.test(classOf(value)) ? new Uint8Array(value as ArrayBuffer) : undefined
}

/** A source whose reads are checked: each read returns exactly the requested number of bytes, or throws a `ZtenError`. */
export interface Reader {
  readonly size: number
  read(start: number, end: number): Promise<Uint8Array>
  readSync?: (start: number, end: number) => Uint8Array
  close(): void
}

export const ofSource = (source: Source): Reader => {
  const { size } = source
  if (!Number.isSafeInteger(size) || size < 0) throw failure(`the size of the source is ${size}, expected an integer from 0 to 2^53 - 1`)
  const exact = (bytes: BytesLike, start: number, end: number): Uint8Array => {
    const view = bytesOf(bytes)
    if (view?.length === end - start) return view
    throw failure(`the source gave ${view?.length ?? typeof bytes} bytes from ${start} on, expected ${end - start}`)
  }
  const told = (error: unknown): never => {
    if (error instanceof ZtenError) throw error
    throw failure(`the source could not be read: ${reason(error)}`, error)
  }
  const read = async (start: number, end: number): Promise<Uint8Array> => {
    try {
      return exact(await source.read(start, end), start, end)
    } catch (error) {
      return told(error)
    }
  }
  const close = () => {
    try {
      source.close?.()
    } catch (error) {
      told(error)
    }
  }
  if (!source.readSync) return { size, read, close }
  const readSync = (start: number, end: number): Uint8Array => {
    try {
      return exact(source.readSync!(start, end), start, end)
    } catch (error) {
      return told(error)
    }
  }
  return { size, read, readSync, close }
}

export const ofBytes = (bytes: Uint8Array): Source => {
  const readSync = (start: number, end: number) => bytes.subarray(start, end)
  return { size: bytes.length, read: readSync, readSync }
}

export const ofBlob = (blob: Blob): Source => {
  const read = (start: number, end: number) => blob.slice(start, end).arrayBuffer()
  // Only workers of browsers have `FileReaderSync`, which reads a `Blob` synchronously.
  const Sync = (globalThis as { FileReaderSync?: new () => { readAsArrayBuffer(blob: Blob): ArrayBuffer } }).FileReaderSync
  if (!Sync) return { size: blob.size, read }
  const files = new Sync()
  return { size: blob.size, read, readSync: (start, end) => files.readAsArrayBuffer(blob.slice(start, end)) }
}
