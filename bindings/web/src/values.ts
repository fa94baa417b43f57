/** Shows the elements of a part of a tensor. The part is written as in NumPy: `0, :8, -1`. */
import { button, fill, make } from './dom.ts'
import { counted, grouped } from './format.ts'
import type { Bytes, Entries } from './protocol.ts'

/** The largest number of elements that are shown at a time, as in `bindings/js/wasm/src/page/values.rs`. */
const MOST = 1024
/** The number of rows and of columns of an array that are shown at first. */
const FIRST = 8

/** The selected indices of a dimension, and whether the user has selected a single index. */
interface Part {
  start: number
  end: number
  single: boolean
}

/** Parses the text that a user typed for an array of `shape`. Returns the part, or a sentence about what is wrong. */
export const parsePart = (text: string, shape: number[]): Part[] | string => {
  const typed = text.trim().replace(/^\[(.*)\]$/, '$1')
  const items = typed === '' ? [] : typed.split(',').map(item => item.trim())
  if (items.length > shape.length) return `${items.length} indices for ${shape.length} dimensions`
  const parts: Part[] = []
  for (const [at, size] of shape.entries()) {
    const item = items[at] ?? ':'
    const [, first, colon, last] = /^(-?\d+)?\s*(:)?\s*(-?\d+)?$/.exec(item) ?? []
    if (!colon && (!first || last)) return `invalid slice "${item}": expected an index or a range, such as 3, 0:8 or :`
    const from = (index: string) => Number(index) + (index.startsWith('-') ? size : 0)
    if (!colon) {
      const start = from(first ?? '')
      if (start < 0 || start >= size) return `index ${first} is out of range for a dimension of ${grouped(size)}`
      parts.push({ start, end: start + 1, single: true })
      continue
    }
    const clamp = (index: number) => Math.min(size, Math.max(0, index))
    const start = clamp(first ? from(first) : 0)
    parts.push({ start, end: Math.max(start, clamp(last ? from(last) : size)), single: false })
  }
  const elements = parts.reduce((product, { start, end }) => product * (end - start), 1)
  if (elements === 0) return 'the slice is empty'
  return elements > MOST ? `the slice has ${grouped(elements)} elements: select at most ${grouped(MOST)}` : parts
}

/** Returns the text of the part of an array of `shape` that is shown at first: the first elements of the last two dimensions. */
const firstPart = (shape: number[]): string =>
  shape.map((size, at) => at < shape.length - 2 ? '0' : `0:${Math.min(size, FIRST)}`).join(', ')

/**
 * Returns an element with a field in which the user types a part of an array of `shape`, and a table of the elements of this
 * part. `ask` fetches the elements. If that fails, it resolves to `undefined`, and the page shows the error. With `atOnce`, the
 * elements are fetched without a click.
 */
export const values = (
  shape: number[], atOnce: boolean, about: string, ask: (ranges: Bytes) => Promise<string[] | undefined>,
): HTMLElement => {
  const view = selection('Values of', firstPart(shape), 'Values', async typed => {
    const parts = parsePart(typed, shape)
    if (typeof parts === 'string') return parts
    const found = await ask(new Uint8Array(BigUint64Array.from(parts.flatMap(({ start, end }) => [BigInt(start), BigInt(end)])).buffer))
    return found && [table(parts, found), about]
  })
  if (shape.length === 0) view.field.hidden = true
  if (atOnce) void view.show()
  return view.box
}

/** The number of entries of a sparse tensor that are shown at first. */
const LISTED = 64

/**
 * Returns an element with a field in which the user types a range of the entries of a sparse tensor with `rank` dimensions, and a
 * table of the coordinates and values of these entries. `ask` fetches the entries. With `atOnce`, they are fetched without a
 * click.
 */
export const entries = (rank: number, atOnce: boolean, ask: (range: Bytes) => Promise<Entries | undefined>): HTMLElement => {
  let total = MOST
  const view = selection('Entries', `0:${LISTED}`, 'Entries', async typed => {
    const parts = parsePart(typed, [total])
    if (typeof parts === 'string') return parts
    const { start, end } = parts[0] ?? { start: 0, end: 0 }
    const found = await ask(new Uint8Array(BigUint64Array.of(BigInt(start), BigInt(end)).buffer))
    if (!found) return undefined
    total = found.total
    const heads = rank === 2 ? ['row', 'column'] : Array.from({ length: rank }, (_, at) => `index ${at}`)
    const rows = found.values.map((value, at) => make('tr', {}, make('th', { scope: 'row' }, grouped(start + at)),
      ...(found.coordinates[at] ?? []).map(index => make('td', {}, String(index))), make('td', {}, value)))
    const shown = found.values.length
    return [
      make('table', { class: 'elements' },
        make('thead', {}, make('tr', {}, make('td'), ...[...heads, 'value'].map(head => make('th', { scope: 'col' }, head)))),
        make('tbody', {}, ...rows)),
      shown === total ? `${counted(total, 'entry')}; all other elements are 0.`
        : `${grouped(shown)} of ${counted(total, 'entry')}; all elements without an entry are 0.`,
    ]
  })
  if (atOnce) void view.show()
  return view.box
}

/**
 * Returns a box with a field, a button and a place for the result. `shown` gets the text of the field. It resolves to a sentence
 * about what is wrong with the text, to a table with a note, or to `undefined` if the page shows an error.
 */
const selection = (
  label: string, first: string, region: string, shown: (typed: string) => Promise<string | [HTMLElement, string] | undefined>,
): { box: HTMLElement; show: () => Promise<void>; field: HTMLInputElement } => {
  const field = make('input', { type: 'text', id: 'slice', value: first, spellcheck: 'false', autocomplete: 'off', 'aria-describedby': 'slice-note' })
  const note = make('p', { class: 'note', id: 'slice-note', role: 'status' })
  const into = make('div', { class: 'table', tabindex: 0, role: 'region', 'aria-label': region })
  into.hidden = true
  const show = async () => {
    const found = await shown(field.value)
    if (typeof found === 'string') {
      fill(note, `${found[0]?.toUpperCase()}${found.slice(1)}.`)
      return
    }
    fill(note, found?.[1])
    into.hidden = !found
    if (found) fill(into, found[0])
  }
  const form = make('form', { class: 'slice' }, make('label', { for: 'slice' }, label), field, button('Show', () => void show()))
  form.addEventListener('submit', event => {
    event.preventDefault()
    void show()
  })
  return { box: make('div', { class: 'values' }, form, note, into), show, field }
}

/**
 * Returns a table of the elements `found` of the part `parts` of an array. The last dimension with several selected indices runs
 * from left to right, and all other dimensions from top to bottom.
 */
const table = (parts: Part[], found: string[]): HTMLElement => {
  const across = parts.findLastIndex(({ start, end }) => end - start > 1)
  const { start, end } = parts[across] ?? { start: 0, end: 1 }
  const columns = end - start
  const rows: HTMLElement[] = []
  for (let at = 0; at < found.length; at += columns) {
    let rest = at
    const indices = parts.map(({ start }) => String(start))
    for (let dimension = parts.length - 1; dimension >= 0; dimension--) {
      const { start, end } = parts[dimension] ?? { start: 0, end: 1 }
      indices[dimension] = dimension === across ? ':' : String(start + (rest % (end - start)))
      rest = Math.floor(rest / (end - start))
    }
    rows.push(make('tr', {}, make('th', { scope: 'row' }, `[${indices.join(', ')}]`),
      ...found.slice(at, at + columns).map(value => make('td', {}, value))))
  }
  const heads = columns > 1 && make('thead', {}, make('tr', {}, make('td'),
    ...Array.from({ length: columns }, (_, column) => make('th', { scope: 'col' }, String(start + column)))))
  return make('table', { class: 'elements' }, heads, make('tbody', {}, ...rows))
}
