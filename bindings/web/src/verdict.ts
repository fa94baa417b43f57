/** Shows the verdict on the file and the problem, if there is one. */
import { byId, fill, make, prose, spelled, type Child } from './dom.ts'
import { counted, grouped, hex, rounded, size } from './format.ts'
import { showBytes } from './hex.ts'
import type { Problem, Summary } from './protocol.ts'
import type { Session } from './session.ts'

const MARKS = { valid: '✓', bad: '✗', unsure: '?', plain: '…' }

const HEADINGS: Record<Problem['verdict'], [keyof typeof MARKS, string]> = {
  invalid: ['bad', 'Invalid: this file breaks a rule of its format'],
  unsupported: ['unsure', 'Unsupported: this file may be valid, but cannot be validated here'],
  limit: ['unsure', 'Limit exceeded: this file may be valid, but is larger than a limit allows'],
  error: ['unsure', 'Not validated'],
}

const SOURCES = {
  spec: 'from the specification',
  implied: 'the file contradicts itself',
  policy: 'a decision of zten, where the specification leaves it open',
  fault: 'a published fault of readers that trust such a file',
}

const MISSING: typeof HEADINGS[Problem['verdict']] = ['unsure', 'Not validated: files of this model are missing']

/**
 * For rules with a heading of their own, by the id of the rule: the mark and the heading. Other rules have the heading of the
 * verdict.
 */
const OWN: Record<string, typeof MISSING> = {
  'header-magic': ['bad', 'Unknown format: zten does not know a tensor file like this, or its first bytes are damaged'],
  'format-unknown': ['unsure', 'Unknown format: zten does not know a tensor file like this'],
  'index-file': MISSING,
  'gguf-split-file': MISSING,
  'unsupported-shard': MISSING,
}

const TOGETHER = 'Choose all files of the model together, or pick or drop its folder. `zten check` finds them by itself.'

/** Advice for users of this page, by the id of the rule. It replaces the advice of the rule, which is for users of the command. */
const ADVICE: Record<string, string> = {
  'header-magic': 'Formats that are read: zTensor, safetensors, GGUF, .npy, .npz and PyTorch (.pt). Convert a file of another format with the program that wrote it.',
  'format-unknown': 'Formats that are read: zTensor, safetensors, GGUF, .npy, .npz and PyTorch (.pt). Convert a file of another format with the program that wrote it.',
  'index-file': TOGETHER,
  'gguf-split-file': TOGETHER,
  'unsupported-shard': TOGETHER,
}

/**
 * The ids of the rules that are about all bytes of a component or shard. The offset of such a problem is where these bytes begin.
 */
const WHOLE = ['digest-mismatch', 'shard-digest']

export const isOfWhole = ({ rule }: Problem): boolean => rule !== null && WHOLE.includes(rule)

/**
 * Returns the name of the sibling file that has the byte of a problem; null for the file itself. A problem with a whole shard of a
 * zTensor file is at the entry of the shard in the list of shards.
 */
export const fileOf = ({ shard, generation, part }: Problem): string | null => generation !== null && part === null ? null : shard

/** Returns the kind of the mark, such as `bad`, and the heading with which a problem is shown. */
export const headingOf = ({ rule, verdict }: Problem): [keyof typeof MARKS, string] => OWN[rule ?? ''] ?? HEADINGS[verdict]

export class Verdict {
  private readonly box = byId('verdict')
  private readonly bytes = byId('bytes')

  private head(mark: keyof typeof MARKS, text: string, ...more: Child[]): void {
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

  /**
   * Shows that the file is valid if `whole` is true, which means that all data was read; otherwise shows that its manifest or
   * header is valid.
   */
  valid(name: string, file: Session, summary: Summary, whole: boolean): void {
    this.head(whole ? 'valid' : 'unsure',
      whole ? 'Valid: this file keeps every rule of its format' : `The ${headerOf(summary)} is valid; the data has not been read`,
      make('p', { class: 'file' }, spelled(name)),
      totals(summary),
      make('p', { class: 'facts' },
        make('span', {}, summary.generation ? `zTensor ${summary.generation}` : summary.format, summary.version && ` (version ${summary.version})`),
        make('span', {}, counted(summary.totals.objects, 'tensor')),
        make('span', {}, counted(summary.totals.components, 'component')),
        make('span', {}, `${size(summary.totals.stored)} of data`),
        make('span', {}, `${size(file.total)} in all`)),
      siblings(file, true),
      notes(summary))
  }

  async problem(name: string, file: Session, problem: Problem): Promise<void> {
    const [mark, heading] = headingOf(problem)
    const { rule, clause, holds, source, why, advice, offset } = problem
    this.head(mark, heading,
      make('p', { class: 'file' }, spelled(name)),
      make('p', { class: 'sentence' }, ...prose(problem.sentence)), heading !== MISSING[1] && place(problem, file),
      rule ? make('dl', {},
        row('rule', make('code', { id: 'rule' }, rule)),
        row('requires', ...prose(holds ?? '')),
        row('clause', `${clause}${source ? ` – ${SOURCES[source]}${why && `: ${why}`}` : ''}`),
        row('what to do', ...prose(ADVICE[rule] ?? advice ?? ''))) : null,
      siblings(file, false))
    if (offset === null || offset === undefined) {
      if (rule && problem.verdict === 'invalid' && MISSING !== OWN[rule]) fill(this.bytes, make('p', { class: 'note' }, 'No byte of the file shows it: it is in compressed content, or concerns the file as a whole.'))
      return
    }
    if (isOfWhole(problem)) {
      fill(this.bytes, make('p', { class: 'note' },
        'A digest covers all bytes: at least one of them has changed, and the digest cannot tell which.'))
      return
    }
    const own = fileOf(problem)
    if (file.siblings.some(({ name, size }) => name === own && size === null)) return
    await showBytes(this.bytes, file, offset, own)
  }
}

const row = (name: string, ...value: Child[]): HTMLElement =>
  make('div', {}, make('dt', {}, name), make('dd', {}, ...value))

/**
 * Returns an element that lists the sibling files of a file, missing ones first; null if it has none. With `advice`, it also says
 * how to open a model with its sibling files, if one is missing.
 */
const siblings = ({ siblings: all }: Session, advice: boolean): HTMLElement | null => {
  if (all.length === 0) return null
  const missing = all.filter(({ size }) => size === null)
  const files = [...missing, ...all.filter(({ size }) => size !== null)]
  return make('details', { class: 'siblings', open: missing.length > 0 },
    make('summary', {}, `${counted(all.length, 'other file')} of this model`, missing.length > 0 && `, ${grouped(missing.length)} missing`),
    advice && missing.length > 0 && make('p', { class: 'note' }, ...prose(TOGETHER)),
    make('ul', {}, ...files.slice(0, NAMED).map(({ shown, size: bytes }) => make('li', bytes === null ? { class: 'missing' } : {},
      spelled(shown), make('span', {}, bytes === null ? 'missing' : size(bytes))))),
    files.length > NAMED && make('p', { class: 'note' }, `And ${grouped(files.length - NAMED)} more.`))
}

/** The largest number of files, notes and left-out values that are listed. */
const NAMED = 200

/** Returns an element that lists the notes on a valid file and the values that zten leaves out; null without notes. */
const notes = ({ notes: all, left_out: [names, count] }: Summary): HTMLElement | null => all.length === 0 ? null
  : make('details', { class: 'notes', open: true },
    make('summary', {}, counted(all.length, 'note')),
    make('ul', {}, ...all.slice(0, NAMED).map(({ rule, sentence, object, shard, offset, more, advice }) => make('li', {},
      make('p', {}, make('b', {}, ...prose(`${sentence[0]?.toUpperCase() ?? ''}${sentence.slice(1)}`)),
        object !== null && make('span', {}, ' In ', spelled(object), '.'),
        shard !== null && make('span', {}, ' In the file ', spelled(shard), '.'),
        offset !== null && ` At byte ${grouped(offset)}.`,
        more > 0 && ` And ${counted(more, 'other place')}.`),
      advice && make('p', {}, ...prose(advice)),
      rule !== null && make('p', { class: 'note' }, 'rule ', make('code', {}, rule)),
      rule === 'torch-left-out' && names.length > 0 && make('details', {},
        make('summary', {}, `${counted(count, 'left-out value')}`),
        make('ul', { class: 'left-out' }, ...names.map(name => make('li', {}, spelled(name)))),
        count > names.length && make('p', { class: 'note' }, `And ${grouped(count - names.length)} more.`))))))

/**
 * Returns what the description of the tensors is called in the format of the file: `manifest` in zTensor files, otherwise
 * `header`.
 */
export const headerOf = ({ generation }: Summary): string => generation ? 'manifest' : 'header'

/** Returns an element that shows the number of parameters of a file, and the number of bytes of each type. */
const totals = ({ totals: { parameters, dtypes, stored } }: Summary): HTMLElement =>
  make('p', { class: 'totals' },
    make('b', {}, parameters === null ? 'more than 2^64 parameters' : counted(parameters, 'parameter'),
      parameters !== null && parameters >= 1e6 && ` (${rounded(parameters)})`),
    ...dtypes.map(({ dtype, stored: bytes, components }) =>
      make('span', { class: 'type', title: counted(components, 'component') }, make('b', {}, dtype ?? 'other types'), ` ${size(bytes)}`,
        dtypes.length > 1 && bytes > 0 && ` · ${percent(bytes / stored)}`)))

const percent = (part: number): string => part < 0.01 ? '< 1 %' : part > 0.99 ? '> 99 %' : `${Math.round(100 * part)} %`

/**
 * Returns an element that says where a problem is, as far as that is known: in which file, object and component, and at which byte.
 */
const place = (problem: Problem, file: Session): HTMLElement => {
  const { object_shown: object, ordinal, component_shown: component, part, offset, manifest_start: start, manifest_end: end } = problem
  const text = make('p', { class: 'place' })
  const known = (value: unknown) => value !== null && value !== undefined
  const shard = file.siblings.find(({ name }) => name === problem.shard)?.shown ?? problem.shard
  if (shard) text.append('in the file ', spelled(shard), ' ')
  if (known(ordinal)) text.append('in ', typeof object === 'string' ? spelled(object) : `tensor ${ordinal}`)
  if (known(part)) text.append(' / ', typeof component === 'string' ? spelled(component) : `component ${part}`)
  if (typeof offset === 'number') {
    text.append(`${isOfWhole(problem) ? ', which begins' : ''} at byte ${grouped(offset)} (`, make('code', { id: 'offset' }, hex(offset)), ')')
    if (typeof start === 'number' && typeof end === 'number' && offset >= start && offset <= end) {
      text.append(`, byte ${hex(offset - start)} of the manifest`)
    }
  }
  return text
}
