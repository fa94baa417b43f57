/** Reading a file of this machine: at once. */
import { Instance } from '../../js/src/instance.ts'
import { ofBlob, ofSource } from '../../js/src/sources.ts'
import type { Way } from './worker.ts'

export const fileWay = (file: File): Way => ({
  border: guest => {
    const instance = new Instance(guest)
    return { instance, ask: (name, args) => instance.call(name, args) }
  },
  open: async () => ({
    file: { reader: ofSource(ofBlob(file)), head: new Uint8Array(), least: 0 },
    known: { size: file.size },
  }),
})
