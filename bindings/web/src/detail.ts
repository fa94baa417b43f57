/**
 * Shows one tensor: its description in the manifest, and views of its data. A view for which more than `AT_ONCE` bytes must be read
 * is made only on request.
 */
import { grid, histogram } from './charts.ts'
import { button, byId, fill, make, prose, spelled } from './dom.ts'
import { element, grouped, hex, objectState, shape, share, short, size } from './format.ts'
import { isProblem, parse } from './protocol.ts'
import type { Bytes, Component, Detailed, Entries, Listed, ValidComponent, Picture, Problem, Statistics, Values } from './protocol.ts'
import type { Session } from './session.ts'
import { entries, values } from './values.ts'

/** The size in bytes up to which content is read without a click of the user. */
export const AT_ONCE = 8 << 20

/**
 * Runs a task that reads `bytes` bytes (null if unknown), and shows a progress bar with the label `what` and a button to stop it.
 * Resolves to the result of the task, or to `undefined` if it was stopped, or if it failed and the page shows the error.
 */
export type Run = <T>(
  what: string,
  bytes: number | null,
  work: (onProgress: (bytes: number) => void) => Promise<T>,
) => Promise<T | undefined>

/** The functions of the page that the view of an object needs. */
interface Page {
  run: Run
  onProblem(problem: Problem): void
  /** Called when the user leaves the view of the object for the list of objects. */
  onBack(): void
}

export class Detail {
  private shown = 0
  private readonly box = byId('object')

  constructor(private readonly page: Page) {}

  hide(): void {
    this.shown++
    this.box.hidden = true
  }

  async show(session: Session, ordinal: number): Promise<void> {
    const turn = ++this.shown
    const said = await session.askJson<Detailed | null>('object', [ordinal])
    if (!said || turn !== this.shown) return
    const [object, own, unread] = said
    const picture = make('div', { class: 'picture' })
    const elements = make('div', { class: 'elements-box' })
    const heading = make('h2', { id: 'object-name', tabindex: -1 }, spelled(object.name))
    fill(this.box,
      button('← Back to the list', () => this.page.onBack()),
      heading,
      make('p', { class: 'facts' },
        make('span', {}, spelled(object.layout), object.layout_known ? '' : ' (unknown)'),
        make('span', {}, shape(object.shape)),
        object.state !== 'readable' && make('span', {}, objectState(object)),
        make('span', {}, `tensor ${ordinal}`)),
      unread && make('p', { class: 'state' }, make('b', {}, 'Unread: '), 'its bytes are not handed out. ',
        ...prose(sentence(unread[0])), ' ', ...prose(unread[1])),
      object.state === 'opaque' && make('p', { class: 'state' }, make('b', {}, 'Opaque: '),
        'its bytes can be read and verified, but zten does not interpret its elements, so they have no values here.'),
      own.length > 0 && attributes(own),
      picture,
      elements,
      ...object.components.map((component, part) => this.component(session, ordinal, part, object, component)))
    this.box.hidden = false
    this.box.querySelector('button')?.classList.add('back')
    heading.focus({ preventScroll: true })
    // In a wide window the view of the object is next to the list, so the page is scrolled only if its top is not visible.
    const beside = matchMedia('(min-width: 1100px)').matches
    this.box.scrollIntoView({ block: beside ? 'nearest' : 'start' })
    if (beside && this.box.getBoundingClientRect().top < 0) this.box.scrollIntoView({ block: 'start' })
    this.elements(session, ordinal, object, elements)
    await this.pictures(session, ordinal, object, picture, turn)
  }

  /** Shows the elements of a part of a tensor, or entries of a sparse tensor. The user can choose the part. */
  private elements(session: Session, ordinal: number, object: Listed, into: HTMLElement): void {
    const { layout, components, state } = object
    const [data] = components
    const dimensions = object.shape.map(Number)
    if (!data || state !== 'readable' || !components.every(({ shard }) => session.has(shard))) return
    if (!dimensions.every(size => size > 0 && Number.isSafeInteger(size))) return
    const dense = layout === 'dense' && data.dtype_known
    const sparse = layout.startsWith('sparse_')
    const blocks = layout.startsWith('gguf.') || layout.startsWith('quant.')
    const computed = QUANTIZED.includes(layout) || blocks
    const packed = data.dtype === 'f4_e2m1'
    if (!dense && !sparse && !computed) return
    // Elements of uncompressed dense tensors (except `f4_e2m1`), GGUF blocks and rows of groups have known offsets, so only the
    // bytes of the shown elements are read. The values of all other tensors require reading the components from the beginning.
    const sought = data.encoding === 'raw' && (dense && !packed || blocks)
    const bytes = sought ? 0 : weight(components)
    const note = make('div')
    const ask = async <T extends object>(call: string, ranges: Bytes): Promise<T | undefined> => {
      fill(note)
      const said = await this.page.run('Reading', bytes || null, progress =>
        session.askJson<T | Problem>(call, [ordinal], progress, ranges))
      if (said && isProblem(said)) {
        this.failed(note, said)
        return undefined
      }
      return said
    }
    const about = computed ? 'Dequantized to f32: computed from the codes and scales of the values that are shown.' : ''
    fill(into, sparse
      ? entries(dimensions.length, bytes <= AT_ONCE, range => ask<Entries>('entries', range))
      : values(dimensions, bytes <= AT_ONCE, about, async ranges => (await ask<Values>('elements', ranges))?.values), note)
  }

  private async pictures(
    session: Session, ordinal: number, object: Listed, into: HTMLElement, turn: number,
  ): Promise<void> {
    const bytes = weight(object.components)
    const drawn = object.state === 'readable' && object.layout_known && object.shape.length > 0 && !object.layout.startsWith('quant.') &&
      object.components.every(component => session.has(component.shard) && !isPacked(object, component))
    const draw = async () => {
      const answer = await this.page.run('Drawing', bytes, progress => session.ask('picture', [ordinal], progress))
      if (!answer) return
      const all = new Uint8Array(answer.bytes)
      const end = all.indexOf(10)
      const said = parse(end < 0 ? all : all.subarray(0, end)) as Picture | Problem
      if (isProblem(said)) this.failed(into, said)
      else if (said.width * said.height > 0) fill(into, grid(said, new Float32Array(all.slice(end + 1).buffer)))
      else fill(into)
    }
    if (drawn && bytes > AT_ONCE) fill(into, button('Draw', () => void draw()))
    else if (drawn) await draw()
    if (bytes > AT_ONCE) return
    for (const ask of this.box.querySelectorAll<HTMLButtonElement>('button.statistics')) {
      if (turn === this.shown) ask.click()
    }
  }

  private failed(into: HTMLElement, problem: Problem): void {
    if (problem.rule) this.page.onProblem(problem)
    fill(into, make('p', { class: 'note' }, 'Not shown: ', ...prose(problem.sentence)))
  }

  private component(
    session: Session, ordinal: number, part: number, object: Listed, component: Component,
  ): HTMLElement {
    const packed = isPacked(object, component)
    const result = make('div', { class: 'result', 'aria-live': 'polite' })
    const numbers = make('div', { class: 'numbers' })
    const verified = make('span', { class: 'verified', role: 'status' })
    const place = [ordinal, part]
    const bytes = weight([component])
    const statistics = button('Statistics', async () => {
      const said = await this.page.run('Reading', bytes, progress =>
        session.askJson<Statistics | Problem>('statistics', place, progress))
      if (said && isProblem(said)) this.failed(numbers, said)
      else if (said) fill(numbers, ...table(said))
    })
    statistics.classList.add('statistics')
    const check = button(component.digest ? 'Verify digest' : 'Verify', async () => {
      fill(verified)
      const said = await this.page.run('Verifying', bytes, progress =>
        session.askJson<ValidComponent | Problem>('validate_component', place, progress))
      if (!said) return
      if (isProblem(said)) {
        fill(verified, make('b', { class: 'bad' }, `✗ ${said.sentence}`))
        if (said.rule) this.page.onProblem(said)
      } else {
        const words = {
          verified: `✓ ${component.digest?.algorithm ?? ''} verified`,
          none: '✓ readable; the file has no digest of it',
          unverifiable: `readable; ${component.digest?.algorithm ?? ''} cannot be verified`,
        }
        fill(verified, make('b', { class: said.digest === 'unverifiable' ? 'unsure' : 'valid' }, words[said.digest]))
      }
    })
    const save = button('Save .npy', async () => {
      const answer = await this.page.run('Saving', bytes, progress => session.ask('save', place, progress))
      if (!answer) return
      const said = parse(answer.bytes) as { note: string | null } | Problem
      if ('verdict' in said) this.failed(result, said)
      else if (answer.data) {
        download(answer.data, component.role, this.box.querySelector('h2')?.textContent ?? '')
        fill(result, said.note && make('p', { class: 'note' }, said.note))
      }
    })
    return make('section', { class: 'component' },
      make('h3', {}, spelled(component.role)),
      make('dl', {}, ...facts(component)),
      !session.has(component.shard)
        ? make('p', { class: 'note' }, 'Its bytes are in a file that was not found: choose all files of the model together, or its folder.')
        : object.state !== 'unread' && make('div', { class: 'buttons' }, !packed && component.storage !== null && statistics, check, save, verified),
      packed && make('p', { class: 'note' }, 'Each element packs the codes of several weights, which have no statistics.'),
      result, numbers)
  }
}

/** The layouts whose values are computed from codes and scales, besides the blocks of GGUF. */
const QUANTIZED = ['quantized_group', 'zt.quant_group/1', 'zt.mx/1']

/**
 * Returns `text`, the message of a rule, with a capital letter, and with an ellipsis for each `{}`, which stands for a number in
 * the file.
 */
const sentence = (text: string): string => `${text[0]?.toUpperCase() ?? ''}${text.slice(1).replaceAll('{}', '…')}`

/** Returns whether the elements of a component are words or blocks of packed codes, whose numbers mean nothing by themselves. */
const isPacked = ({ layout }: Listed, { role, dtype }: Component): boolean =>
  ['packed_weight', 'blocks', 'qweight', 'qzeros'].includes(role) ||
  (layout.startsWith('quant.') && role === 'data' && ['u8', 'u32', 'i32'].includes(dtype)) || (role === 'data' && (layout.startsWith('gguf.') ||
    (layout === 'zt.quant_group/1' && dtype === 'u8')))

/**
 * Returns the number of bytes that reading `components` takes: for each, the stored or the decoded bytes, whichever are more. If
 * the decoded length is unknown, it is taken for four times the stored length.
 */
const weight = (components: Component[]): number =>
  components.reduce((sum, { length, decoded_length: decoded }) => sum + Math.max(length, decoded ?? length * 4), 0)

const facts = (component: Component): HTMLElement[] => {
  const rows: [string, string | HTMLElement][] = [
    ['type', element(component)],
    ['encoding', component.encoding + (component.encoding_known ? '' : '?')],
    ['stored', `${size(component.length)} at ${hex(component.offset)}`],
    ...(component.shard ? [['file', spelled(component.shard)] as [string, HTMLElement]] : []),
  ]
  if (component.encoding !== 'raw' && component.decoded_length !== null) rows.push(['decoded', size(component.decoded_length)])
  if (component.byte_order === 'big') rows.push(['byte order', 'big-endian'])
  rows.push(['digest', component.digest === null ? 'none' : spelled(component.digest.text)])
  return rows.map(([name, value]) => make('div', {}, make('dt', {}, name), make('dd', {}, value)))
}

export const attributes = (pairs: [string, string][]): HTMLElement =>
  make('details', { open: pairs.length <= 12 },
    make('summary', {}, `Attributes (${pairs.length})`),
    make('dl', { class: 'attributes' }, ...pairs.map(([key, value]) =>
      make('div', {}, make('dt', {}, spelled(key)), make('dd', {}, spelled(value))))))

const exact = (number: number | null): [string, number?] => number === null ? ['–'] : [short(number), number]

const table = (said: Statistics): (HTMLElement | null)[] => {
  const { count, zeros, nan, infinities, mean, deviation } = said.statistics
  const of = said.magnitude ? ' (of magnitudes)' : ''
  // If a cell does not show all digits of a number, its title has them.
  const rows: [string, string, number?][] = [
    ['elements', grouped(count)],
    [`min${of}`, said.min ?? '–'], [`max${of}`, said.max ?? '–'], [`mean${of}`, ...exact(mean)],
    ['deviation', ...exact(deviation)],
    ['zeros', share(zeros, count)],
    ['NaN', share(nan, count)],
    ['infinities', share(infinities, count)],
  ]
  const body = make('tbody', {}, ...rows.map(([name, value, all]) =>
    make('tr', {}, make('th', { scope: 'row' }, name), make('td', all === undefined ? {} : { title: all }, value))))
  return [make('table', {}, make('caption', {}, 'Statistics'), body), histogram(said)]
}

/**
 * Offers `data` to the user for saving, under a name made from those of the component and the object that every file system
 * accepts.
 */
const download = (data: Blob, role: string, object: string): void => {
  const name = `${object}${role === 'data' ? '' : `.${role}`}`.replace(/[^\w.-]+/g, '_').replace(/^\.+/, '_')
  const url = URL.createObjectURL(data)
  make('a', { href: url, download: `${name.slice(0, 120) || 'tensor'}.npy` }).click()
  setTimeout(() => URL.revokeObjectURL(url), 60_000)
}
