/** The worker of the page `index.html`, which makes no connections: it opens only files of this machine. */
import { fileWay } from './file.ts'
import { serve } from './worker.ts'

serve(({ subject }) => {
  if ('file' in subject) return fileWay(subject)
  throw new Error('this page reads files, and no addresses')
})
