/** The worker of the page that may also read from addresses. */
import { fileWay } from './file.ts'
import { urlWay } from './url.ts'
import { serve } from './worker.ts'

serve(({ subject, before }) => 'file' in subject ? fileWay(subject) : urlWay(subject.url, before))
