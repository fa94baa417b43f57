/** The worker: holds one file open, and answers what is asked about it. */
import { Guest } from './guest.ts'
import type { Reply, Request, Start } from './protocol.ts'

declare const self: DedicatedWorkerGlobalScope

/** Milliseconds between two reports of progress. */
const PACE = 100

let guest: Guest | undefined
let current = 0
let reported = 0

const reply = (message: Reply, transfer: Transferable[] = []) => self.postMessage(message, transfer)

const onRead = () => {
  const now = performance.now()
  if (guest && now - reported > PACE) {
    reported = now
    reply({ id: current, progress: guest.read })
  }
}

self.onmessage = ({ data }: MessageEvent<Start | Request>) => {
  try {
    if ('wasm' in data) {
      guest = new Guest(data.wasm, data.file, onRead)
      const name = guest.name(data.file.name)
      answer(0, name, null)
      answer(1, guest.open(), null)
      return
    }
    if (!guest) return
    current = data.id
    reported = performance.now()
    const said = guest.call(data.call, data.args)
    answer(data.id, said.answer, said.data)
  } catch (error) {
    reply({ id: 'id' in data ? data.id : 1, failed: String(error) })
  }
}

const answer = (id: number, bytes: Uint8Array<ArrayBuffer>, data: Blob | null) =>
  reply({ id, read: guest?.read ?? 0, answer: bytes.buffer, data }, [bytes.buffer])
