/** Where the bytes of a file come from. */
import { ZtenError, failure } from './errors.ts'

/** A file that is read at positions. */
export interface Source {
  /** Bytes of the file. */
  readonly size: number
  /** The bytes from `start` to before `end`: as many as that, neither fewer nor more. */
  read(start: number, end: number): BytesLike | Promise<BytesLike>
  /** The same at once. Where it is given, everything is read by it, and nothing is held ahead. */
  readSync?(start: number, end: number): BytesLike
  /** Called once, when the file is closed or has been collected. */
  close?(): void
}

export type BytesLike = Uint8Array | ArrayBuffer

/** A source that has been looked at: whatever it gives has the size that was asked for. */
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
    const view = bytes instanceof ArrayBuffer ? new Uint8Array(bytes) : bytes
    const length = view instanceof Uint8Array ? view.length : typeof view
    if (length !== end - start) throw failure(`the source gave ${length} bytes from ${start} on, expected ${end - start}`)
    return view
  }
  const told = (error: unknown): never => {
    if (error instanceof ZtenError) throw error
    throw failure(`the source could not be read: ${error instanceof Error ? error.message : String(error)}`, error)
  }
  const read = async (start: number, end: number): Promise<Uint8Array> => {
    try {
      return exact(await source.read(start, end), start, end)
    } catch (error) {
      return told(error)
    }
  }
  const close = () => source.close?.()
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

export const ofBuffer = (buffer: ArrayBuffer): Source => {
  const readSync = (start: number, end: number) => new Uint8Array(buffer, start, end - start)
  return { size: buffer.byteLength, read: readSync, readSync }
}

export const ofBlob = (blob: Blob): Source => {
  const read = (start: number, end: number) => blob.slice(start, end).arrayBuffer()
  // In workers of browsers, files can be read at once.
  const Sync = (globalThis as { FileReaderSync?: new () => { readAsArrayBuffer(blob: Blob): ArrayBuffer } }).FileReaderSync
  if (!Sync) return { size: blob.size, read }
  const files = new Sync()
  return { size: blob.size, read, readSync: (start, end) => files.readAsArrayBuffer(blob.slice(start, end)) }
}
