/** Collects the files and folders that a user picked or dropped. */
import type { Chosen } from '../../js/src/models.ts'

/** The largest number of files that are taken from what a user picks or drops at once. */
const MOST = 10_000

/** Returns `files`, those of an `<input>`, with their paths, up to the largest number. */
export const picked = (files: Iterable<File>): Chosen[] =>
  [...files].slice(0, MOST).map(file => ({ path: file.webkitRelativePath || file.name, file }))

/**
 * Returns the files that were dropped, and the files in dropped folders, which are listed step by step, up to the largest number.
 */
export const dropped = async (data: DataTransfer): Promise<Chosen[]> => {
  // The browser empties `files` and `items` as soon as the event handler waits, so both are copied first.
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
      // Each call of `readEntries` returns only some of the entries of a folder, and none after the last ones.
      const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject))
      if (some.length === 0) break
      pending.push(...some)
      if (pending.length > MOST) break
    }
  }
  return found
}

const isFile = (entry: FileSystemEntry): entry is FileSystemFileEntry => entry.isFile
