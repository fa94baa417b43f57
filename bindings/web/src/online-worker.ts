/** The worker of the page that may read addresses, too. */
import { fileWay } from './file.ts'
import { urlWay } from './url.ts'
import { serve } from './worker.ts'

serve(({ subject, before }) => 'file' in subject ? fileWay(subject) : urlWay(subject.url, before))
