// Writes a large sparse file, whose bytes are zeros except for the first and last ones.
import { closeSync, ftruncateSync, openSync, writeSync } from 'node:fs'

const text = text => Buffer.concat([Buffer.from([0x60 + text.length]), Buffer.from(text)])
const uint = number => {
  const item = Buffer.alloc(9, 0x1b)
  item.writeBigUInt64BE(BigInt(number), 1)
  return item
}
const map = entries => Buffer.concat([Buffer.from([0xa0 + entries.length]),
  ...entries.flatMap(([key, value]) => [text(key), value])])
const array = items => Buffer.concat([Buffer.from([0x80 + items.length]), ...items])

/** Writes a matrix of bytes. Returns the size of the file. */
export const write = (path, rows = 1_000_000, columns = 8_000) => {
  const length = rows * columns
  const manifest = map([
    ['version', text('1.2.0')],
    ['objects', map([['zeros', map([
      ['shape', array([uint(rows), uint(columns)])],
      ['format', text('dense')],
      ['components', map([['data', map([
        ['dtype', text('u8')], ['offset', uint(64)], ['length', uint(length)],
      ])]])],
    ])]])],
  ])
  const size = Buffer.alloc(8)
  size.writeBigUInt64LE(BigInt(manifest.length))
  const file = openSync(path, 'w')
  writeSync(file, 'ZTEN1000', 0)
  writeSync(file, Buffer.concat([manifest, size, Buffer.from('ZTEN1000')]), 0, undefined, 64 + length)
  ftruncateSync(file, 64 + length + manifest.length + 16)
  closeSync(file)
  return 64 + length + manifest.length + 16
}
