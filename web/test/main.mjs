// What the page shows that cannot connect to anything, held to the corpus and to the command.
//
//   node test/main.mjs [TEXT]    only the tests with the text in their names
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { json, run } from './command.mjs'
import { choose, corpus, launch, open, root, verdict } from './page.mjs'
import { end, test } from './runner.mjs'
import { write } from './sparse.mjs'

const { browser, page, index, requests, errors } = await launch('index.html')
const folder = mkdtempSync(join(tmpdir(), 'zten-web-'))
const files = under => readdirSync(corpus + under).filter(file => file.endsWith('.zt'))
  .map(file => `${corpus}${under}/${file}`)

/** Up to two files that break each rule, without options. */
const refused = () => {
  const [, ...lines] = readFileSync(`${corpus}reject/index.tsv`, 'utf8').trimEnd().split('\n')
  const chosen = new Map()
  for (const line of lines) {
    const [file, rule, offset, object, component, , options] = line.split('\t')
    // Generation 2 is read.
    if (options !== '-') continue
    const row = { file, rule, offset, object, component }
    const rows = chosen.get(rule) ?? []
    // The first, and the last of another kind.
    chosen.set(rule, rows.length === 0 ? [row] : [rows[0], row])
  }
  return [...chosen.values()].flat()
}

await test('refused files: rule, sentence, names, byte and mark', async () => {
  const rows = refused()
  assert(rows.length > 120, `${rows.length} files`)
  const paths = rows.map(row => `${corpus}reject/${row.file}`)
  const said = json('check', '--json', ...paths)
  let [named, marked] = [0, 0]
  for (const [at, row] of rows.entries()) {
    await open(page, paths[at])
    const shown = await verdict(page)
    assert.equal(shown.rule, row.rule, row.file)
    const kind = /^(unsupported|limit)-/.test(row.rule) ? 'unsure' : 'bad'
    assert.equal(shown.kind, kind, row.file)
    const offset = row.offset === '-' ? null : Number(row.offset)
    assert.equal(shown.offset, offset === null ? null : `0x${offset.toString(16)}`, row.file)
    assert.ok(said[at].message.startsWith(shown.sentence.slice(0, -1)), row.file)
    assert.ok(shown.clause.startsWith(`${said[at].clause} – `), `${row.file}: ${shown.clause}`)
    const names = [said[at].object, said[at].component].filter(name => name !== null)
    if (names.every(name => /^[\w./-]+$/.test(name))) {
      assert.deepEqual(shown.names, row.object === '-' ? [] : names, row.file)
      named += names.length
    }
    if (offset === null) continue
    if (/^(digest-mismatch|shard-digest)$/.test(row.rule)) {
      // It is of all bytes: none is at fault more than another.
      assert.deepEqual(shown.marks, [], row.file)
      continue
    }
    const bytes = readFileSync(paths[at])
    const byte = bytes[offset]
    const wanted = byte === undefined ? '··' : byte.toString(16).padStart(2, '0')
    assert.equal(shown.marks[0], wanted, row.file)
    const line = shown.lines.find(line => Number.parseInt(line, 16) === offset - (offset % 16))
    const digits = line.split('  ').slice(1, 3).join(' ').trim().split(' ')
    assert.equal(digits[offset % 16], wanted, row.file)
    marked++
  }
  assert(named > 80 && marked > 80, `${named} names, ${marked} marks`)
})

await test('a manifest of no bytes is asked for, too', async () => {
  for (const file of ['cbor-truncated--v01-manifest-of-0.zt', 'cbor-truncated--v12-manifest-of-0.zt']) {
    await open(page, `${corpus}reject/${file}`)
    assert.equal((await verdict(page)).rule, 'cbor-truncated', file)
  }
})

await test('valid files: verdict and number of objects', async () => {
  const folders = ['0.1.0', '1.0.2', '1.1.1', '1.2.0', '1.2.3']
  const some = files('accept').filter((_, at) => at % 20 === 0)
  for (const path of [...folders.flatMap(folder => files(`accept/${folder}`)), ...some]) {
    const [listed] = json('ls', '--json', path)
    const [checked] = json('check', '--json', path)
    await open(page, path)
    const shown = await verdict(page)
    assert.equal(shown.kind, checked.verdict === 'valid' ? 'valid' : 'unsure', path)
    assert.equal(shown.rule, checked.rule, path)
    const count = listed.objects.length
    assert.equal(shown.objects, `${count} object${count === 1 ? '' : 's'}`, path)
    const hidden = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/
    const text = await page.evaluate(() => document.querySelector('main').textContent)
    assert.ok(!hidden.test(text.replaceAll('\t', '')), `${path} shows what cannot be seen`)
  }
})

/** The statistics that are shown of the component at that place. */
const statistics = async part => {
  await page.waitForFunction(part => document.querySelectorAll('.numbers')[part]?.querySelector('table'), part)
  return page.evaluate(part => Object.fromEntries(
    [...document.querySelectorAll('.numbers')[part].querySelectorAll('tr')]
      .map(row => [...row.children].map(cell => cell.title || cell.textContent))), part)
}

await test('statistics of every type', async () => {
  let seen = 0
  for (const file of ['1.2.3/dense_all', '1.2.3/fp8', '0.1.0/big_endian', '0.1.0/dense_all', '1.2.3/zstd', '1.2.3/complex']) {
    const path = `${corpus}accept/${file}.zt`
    await open(page, path)
    await page.uncheck('#grouping')
    const [{ objects }] = json('ls', '--json', path)
    for (const [line, object] of objects.entries()) {
      await choose(page, line)
      const shown = await statistics(0)
      const text = run('cat', '--json', path, object.name).toString()
      const number = value => Number(value.$float ?? value)
      // Of complex elements, magnitudes are shown.
      const values = [JSON.parse(text).elements].flat(object.shape.length)
        .map(value => Array.isArray(value) ? Math.hypot(...value.map(number)) : number(value))
      const finite = values.filter(Number.isFinite)
      // The digits of a narrow float tell it from others of its type, and are not all that it has.
      const half = { f16: 2 ** -11, bf16: 2 ** -8, f8_e4m3fn: 2 ** -4, f8_e5m2: 2 ** -3, f8_e4m3fnuz: 2 ** -4, f8_e5m2fnuz: 2 ** -3 }
      const apart = (half[object.components[0].dtype] ?? 0) * Math.max(...finite.map(Math.abs))
      assert.equal(shown.elements, values.length.toLocaleString('en'), object.name)
      if (finite.length > 0) {
        // A square root may be rounded in another way.
        const near = file.endsWith('complex') ? 1e-15 : 0
        const same = (shown, wanted) =>
          assert.ok(Math.abs(shown - wanted) <= near * wanted, `${file} ${object.name}: ${shown}, ${wanted}`)
        same(Number(shown.min ?? shown['min (of magnitudes)']), Math.min(...finite))
        same(Number(shown.max ?? shown['max (of magnitudes)']), Math.max(...finite))
        const mean = finite.reduce((sum, value) => sum + value, 0) / finite.length
        const meant = Number(shown.mean ?? shown['mean (of magnitudes)'])
        assert.ok(Math.abs(meant - mean) <= 1e-9 * Math.max(1, Math.abs(mean)) + apart, object.name)
        const squares = finite.reduce((sum, value) => sum + (value - mean) ** 2, 0)
        const deviation = Math.sqrt(squares / finite.length)
        if (Number.isFinite(deviation)) {
          assert.ok(Math.abs(Number(shown.deviation) - deviation) <= 1e-9 * deviation + apart, `${object.name}: ${shown.deviation}`)
        }
      }
      const count = of => values.filter(of).length.toLocaleString('en')
      assert.equal(shown.zeros.split(' ')[0], count(value => value === 0), object.name)
      assert.equal(shown.NaN.split(' ')[0], count(Number.isNaN), object.name)
      assert.equal(shown.infinities.split(' ')[0], count(value => Math.abs(value) === Infinity), object.name)
      seen++
    }
  }
  assert.ok(seen > 30, `${seen} objects`)
})

await test('pictures of dense and sparse objects', async () => {
  await open(page, `${corpus}accept/1.2.3/csr_raw.zt`)
  await page.uncheck('#grouping')
  await choose(page, 0)
  await page.waitForSelector('.picture canvas')
  const [{ objects: [object] }] = json('ls', '--json', `${corpus}accept/1.2.3/csr_raw.zt`)
  const cells = await page.evaluate(() => {
    const canvas = document.querySelector('.picture canvas')
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)
    return { width: canvas.width, height: canvas.height, filled: data.filter((byte, at) => at % 4 === 3 && byte > 0).length }
  })
  assert.deepEqual([cells.height, cells.width], object.shape)
  const entries = object.components.find(component => component.role === 'indices').length / 8
  assert.equal(cells.filled, entries)
})

await test('digests are verified when asked', async () => {
  await open(page, `${corpus}accept/1.2.3/sha256.zt`)
  await choose(page, 0)
  await page.click('text=Verify digest')
  assert.match(await page.textContent('.verified b'), /^✓ sha256 verified$/)
})

await test('NumPy files are those of the command', async () => {
  // Where NumPy has no name for the type, the command says void, and the page what it is.
  const renamed = name => name === 't_bf16' ? ["'<V2'", "'<u2'"] : ['', '']
  for (const file of ['dense_all', 'fp8']) {
    const path = `${corpus}accept/1.2.3/${file}.zt`
    await open(page, path)
    await page.uncheck('#grouping')
    const [{ objects }] = json('ls', '--json', path)
    for (const [line, object] of objects.entries()) {
      await choose(page, line)
      const [download] = await Promise.all([page.waitForEvent('download'), page.click('text=Save .npy')])
      assert.equal(download.suggestedFilename(), `${object.name}.npy`)
      const wanted = run('cat', '--npy', path, object.name).toString('latin1')
      const [from, to] = renamed(object.name)
      assert.ok(wanted.includes(from), object.name)
      assert.equal(readFileSync(await download.path(), 'latin1'), wanted.replace(from, to), object.name)
    }
  }
})

await test('the list by keyboard', async () => {
  const path = `${corpus}accept/1.2.3/dense_all.zt`
  await open(page, path)
  await page.focus('#list')
  for (const key of ['ArrowDown', 'ArrowDown', 'ArrowUp', 'ArrowDown', 'Enter']) await page.keyboard.press(key)
  const [{ objects }] = json('ls', '--json', path)
  await page.waitForFunction(name => document.activeElement?.textContent === name, objects[2].name)
  await page.fill('#search', 'f32')
  assert.equal(await page.textContent('#list-count'), '1 object of 13')
  await page.fill('#search', '')
  await page.click('#list-heads .stored')
  assert.match(await page.textContent('#row-0'), /^t_[fiu]64/)
})

await test('8 GB open with less than 1 MiB; work can be stopped', async () => {
  const path = join(folder, 'sparse.zt')
  const length = write(path)
  assert.ok(length > 8e9)
  await open(page, path)
  const shown = await verdict(page)
  assert.match(shown.heading, /The manifest is valid; the data has not been read/)
  assert.equal(shown.objects, '1 object')
  assert.ok(shown.read > 0 && shown.read < 1 << 20, `${shown.read} bytes were read`)
  assert.match(await page.textContent('#read'), /The file has 8,000,000,\d{3} bytes/)
  await choose(page, 0)
  const before = (await verdict(page)).read
  assert.ok(before < 1 << 20, `${before} bytes were read`)
  await page.click('button:text("Draw")')
  await page.waitForSelector('.picture canvas')
  assert.match(await page.textContent('figcaption'), /^Values, 1,000,000 × 8,000.*Sampled: 160 rows/)
  const drawn = (await verdict(page)).read - before
  assert.ok(drawn <= 160 * 8000, `${drawn} bytes were read to draw`)
  await page.click('button.statistics')
  await page.waitForSelector('#work:not([hidden])')
  await page.waitForFunction(() => document.querySelector('#progress').value > 0)
  await page.keyboard.press('Escape')
  await page.waitForSelector('#work', { state: 'hidden' })
  assert.equal(await page.textContent('.numbers'), '')
  await choose(page, 0)
  assert.equal(await page.textContent('#object h2'), 'zeros')
})

await test('a narrow page does not scroll sideways', async () => {
  await page.setViewportSize({ width: 390, height: 800 })
  for (const file of ['accept/1.2.3/dense_all', 'accept/1.2.3/csr_raw', 'reject/cbor-truncated--v12-manifest-of-0']) {
    await open(page, `${corpus}${file}.zt`)
    if (file.startsWith('accept')) await choose(page, 0)
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth) <= 390, file)
  }
  await page.setViewportSize({ width: 1000, height: 1200 })
})

await test('a file of another format is called that', async () => {
  const path = join(folder, 'other.safetensors')
  writeFileSync(path, Buffer.concat([Buffer.from([2, 0, 0, 0, 0, 0, 0, 0]), Buffer.from('{}'), Buffer.alloc(50)]))
  await open(page, path)
  const shown = await verdict(page)
  assert.equal(shown.rule, 'header-magic')
  assert.match(shown.heading, /this is no zTensor file/)
})

/** A safetensors file of those names, each of 4 × 6 numbers, as a zTensor file. */
const model = (name, names) => {
  const tensors = names.map((name, at) => [name, { dtype: 'F32', shape: [4, 6], data_offsets: [at * 96, at * 96 + 96] }])
  const header = Buffer.from(JSON.stringify(Object.fromEntries(tensors)))
  const length = Buffer.alloc(8)
  length.writeBigUInt64LE(BigInt(header.length))
  const data = Float32Array.from({ length: names.length * 24 }, (_, at) => Math.sin(at) / 3)
  const [from, to] = [join(folder, `${name}.safetensors`), join(folder, `${name}.zt`)]
  writeFileSync(from, Buffer.concat([length, header, Buffer.from(data.buffer)]))
  run('convert', '--force', from, to)
  return to
}

const layers = Array.from({ length: 30 }, (_, at) => ['attention.query', 'attention.key', 'mlp.up', 'mlp.down']
  .map(part => `model.encoder.layers.${at}.${part}.weight`)).flat()

await test('a group that stands alone is open, and long names keep their ends', async () => {
  await open(page, model('large', layers))
  const rows = () => page.$$eval('.row', rows => rows.map(row => row.querySelector('.name').textContent))
  const shown = await rows()
  assert.equal(shown[0], '▾model.encoder.layers.')
  assert.equal(shown[1], '▸0.')
  await page.uncheck('#grouping')
  await page.setViewportSize({ width: 390, height: 800 })
  await page.waitForFunction(() => {
    const head = document.querySelector('.row .head')
    return head.scrollWidth > head.clientWidth
  })
  const [end, room, text] = await page.$eval('.row .tail', tail => {
    const range = document.createRange()
    range.selectNodeContents(tail)
    return [range.getBoundingClientRect().right, tail.closest('.name').getBoundingClientRect().right, tail.textContent]
  })
  assert.ok(layers[0].endsWith(text) && end <= room + 1, `${text} ends at ${end} of ${room}`)
  await page.setViewportSize({ width: 1000, height: 1200 })
})

await test('packed codes have no statistics, and the histogram has the ends of the data', async () => {
  for (const [file, packed] of [['accept/1.2.3/py_quantized', 1], ['v2/accept/gguf', 1], ['v2/accept/quant-group', 1], ['v2/accept/mx', 0]]) {
    await open(page, `${corpus}${file}.zt`)
    await choose(page, 0)
    const [parts, buttons] = [await page.$$('.component'), await page.$$('button.statistics')]
    assert.equal(parts.length - buttons.length, packed, file)
    assert.equal(await page.$('.picture canvas'), null, file)
  }
  await open(page, `${corpus}accept/1.2.3/dense_all.zt`)
  await page.uncheck('#grouping')
  await page.fill('#search', 't_f32')
  await choose(page, 0)
  await statistics(0)
  const ends = await page.$$eval('.ends span', ends => ends.map(end => end.textContent))
  assert.deepEqual(ends, ['-1.25', '1.25'])
  assert.match(await page.textContent('.histogram figcaption'), /^The highest bar: 1 of 6\.$/)
  assert.doesNotMatch(await page.textContent('#status'), /…$/)
})

await test('an empty page says what it is for, and has a sample', async () => {
  await page.reload()
  assert.match(await page.textContent('#purpose'), /zten check/)
  await page.evaluate(() => { document.body.dataset.state = 'waiting' })
  await page.click('#sample')
  await page.waitForFunction(() => document.body.dataset.state === 'done')
  const shown = await verdict(page)
  assert.deepEqual([shown.kind, shown.objects], ['valid', '13 objects'])
  assert.ok(!await page.isVisible('#purpose'))
})

await test('pictures of the page, to be looked at', async () => {
  const shots = `${root}web/dist/pictures`
  mkdirSync(shots, { recursive: true })
  const shoot = async name => {
    await page.screenshot({ path: `${shots}/${name}.png`, fullPage: true })
    assert.ok(statSync(`${shots}/${name}.png`).size > 10_000, name)
  }
  await page.reload()
  await shoot('empty')
  for (const [name, path, line] of [
    ['valid', `${corpus}accept/1.2.3/dense_all.zt`, 3],
    ['refused', `${corpus}reject/${refused().find(row => row.rule === 'digest-mismatch').file}`, null],
    ['quantised', `${corpus}accept/1.2.3/py_quantized.zt`, 0],
    ['large', model('large', layers), null],
    ['narrow', model('large', layers), null],
  ]) {
    if (name === 'narrow') await page.setViewportSize({ width: 390, height: 800 })
    await open(page, path)
    if (name === 'narrow') await page.uncheck('#grouping')
    if (line !== null) {
      await choose(page, line)
      await statistics(name === 'quantised' ? 1 : 0)
    }
    await shoot(name)
  }
  await page.setViewportSize({ width: 1000, height: 1200 })
})

await test('light and dark', async () => {
  const colour = async colorScheme => {
    await page.emulateMedia({ colorScheme })
    return page.evaluate(() => getComputedStyle(document.body).backgroundColor)
  }
  assert.notEqual(await colour('light'), await colour('dark'))
})

await test('nothing leaves the page', async () => {
  const asked = requests.filter(url => !/^(blob|data):/.test(url))
  assert.deepEqual([...new Set(asked)], [index])
  assert.deepEqual(errors, [])
  const refused = await page.evaluate(() => fetch('https://example.org/').then(() => false, () => true))
  assert.ok(refused, 'a connection was made')
  assert.ok(errors.some(error => error.includes('Content Security Policy')), errors.join('\n'))
})

await browser.close()
rmSync(folder, { recursive: true })
end()
