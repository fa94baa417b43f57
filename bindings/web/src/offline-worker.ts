/** The worker of the page that cannot connect to anything. */
import { fileWay } from './file.ts'
import { serve } from './worker.ts'

serve(({ subject }) => {
  if (subject instanceof File) return fileWay(subject)
  throw new Error('this page reads files only')
})
