/** The way in which a worker opens files of this machine, which it reads synchronously. */
import { Instance, pathsOf } from '../../js/src/instance.ts'
import type { Model } from '../../js/src/models.ts'
import { ofBlob, ofSource } from '../../js/src/sources.ts'
import type { Opened } from './window.ts'
import type { Way } from './worker.ts'

export const fileWay = ({ file, beside }: Model): Way => ({
  border: guest => {
    const instance = new Instance(guest)
    return { instance, ask: (name, args) => instance.call(name, args) }
  },
  open: async () => ({ file: opened(file.name, file), known: { size: file.size } }),
  find: async asked => {
    for (const path of pathsOf(asked, file.name)) {
      const found = beside.get(path)
      if (found) return opened(path, found)
    }
    return undefined
  },
})

const opened = (path: string, file: File): Opened => ({ path, reader: ofSource(ofBlob(file)), head: new Uint8Array(), least: 0 })
