/** The page, which shows one file or one model in several files at a time. */
import { LISTED, candidates, type Candidate, type Chosen } from '../../js/src/models.ts'
import { AT_ONCE, Detail, attributes, type Run } from './detail.ts'
import { dropped, picked } from './choice.ts'
import { button, byId, fill } from './dom.ts'
import { FileList } from './files.ts'
import { counted, grouped, size } from './format.ts'
import { ObjectList } from './list.ts'
import { FileMap } from './map.ts'
import { isProblem, parse } from './protocol.ts'
import type { Listed, Problem, Subject, Summary, ValidFile } from './protocol.ts'
import { regions, siblingRegions } from './regions.ts'
import { Session, Stopped } from './session.ts'
import { Verdict, fileOf, headerOf, headingOf, isOfWhole } from './verdict.ts'

/** A small sample file in Base64. */
declare const SAMPLE: string

/** The number of tensors that are requested from the worker at a time. */
const PAGE = 5000
/** The largest number of tensors of a file that are listed. */
const MOST = 500_000

let session: Session | undefined
let name = ''
let objects: Listed[] = []
let summary: Summary | undefined
let working = 0

const verdict = new Verdict()
const open = (object: number) => {
  if (!session) return
  map.choose(object)
  list.choose(object)
  void detail.show(session, object)
}
const map: FileMap = new FileMap(open, object => list.hover(object))
const list: ObjectList = new ObjectList(open, object => map.hover(object))

const say = (text: string) => fill(byId('status'), text)

const message = (error: unknown) => error instanceof Error ? error.message : String(error)
const failed = (error: unknown) => verdict.failed(name, message(error))

const run: Run = async (what, bytes, work) => {
  const turn = ++working
  const bar = byId('progress') as HTMLProgressElement
  bar.max = Math.max(1, bytes ?? 0)
  bar.removeAttribute('value')
  let slow = false
  const timer = setTimeout(() => {
    slow = true
    byId('work').hidden = false
    fill(byId('work-text'), `${what} …`)
    say(`${what} …`)
  }, 150)
  try {
    const done = await work(read => {
      if (bytes !== null) bar.value = read
      fill(byId('work-text'), bytes === null ? `${what}: ${size(read)}` : `${what}: ${size(read)} of ${size(bytes)}`)
    })
    if (slow && turn === working) say(`${what}: done`)
    return done
  } catch (error) {
    if (!(error instanceof Stopped)) failed(error)
    return undefined
  } finally {
    clearTimeout(timer)
    if (turn === working) byId('work').hidden = true
  }
}

const detail = new Detail({ run, onProblem: problem => void reject(problem, true), onBack: () => list.focus() })

/** Shows the verdict on a file with `problem`. `opened` is true if the header is valid, so that the objects can be listed too. */
const reject = async (problem: Problem, opened: boolean) => {
  if (!session) return
  const here = session
  const { manifest_start: start, manifest_end: end, offset, ordinal } = problem
  const manifest = typeof start === 'number' && typeof end === 'number' ? { start, end } : null
  map.show({
    regions: [
      ...regions(here.size, manifest, opened && summary ? { objects, summary } : null, summary ? !summary.generation : problem.format !== 'ztensor'),
      ...opened ? siblingRegions(here.size, here.siblings, objects) : [],
    ],
    objects, length: opened ? here.total : here.size,
    marked: isOfWhole(problem) || fileOf(problem) !== null ? null : offset ?? null, broken: opened ? ordinal ?? null : null,
  })
  try {
    await verdict.problem(name, here, problem)
  } catch (error) {
    // If the bytes around the offset cannot be read, the verdict is shown without them.
    if (!(error instanceof Stopped)) say(message(error))
    return
  }
  say(`${headingOf(problem)[1].split(':')[0]}: ${problem.sentence}`)
}

const validateAll = async () => {
  const [here, known] = [session, summary]
  if (!here || !known) return
  const said = await run('Verifying', known.totals.stored, progress =>
    here.askJson<ValidFile | Problem>('validate_all', [], progress))
  if (!said || here !== session) return
  if (isProblem(said)) await reject(said, true)
  else {
    // Reading the data may have found further notes, so the notes of the report replace those that opening the file has found.
    verdict.valid(name, here, { ...known, notes: said.notes }, true)
    say('Valid: this file keeps every rule of its format')
  }
}

/** Opens the file or address `subject`, which is called `called`, and shows it in place of the file that was shown before. */
export const take = async (subject: Subject, called: string): Promise<void> => {
  session?.close()
  const here: Session = new Session(subject, called, read => {
    const again = read > here.total ? ', some of which have been read more than once' : ''
    const has = here.siblings.some(({ size }) => size !== null) ? 'The files have' : 'The file has'
    fill(byId('read'), `Bytes read: ${grouped(read)}. ${has} ${counted(here.total, 'byte')}${again}.`)
    byId('read').dataset.read = String(read)
  })
  session = here
  objects = []
  summary = undefined
  list.show([])
  detail.hide()
  for (const id of ['purpose', 'try', 'map-box', 'objects', 'file-attributes', 'verdict', 'bytes']) byId(id).hidden = true
  document.body.dataset.state = 'working'
  byId('verdict').hidden = false
  fill(byId('read'))
  name = ''
  verdict.working(name)
  try {
    const opened = await run('Opening', null, progress => here.open(shown => {
      if (here === session) verdict.working(name = shown)
    }, progress))
    if (here !== session) return
    if (opened) {
      for (const id of ['map-box', 'bytes']) byId(id).hidden = false
      const said = parse(opened.bytes) as Summary | Problem
      if (isProblem(said)) {
        await reject(said, false)
      } else {
        summary = said
        await opens(here, said)
      }
    }
  } catch (error) {
    if (error instanceof Stopped) return
    failed(error)
  }
  if (here === session) document.body.dataset.state = 'done'
}

const opens = async (here: Session, known: Summary) => {
  verdict.valid(name, here, known, false)
  const most = Math.min(known.totals.objects, MOST)
  while (objects.length < most) {
    const answer = await here.askJson<[Listed, string | null][]>('list', [objects.length, Math.min(PAGE, most - objects.length)])
    const more = answer.map(([object, form]) => ({ ...object, form }))
    if (here !== session || more.length === 0) return
    objects.push(...more)
  }
  const manifest = { start: known.manifest_start, end: known.manifest_end }
  map.show({
    regions: [...regions(here.size, manifest, { objects, summary: known }), ...siblingRegions(here.size, here.siblings, objects)],
    objects, length: here.total, marked: null, broken: null,
  })
  byId('objects').hidden = false
  list.show(objects)
  const [opaque, unread] = ['opaque', 'unread'].map(state => objects.filter(object => object.state === state).length)
  fill(byId('list-note'),
    known.totals.objects > most && `Only the first ${grouped(most)} tensors are listed. `,
    !!opaque && `${counted(opaque, 'tensor')} ${opaque === 1 ? 'is' : 'are'} opaque: the bytes are read, and not interpreted. `,
    !!unread && `${counted(unread, 'tensor')} ${unread === 1 ? 'is' : 'are'} unread: the rule beside the name says why.`)
  byId('file-attributes').hidden = known.attributes.length === 0
  fill(byId('file-attributes'), known.attributes.length > 0 && attributes(known.attributes))
  if (known.totals.stored <= AT_ONCE) await validateAll()
  else {
    byId('verdict').append(button(`Verify all ${size(known.totals.stored)}`, () => void validateAll()))
    say(`The ${headerOf(known)} is valid; the data has not been read`)
  }
}

const stop = async () => {
  const here = session
  if (!here?.busy) return
  say('Stopped')
  try {
    await here.stop()
    if (here.size === 0) verdict.failed(name, 'Stopped before the file was open')
  } catch (error) {
    if (here === session && !(error instanceof Stopped)) failed(error)
  }
}

/** The list of the chosen files. A click on a line shows its file. */
export const files = new FileList(({ path, model }) => void take(model, path))

/** Opens the only model among the chosen files. If there are several models, opens the first one and lists all. */
const choose = (chosen: Chosen[]) => {
  const all: Candidate[] = candidates(chosen)
  const [first] = all
  if (!first) {
    say('There is no file in it')
    return
  }
  files.show(all.length > 1 ? all : [], all.length >= LISTED)
  void take(first.model, first.path)
}

for (const id of ['file', 'folder']) {
  const picker = byId(id) as HTMLInputElement
  picker.addEventListener('change', () => {
    choose(picked(picker.files ?? []))
    picker.value = ''
  })
}
document.addEventListener('dragover', event => {
  event.preventDefault()
  document.body.classList.add('dragging')
})
document.addEventListener('dragleave', event => {
  if (!event.relatedTarget) document.body.classList.remove('dragging')
})
document.addEventListener('drop', event => {
  event.preventDefault()
  document.body.classList.remove('dragging')
  if (event.dataTransfer) void dropped(event.dataTransfer).then(choose, error => say(message(error)))
})
document.addEventListener('keydown', event => {
  if (event.key === 'Escape') void stop()
})
byId('stop').addEventListener('click', () => void stop())
byId('sample').addEventListener('click', () => {
  const bytes = Uint8Array.from(atob(SAMPLE), c => c.charCodeAt(0))
  choose([{ path: 'sample.zt', file: new File([bytes], 'sample.zt') }])
})
