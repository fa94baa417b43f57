/** Formats numbers, shapes, types and states of objects as the page shows them. */
import type { Component, Listed } from './protocol.ts'

const UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB']

export const size = (bytes: number): string => {
  let unit = 0
  let number = bytes
  while (number >= 1024 && unit + 1 < UNITS.length) {
    number /= 1024
    unit++
  }
  if (unit === 0) return bytes === 1 ? '1 byte' : `${bytes} bytes`
  return `${number < 10 ? number.toFixed(1) : Math.round(number)} ${UNITS[unit]}`
}

const SCALES: [number, string][] = [[1e12, 'T'], [1e9, 'B'], [1e6, 'M'], [1e3, 'K']]

/**
 * Returns `number` rounded to three digits, with a letter for thousands (K), millions (M), billions (B) or trillions (T): `1.24
 * B`.
 */
export const rounded = (number: number): string => {
  const [scale, letter] = SCALES.find(([scale]) => number >= scale) ?? [1, '']
  return letter ? `${Number((number / scale).toPrecision(3))} ${letter}` : String(number)
}

/** Returns `number` with commas between groups of three digits: `1,234,567`. */
export const grouped = (number: number): string => number.toLocaleString('en')

export const counted = (number: number, what: string): string =>
  `${grouped(number)} ${number === 1 ? what : what.replace(/y$/, 'ie')}${number === 1 ? '' : 's'}`

export const hex = (offset: number): string => `0x${offset.toString(16)}`

export const share = (part: number, whole: number): string => {
  if (whole === 0 || part === 0) return '0'
  const percent = (100 * part) / whole
  const text = percent < 0.01 ? '< 0.01' : percent > 99.99 && part < whole ? '> 99.99' : percent.toPrecision(3)
  return `${grouped(part)} (${part === whole ? '100' : text} %)`
}

/** Returns `number` as text: exactly if it is an integer of fewer than seven digits, otherwise rounded to five digits. */
export const short = (number: number): string =>
  Number.isInteger(number) && Math.abs(number) < 1e6 ? String(number) : String(Number(number.toPrecision(5)))

export const shape = (dimensions: (number | string)[]): string =>
  dimensions.length === 0 ? 'scalar' : dimensions.join(' × ')

export const element = (component: Component): string => {
  if (component.dtype_known) return component.dtype
  return component.storage ? `${component.dtype}? (${component.storage})` : `${component.dtype}?`
}

export const stored = (object: Listed): number =>
  object.components.reduce((sum, component) => sum + component.length, 0)

/** Returns the word that all `words` are, `mixed` if they differ, or a dash if there are none. */
export const common = (words: string[]): string => {
  const all = [...new Set(words)]
  return all.length === 0 ? '–' : all.length === 1 ? all[0] ?? '' : 'mixed'
}

/** Returns the state of an object for display: `opaque`, `unread: RULE`, or an empty text for a readable object. */
export const objectState = ({ state, reason }: Listed): string => state === 'unread' ? `unread: ${reason}` : state === 'opaque' ? state : ''

/**
 * Returns a few words that describe an object: its state, unless it is readable; its layout, unless it is dense; and the type of
 * its main component. The state comes first, because the type of records of NumPy can be too long for the column.
 */
export const objectKind = (object: Listed): string => `${objectState(object)} ${readableKind(object)}`.trimStart()

const readableKind = (object: Listed): string => {
  const { layout, layout_known: known } = object
  // Blocks of GGUF are called by the name of their type alone, such as `Q4_K`.
  if (layout.startsWith('gguf.')) return layout.slice(5).toUpperCase()
  // A tensor that is stored as several tensors has the name that the command shows, such as `MXFP4 [32]`.
  if (object.form) return object.form
  const type = objectType(object)
  return layout === 'dense' ? type : `${layout}${known ? '' : '?'} ${type}`
}

const objectType = (object: Listed): string => {
  const main = object.components.find(part => ['data', 'values', 'packed_weight'].includes(part.role))
  const parts = main ? [main] : object.components
  return common(parts.map(element))
}
