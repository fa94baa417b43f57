/** Shows the bytes around an offset of the file, and marks the byte at the offset. */
import { fill, make } from './dom.ts'
import { grouped, hex } from './format.ts'
import type { Session } from './session.ts'

const ROW = 16
const ROWS_BEFORE = 3
const ROWS_AFTER = 4

/**
 * Reads the bytes around `offset` of the file, or of the sibling file called `sibling`, and shows them in `into`, with a mark at
 * `offset`.
 */
export const showBytes = async (into: Element, file: Session, offset: number, sibling: string | null): Promise<void> => {
  const size = sibling === null ? file.size : file.siblings.find(({ name }) => name === sibling)?.size ?? 0
  const row = offset - (offset % ROW)
  const start = Math.max(0, row - ROWS_BEFORE * ROW)
  const end = Math.min(size, row + (ROWS_AFTER + 1) * ROW)
  const bytes = await file.bytes(start, end, sibling)
  const digits = Math.max(4, end.toString(16).length)
  const lines = make('pre', { class: 'bytes', tabindex: 0, role: 'group' })
  for (let at = start; at < Math.max(end, Math.min(offset + 1, end + 1)); at += ROW) {
    lines.append(line(bytes.subarray(at - start, at - start + ROW), at, offset, digits))
  }
  const where = offset >= size ? 'the end of the file' : `byte ${grouped(offset)} (${hex(offset)})`
  lines.setAttribute('aria-label', `Bytes of the file around ${where}`)
  fill(into, lines, make('p', { class: 'note' }, `Marked: ${where}.`))
}

const line = (bytes: Uint8Array, at: number, offset: number, digits: number): HTMLElement => {
  const marks = at <= offset && offset < at + ROW
  const element = make('span', { class: marks ? 'line marked' : 'line' })
  element.append(make('span', { class: 'offset' }, at.toString(16).padStart(digits, '0')), '  ')
  for (let column = 0; column < ROW; column++) {
    const byte = bytes[column]
    const text = byte === undefined ? '  ' : byte.toString(16).padStart(2, '0')
    const here = at + column === offset
    element.append(here ? make('mark', {}, byte === undefined ? '··' : text) : text)
    element.append(column === 7 ? '  ' : ' ')
  }
  element.append(' ')
  bytes.forEach((byte, column) => {
    const text = byte > 0x20 && byte < 0x7f ? String.fromCharCode(byte) : '·'
    element.append(at + column === offset ? make('mark', {}, text) : text)
  })
  element.append('\n')
  return element
}
