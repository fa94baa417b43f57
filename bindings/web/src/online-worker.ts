/** The worker of the page `online.html`, which may also read from addresses: it opens files of this machine and remote files. */
import { fileWay } from './file.ts'
import { urlWay } from './url.ts'
import { serve } from './worker.ts'

serve(({ subject, before }) => 'file' in subject ? fileWay(subject) : urlWay(subject.url, before))
