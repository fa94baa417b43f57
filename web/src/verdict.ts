/** Whether the file can be trusted, and if not, why. */
import { byId, fill, make, spelled } from './dom.ts'
import { counted, grouped, hex, size } from './format.ts'
import { showBytes } from './hex.ts'
import type { Problem, Summary } from './protocol.ts'
import type { Session } from './session.ts'

const MARKS = { valid: '✓', bad: '✗', unsure: '?', plain: '…' }

const HEADINGS: Record<Problem['verdict'], [keyof typeof MARKS, string]> = {
  refused: ['bad', 'Refused: this file breaks a rule'],
  unsupported: ['unsure', 'Not supported: this file may be valid, and cannot be validated here'],
  limit: ['unsure', 'Too much: this file goes beyond a limit'],
  error: ['unsure', 'Not validated'],
}

const SOURCES = {
  spec: 'from the specification',
  implied: 'the file contradicts itself',
  policy: 'a decision of zten, where the specification leaves it open',
  fault: 'a published fault of readers that trust such a file',
}

/** Rules on all bytes of something: the place is where that begins. */
const WHOLE = ['digest-mismatch', 'shard-digest']

export const isOfWhole = ({ rule }: Problem): boolean => rule !== null && WHOLE.includes(rule)

export class Verdict {
  private readonly box = byId('verdict')
  private readonly bytes = byId('bytes')

  private head(mark: keyof typeof MARKS, text: string, ...more: (Node | string | null)[]): void {
    this.box.className = mark
    fill(this.box, make('h2', {}, make('span', { class: 'mark', 'aria-hidden': 'true' }, MARKS[mark]), text), ...more)
    fill(this.bytes)
  }

  working(name: string): void {
    this.head('plain', 'Reading …', make('p', { class: 'file' }, spelled(name)))
  }

  failed(name: string, message: string): void {
    this.head('unsure', 'Not validated', name ? make('p', { class: 'file' }, spelled(name)) : null, make('p', {}, message))
  }

  /** The manifest is valid; of the data, nothing is known unless all of it has been read. */
  valid(name: string, file: Session, summary: Summary, whole: boolean): void {
    this.head(whole ? 'valid' : 'unsure',
      whole ? 'Valid: this file keeps every rule' : 'The manifest is valid; the data has not been read',
      make('p', { class: 'file' }, spelled(name)),
      make('p', { class: 'facts' },
        make('span', {}, `zTensor ${summary.generation}`, summary.version && ` (version ${summary.version})`),
        make('span', {}, counted(summary.totals.objects, 'object')),
        make('span', {}, counted(summary.totals.components, 'component')),
        make('span', {}, `${size(summary.totals.stored)} of data`),
        make('span', {}, `${size(file.size)} in all`)))
  }

  async problem(name: string, file: Session, problem: Problem): Promise<void> {
    const [mark, known] = HEADINGS[problem.verdict]
    // A file of another format is held to no rule of this one.
    const heading = problem.rule === 'header-magic' ? 'Refused: this is no zTensor file, or its beginning is damaged' : known
    const { rule, clause, holds, source, why, advice, offset } = problem
    this.head(mark, heading,
      make('p', { class: 'file' }, spelled(name)),
      make('p', { class: 'sentence' }, `${problem.sentence}.`),
      place(problem),
      rule ? make('dl', {},
        row('rule', make('code', { id: 'rule' }, rule)),
        row('asks', `${holds}`),
        row('clause', `${clause}${source ? ` – ${SOURCES[source]}${why && `: ${why}`}` : ''}`),
        row('what to do', advice ?? '')) : null)
    if (offset === null || offset === undefined) {
      if (rule) fill(this.bytes, make('p', { class: 'note' }, 'It is inside compressed content: no byte of the file shows it.'))
      return
    }
    if (isOfWhole(problem)) {
      fill(this.bytes, make('p', { class: 'note' },
        'A digest is of all bytes at once: at least one of them is another than when it was made, and it cannot be said which.'))
      return
    }
    await showBytes(this.bytes, file, offset)
  }
}

const row = (name: string, value: Node | string): HTMLElement =>
  make('div', {}, make('dt', {}, name), make('dd', {}, value))

/** Where it is: object, component, byte. */
const place = (problem: Problem): HTMLElement => {
  const { object_shown: object, ordinal, component_shown: component, part, offset, manifest_start: start, manifest_end: end } = problem
  const text = make('p', { class: 'place' })
  const known = (value: unknown) => value !== null && value !== undefined
  if (known(ordinal)) text.append('in ', typeof object === 'string' ? spelled(object) : `object ${ordinal}`)
  if (known(part)) text.append(' / ', typeof component === 'string' ? spelled(component) : `component ${part}`)
  if (typeof offset === 'number') {
    text.append(`${isOfWhole(problem) ? ', which begins' : ''} at byte ${grouped(offset)} (`, make('code', { id: 'offset' }, hex(offset)), ')')
    if (typeof start === 'number' && typeof end === 'number' && offset >= start && offset <= end) {
      text.append(`, byte ${hex(offset - start)} of the manifest`)
    }
  }
  return text
}
