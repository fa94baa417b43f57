/** The worker of the page that may read addresses, too. */
import { fileWay } from './file.ts'
import { urlWay } from './url.ts'
import { serve } from './worker.ts'

serve(({ subject, before }) => subject instanceof File ? fileWay(subject) : urlWay(subject.url, before))
