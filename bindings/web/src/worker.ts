/** The worker, which has one file and its sibling files open, and answers one question after the other about them. */
import type { Asked } from '../../js/src/instance.ts'
import { nameOfUrl } from '../../js/src/url.ts'
import { Guest, type Border } from './guest.ts'
import type { Known, Reply, Request, Start } from './protocol.ts'
import type { Opened } from './window.ts'

declare const self: DedicatedWorkerGlobalScope

/** The number of milliseconds between two reports of progress. */
const PACE = 100

/** How a worker opens and reads the files of one kind of source: files of this machine, or files at an address. */
export interface Way {
  border(guest: Guest): Border
  open(): Promise<{ file: Opened; known: Known }>
  /** Looks for the sibling file `asked` and opens it. Resolves to `undefined` if it does not exist. */
  find(asked: Asked): Promise<Opened | undefined>
}

/** Answers the messages of the page to this worker. `way` returns how to open the file that the first message names. */
export const serve = (way: (start: Start) => Way): void => {
  let guest: Guest | undefined
  let current = 1
  let reported = 0

  const reply = (message: Reply, transfer: Transferable[] = []) => self.postMessage(message, transfer)
  const answer = (id: number, { buffer }: Uint8Array<ArrayBuffer>, data: Blob | null) =>
    reply({ id, read: guest?.read ?? 0, answer: buffer, data }, [buffer])
  const onRead = () => {
    const now = performance.now()
    if (guest && now - reported > PACE) {
      reported = now
      reply({ id: current, progress: guest.read })
    }
  }

  const begin = async (start: Start) => {
    const { border, open, find } = way(start)
    guest = new Guest(start.wasm, border)
    answer(0, guest.name(start.name), null)
    const { file, known } = await open()
    reply({ known })
    // Formats without a magic are recognized by the end of the file's name, which for an address is without the query.
    const path = 'file' in start.subject ? start.subject.file.name : nameOfUrl(new URL(start.subject.url))
    const said = await guest.open(file, path, find, onRead)
    reply({ siblings: guest.siblings })
    answer(1, said, null)
  }

  const tell = async (request: Request) => {
    if (!guest) return
    current = request.id
    reported = performance.now()
    if ('call' in request) {
      const said = await guest.call(request.call, request.args, request.selection)
      answer(request.id, said.answer, said.data)
    } else answer(request.id, await guest.bytes(request.start, request.end, request.sibling), null)
  }

  const handle = async (data: Start | Request) => {
    try {
      await ('wasm' in data ? begin(data) : tell(data))
    } catch (error) {
      reply({ id: 'id' in data ? data.id : 1, failed: error instanceof Error ? error.message : String(error) })
    }
  }

  let turn = Promise.resolve()
  self.onmessage = ({ data }: MessageEvent<Start | Request>) => {
    turn = turn.then(() => handle(data))
  }
}
