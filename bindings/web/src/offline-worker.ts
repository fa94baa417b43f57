/** The worker of the page that makes no connections. */
import { fileWay } from './file.ts'
import { serve } from './worker.ts'

serve(({ subject }) => {
  if ('file' in subject) return fileWay(subject)
  throw new Error('this page reads files only')
})
