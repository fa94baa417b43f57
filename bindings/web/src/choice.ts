/** What was picked or dropped: files and folders. */
import type { Chosen } from '../../js/src/models.ts'

/** Files that are taken from a folder, at most. */
const MOST = 10_000

/** Files of an `<input>`. */
export const picked = (files: Iterable<File>): Chosen[] =>
  [...files].slice(0, MOST).map(file => ({ path: file.webkitRelativePath || file.name, file }))

/** Files and folders that were dropped. What lies in folders is listed step by step. */
export const dropped = async (data: DataTransfer): Promise<Chosen[]> => {
  // Both are emptied when the event is over.
  const files = [...data.files]
  const entries = [...data.items].map(item => item.webkitGetAsEntry())
  if (!entries.some(entry => entry?.isDirectory)) return picked(files)
  const found: Chosen[] = []
  const pending = entries.filter(entry => entry !== null)
  for (let entry = pending.pop(); entry && found.length < MOST; entry = pending.pop()) {
    if (isFile(entry)) {
      const own = entry
      const file = await new Promise<File>((resolve, reject) => own.file(resolve, reject))
      found.push({ path: own.fullPath.replace(/^\//, ''), file })
      continue
    }
    const reader = (entry as FileSystemDirectoryEntry).createReader()
    for (;;) {
      // A reader returns a part of the folder each time.
      const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject))
      if (some.length === 0) break
      pending.push(...some)
      if (pending.length > MOST) break
    }
  }
  return found
}

const isFile = (entry: FileSystemEntry): entry is FileSystemFileEntry => entry.isFile
