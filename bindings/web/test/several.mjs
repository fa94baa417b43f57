// Tests of the page with models in several files, with folders and with several models, and of the states, notes and values
// that it shows.
//
//   node test/several.mjs [TEXT]    only the tests with the text in their names
import assert from 'node:assert/strict'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { corpus, end, json, run, test } from '../../js/test/harness.mjs'
import { choose, launch, open, verdict } from './page.mjs'

const { browser, page, requests, errors, index } = await launch('index.html')
const folder = mkdtempSync(join(tmpdir(), 'zten-web-'))
let folders = 0

/** Copies files to a new folder, and returns its path. */
const copied = (...paths) => {
  const into = join(folder, String(++folders))
  mkdirSync(into)
  for (const path of paths) copyFileSync(path, join(into, basename(path)))
  return into
}

/** Returns the files in the folder of a file to which it may refer. */
const beside = path => {
  const under = dirname(path)
  const stem = basename(path).replace(/(-00001-of-\d+)?\.\w+$/, '')
  const named = path.endsWith('.json') ? Object.values(JSON.parse(readFileSync(path, 'utf8')).weight_map ?? {}) : []
  const own = name => named.includes(name) || !path.endsWith('.json') && name.startsWith(`${stem}-${path.endsWith('.gguf') ? '0' : ''}`)
  return readdirSync(under).map(name => join(under, name)).filter(other => other !== path && own(basename(other)))
}

/** Returns the files of the corpus that refer to other files. */
const roots = () => [
  ...readdirSync(`${corpus}other/index/accept`).filter(name => name.endsWith('.json')).map(name => `${corpus}other/index/accept/${name}`),
  ...['accept', 'reject'].flatMap(kind => readdirSync(`${corpus}other/gguf/${kind}`).filter(name => /-00001-of-/.test(name)).map(name => `${corpus}other/gguf/${kind}/${name}`)),
  ...readdirSync(`${corpus}v2/shards`).filter(name => name.endsWith('.zt') && !/-(s|t|a|bb)\.zt$/.test(name)).map(name => `${corpus}v2/shards/${name}`),
]

/** Returns the list of other files that the page shows, each with its size or the word `missing`. */
const siblings = () => page.$$eval('.siblings li', items => items.map(item => [item.querySelector('bdi').textContent, item.querySelector(':scope > span').textContent]))

await test('the verdict on a model in several files is that of the command', async () => {
  let [valid, other] = [0, 0]
  for (const path of roots()) {
    const [checked] = json('check', '--json', path)
    // The page lists a file that refers to other files before these, and shows it first, in whatever order the files are
    // chosen.
    const into = copied(path, ...beside(path))
    await open(page, readdirSync(into).map(name => join(into, name)))
    await page.waitForFunction(() => document.querySelector('#files').hidden || !document.querySelector('#files .mark:empty'))
    const shown = await verdict(page)
    assert.equal(shown.rule, checked.rule, `${path}: ${shown.heading} ${shown.sentence}`)
    if (checked.verdict === 'valid') {
      assert.match(shown.heading, /^✓Valid/, path)
      const [listed] = json('ls', '--json', path)
      assert.equal(shown.objects?.split(' ')[0], String(listed.objects.length), path)
      assert.deepEqual((await siblings()).map(([name]) => name).sort(), listed.shards.map(({ name }) => name).sort(), path)
      valid++
    } else other++
  }
  assert.ok(valid > 20 && other > 15, `${valid} ${other}`)
})

const two = [`${corpus}other/index/accept/two.index.json`, `${corpus}other/index/accept/a.safetensors`, `${corpus}other/index/accept/b.safetensors`]

await test('tensors in sibling files are drawn, shown, summed up and saved', async () => {
  await open(page, two)
  await page.waitForSelector('#files', { state: 'hidden' })
  assert.match(await page.textContent('.siblings summary'), /^2 other files of this model$/)
  assert.match(await page.textContent('#read'), /The files have [\d,]+ bytes\.$/)
  const [{ objects }] = json('ls', '--json', two[0])
  await page.uncheck('#grouping')
  for (const [line, { name }] of objects.entries()) {
    await choose(page, line)
    await page.waitForSelector('.elements td')
    const shown = await page.$$eval('.elements td', cells => cells.map(cell => cell.textContent).filter(Boolean))
    assert.deepEqual(shown, run('cat', two[0], name).toString().match(/[^\s[\],]+/g), name)
    await page.waitForSelector('.numbers table')
    assert.match(await page.textContent('#map-caption'), new RegExp(`^blob of ${name} / data in ${name}\\.safetensors · bytes`))
    const [download] = await Promise.all([page.waitForEvent('download'), page.click('text=Save .npy')])
    assert.deepEqual(readFileSync(await download.path()), run('cat', '--npy', two[0], name), name)
  }
  // For an error in a sibling file, the page shows the bytes of this file around the error.
  const bad = `${corpus}v2/shards/index-range--v2-behind-a-shard.zt`
  await open(page, [bad, ...beside(bad)])
  const shown = await verdict(page)
  assert.equal(shown.rule, 'index-range')
  assert.match(await page.textContent('.place'), /^in the file bb in w \/ indices at byte 4,100/)
  assert.equal(shown.marks.length > 0 && Number.parseInt(shown.lines[3], 16), 4096)
  // An error of a whole shard is reported at the entry of the shard in the file that refers to it.
  const longer = `${corpus}v2/shards/shard-length--v2-longer.zt`
  await open(page, [longer, ...beside(longer)])
  const listed = await verdict(page)
  assert.equal(listed.rule, 'shard-length')
  assert.equal(listed.marks[0], readFileSync(longer)[Number(listed.offset)].toString(16).padStart(2, '0'))
  // The byte with the error is in a file that does not exist, so it cannot be shown.
  await open(page, `${corpus}v2/shards/dense.zt`)
  const absent = await verdict(page)
  assert.deepEqual([absent.rule, absent.marks], ['unsupported-shard', []])
})

await test('missing files are named, whatever refers to them', async () => {
  for (const [paths, wanted, rule] of [
    [two.slice(0, 1), ['a.safetensors', 'b.safetensors'], 'index-file'],
    [two.slice(0, 2), ['b.safetensors'], 'index-file'],
    [[`${corpus}other/index/accept/torch.index.json`], ['a.bin', 'b.bin'], 'index-file'],
    [[`${corpus}other/gguf/accept/two-00001-of-00002.gguf`], ['two-00002-of-00002.gguf'], 'gguf-split-file'],
    [[`${corpus}v2/shards/dense.zt`], ['s'], 'unsupported-shard'],
  ]) {
    await open(page, paths)
    const shown = await verdict(page)
    assert.equal(shown.rule, rule, String(paths))
    assert.match(shown.heading, /^\?Not validated: files of this model are missing$/)
    const missing = (await siblings()).filter(([, word]) => word === 'missing').map(([name]) => name)
    assert.deepEqual(missing, wanted)
    assert.match(await page.textContent('#verdict'), /Choose all files of the model together, or pick or drop its folder/)
  }
  // The file opens, and the page says at the tensor that the file with its bytes is missing.
  await open(page, `${corpus}v2/shards/dense.zt`)
  await choose(page, 0)
  assert.match(await page.textContent('.component'), /in a file that was not found/)
  assert.equal(await page.$('#slice'), null)
})

/** Returns the lines of the list of files: the mark, the path, and the description. */
const lines = async () => {
  await page.waitForFunction(() => !document.querySelector('#files .mark:empty'))
  return page.$$eval('#files li', items => items.map(item => [...item.querySelectorAll('span')].slice(0, 3).map(span => span.textContent)))
}

await test('a folder: models with their parts, and unrelated files each by itself', async () => {
  const into = copied(`${corpus}accept/1.2.3/dense_all.zt`, `${corpus}other/npy/accept/records.npy`)
  writeFileSync(join(into, 'config.json'), '{}')
  writeFileSync(join(into, 'README.md'), 'text')
  const model = join(into, 'model')
  mkdirSync(model)
  const parts = [['a', 'model-00001-of-00002.safetensors'], ['b', 'model-00002-of-00002.safetensors']]
  for (const [name, to] of parts) copyFileSync(`${corpus}other/index/accept/${name}.safetensors`, join(model, to))
  writeFileSync(join(model, 'model.safetensors.index.json'), JSON.stringify({ weight_map: Object.fromEntries(parts) }))
  const gguf = join(into, 'split')
  mkdirSync(gguf)
  for (const number of [1, 2]) copyFileSync(`${corpus}other/gguf/accept/two-0000${number}-of-00002.gguf`, join(gguf, `two-0000${number}-of-00002.gguf`))
  const shards = join(into, 'shards')
  mkdirSync(join(shards, 'blobs', 'xxh3'), { recursive: true })
  for (const name of ['dense.zt', 'dense-s.zt']) copyFileSync(`${corpus}v2/shards/${name}`, join(shards, name))
  copyFileSync(`${corpus}reject/${readdirSync(`${corpus}reject`).find(name => name.startsWith('footer-magic--'))}`, join(into, 'wrong.zt'))

  await page.evaluate(() => { document.body.dataset.state = 'waiting' })
  await page.setInputFiles('#folder', into)
  await page.waitForFunction(() => document.body.dataset.state === 'done')
  const name = basename(into)
  assert.deepEqual(await lines(), [
    ['✓', `${name}/model/model.safetensors.index.json`, 'safetensors index, 2 tensors, 3 files'],
    ['✓', `${name}/shards/dense.zt`, 'zTensor 2, 1 tensor, 2 files'],
    ['✓', `${name}/split/two-00001-of-00002.gguf`, 'GGUF, 2 tensors, 2 files'],
    ['✓', `${name}/dense_all.zt`, 'zTensor 1.2, 13 tensors'],
    ['✓', `${name}/records.npy`, '.npy, 2 tensors'],
    ['✗', `${name}/wrong.zt`, 'footer-magic'],
  ])
  assert.match(await page.textContent('#files h2'), /^6 files/)
  // At first, the page shows the first file of the list. After a click, it shows the chosen one.
  assert.equal((await verdict(page)).objects, '2 tensors')
  await page.evaluate(() => { document.body.dataset.state = 'waiting' })
  await page.click('#files li:nth-child(2) button')
  await page.waitForFunction(() => document.body.dataset.state === 'done')
  assert.equal((await verdict(page)).objects, '1 tensor')
  assert.match((await verdict(page)).heading, /^✓Valid/)
  assert.equal(await page.getAttribute('#files li:nth-child(2) button', 'aria-current'), 'true')
})

await test('a shard is found by its digest, too', async () => {
  const into = copied(`${corpus}v2/shards/dense.zt`)
  const [{ shards }] = json('ls', '--json', `${corpus}v2/shards/dense.zt`)
  const [algorithm, digits] = shards[0].digest.text.split(':')
  mkdirSync(join(into, 'blobs', algorithm), { recursive: true })
  copyFileSync(`${corpus}v2/shards/dense-s.zt`, join(into, 'blobs', algorithm, digits))
  await page.evaluate(() => { document.body.dataset.state = 'waiting' })
  await page.setInputFiles('#folder', into)
  await page.waitForFunction(() => document.body.dataset.state === 'done')
  assert.match((await verdict(page)).heading, /^✓Valid/)
})

await test('several files are dropped as well as picked', async () => {
  const files = two.map(path => [basename(path), readFileSync(path).toString('base64')])
  await page.evaluate(files => {
    document.body.dataset.state = 'waiting'
    const dataTransfer = new DataTransfer()
    for (const [name, text] of files) dataTransfer.items.add(new File([Uint8Array.from(atob(text), c => c.charCodeAt(0))], name))
    document.body.dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true }))
  }, files)
  await page.waitForFunction(() => document.body.dataset.state === 'done')
  const shown = await verdict(page)
  assert.deepEqual([shown.kind, shown.objects], ['valid', '2 tensors'])
})

await test('names of files and notes are text, never markup', async () => {
  const html = '<img src=x onerror=alert(1)>'
  const into = copied()
  // A file name cannot contain a slash, so the markup has no closing tag.
  const part = `${html}.safetensors`
  writeFileSync(join(into, `${html}.index.json`), JSON.stringify({ weight_map: { [html]: part, '\u202eb': 'b.safetensors' } }))
  copyFileSync(two[1], join(into, `${html}.safetensors`))
  copyFileSync(two[2], join(into, `${html} 2.safetensors`))
  await open(page, readdirSync(into).map(name => join(into, name)))
  await page.waitForFunction(() => !document.querySelector('#files .mark:empty'))
  const text = await page.textContent('main')
  assert.ok(text.includes(html))
  assert.equal(await page.$('main img'), null)
  assert.ok(!text.includes('\u202e'))
})

await test('states are explained, with the rule and the advice', async () => {
  await open(page, `${corpus}other/npy/reject/npy-objects--objects.npy`)
  await choose(page, 0)
  assert.match(await page.textContent('#object .state'), /^Unread: its bytes are not handed out\. .*Python.*\. \S.*\.$/)
  assert.equal(await page.$('.component button'), null)
  assert.match(await page.textContent('#list-note'), /^1 tensor is unread/)
  await open(page, `${corpus}other/npy/accept/records.npy`)
  await choose(page, 0)
  assert.match(await page.textContent('#object .state'), /^Opaque: its bytes can be read and verified/)
  assert.match(await page.textContent('#list-note'), /^\d tensors? (is|are) opaque/)
  await open(page, two)
  assert.equal(await page.textContent('#list-note'), '')
})

await test('notes are those of the command, with rule and advice, and name the values that are left out', async () => {
  let notes = 0
  for (const under of ['torch/accept', 'npz/accept', 'safetensors/accept', 'gguf/accept', 'index/accept']) {
    for (const name of readdirSync(`${corpus}other/${under}`).filter((name, at) => at % 2 === 0 || name.startsWith('left-out'))) {
      const path = `${corpus}other/${under}/${name}`
      const [checked] = json('check', '--json', path)
      if (checked.verdict !== 'valid' || checked.notes.length === 0 || beside(path).length > 0) continue
      await open(page, path)
      const shown = await page.$$eval('.notes > ul > li', items => items.map(item => ({
        text: item.textContent, rule: item.querySelector('.note code').textContent,
      })))
      assert.deepEqual(shown.map(({ rule }) => rule), checked.notes.map(({ rule }) => rule), path)
      for (const [at, { advice }] of checked.notes.entries()) assert.ok(shown[at].text.includes(advice.replaceAll('`', '').replace(/\.$/, '')), path)
      notes += shown.length
    }
  }
  assert.ok(notes > 15, `${notes}`)
  await open(page, `${corpus}other/torch/accept/left-out-class.pt`)
  await page.click('.notes details summary')
  assert.deepEqual(await page.$$eval('.left-out li', items => items.map(item => item.textContent)), ['"value" (.)'])
})

/** Returns the table of values that the page shows. */
const cells = async () => {
  await page.waitForSelector('.elements td')
  return page.$$eval('.elements tbody tr', rows => rows.map(row => [...row.querySelectorAll('td')].map(cell => cell.textContent)))
}

await test('entries of sparse tensors: coordinates and values, in parts', async () => {
  const path = `${corpus}accept/1.2.3/csr_raw.zt`
  await open(page, path)
  await page.uncheck('#grouping')
  const [{ objects }] = json('ls', '--json', path)
  const line = objects.findIndex(({ name }) => name === 'csr_f32')
  await choose(page, line)
  // The values are those in the documentation of the library.
  assert.deepEqual(await cells(), [['0', '0', '-1.25'], ['0', '2', '-0.75'], ['2', '1', '-0.25'], ['2', '3', '0.25']])
  assert.equal(await page.textContent('#slice-note'), '4 entries; all other elements are 0.')
  assert.deepEqual(await page.$$eval('.elements thead th', heads => heads.map(head => head.textContent)), ['row', 'column', 'value'])
  await page.fill('#slice', '1:3')
  await page.press('#slice', 'Enter')
  await page.waitForFunction(() => /^2 of 4/.test(document.querySelector('#slice-note').textContent))
  assert.deepEqual(await cells(), [['0', '2', '-0.75'], ['2', '1', '-0.25']])
  await page.fill('#slice', '9')
  await page.press('#slice', 'Enter')
  await page.waitForFunction(() => document.querySelector('#slice-note').textContent === 'Index 9 is out of range for a dimension of 4.')
  await open(page, `${corpus}accept/1.2.3/coo_zstd_crc.zt`)
  await page.fill('#search', 'coo3d')
  await choose(page, await page.$eval('.row:not(.group)', row => row.dataset.line))
  assert.ok((await cells()).every(row => row.length === 4))
  await open(page, `${corpus}other/torch/accept/sparse-coo.pt`)
  await choose(page, 0)
  assert.ok((await cells()).length > 0)
})

/** Flattens the output of the command to numbers. */
const numbers = value => Array.isArray(value) ? value.flatMap(numbers) : [Number(value.$float ?? value)]

await test('values of quantized tensors are those of the command', async () => {
  let seen = 0
  for (const path of [
    `${corpus}other/gguf/accept/blocks.gguf`, `${corpus}other/gguf/accept/big-endian-blocks.gguf`, `${corpus}v2/accept/mx.zt`, `${corpus}v2/accept/gguf.zt`,
  ]) {
    await open(page, path)
    await page.uncheck('#grouping')
    const [{ objects }] = json('ls', '--json', path)
    for (const [line, { name, shape, layout }] of objects.entries()) {
      if (layout === 'dense') continue
      const wanted = numbers(JSON.parse(run('cat', '--json', path, name).toString()).elements)
      await choose(page, line)
      const shown = await cells()
      const columns = Math.min(8, shape.at(-1))
      assert.deepEqual(shown[0].map(Number), wanted.slice(0, columns), `${path} ${name}`)
      assert.match(await page.textContent('#slice-note'), /^Dequantized to f32/)
      seen++
    }
  }
  assert.ok(seen > 4, `${seen}`)
  await open(page, `${corpus}accept/1.2.3/quantized_group.zt`)
  await page.fill('#search', 'q_proj')
  await choose(page, await page.$eval('.row:not(.group)', row => row.dataset.line))
  // The value is that in the documentation of the library.
  assert.equal(Number((await cells())[0][0]), Math.fround(-1.25 * (13 + 1.25)))
})

/** Writes a GGUF file with one tensor of Q8_0 that has all zeros, as a sparse file. */
const quantized = (path, columns, rows) => {
  const word = (value, bytes = 8) => {
    const item = Buffer.alloc(bytes)
    if (bytes === 8) item.writeBigUInt64LE(BigInt(value))
    else item.writeUInt32LE(value)
    return item
  }
  const name = Buffer.from('large')
  const header = Buffer.concat([Buffer.from('GGUF'), word(3, 4), word(1), word(0),
    word(name.length), name, word(2, 4), word(columns), word(rows), word(8, 4), word(0)])
  const start = Math.ceil(header.length / 32) * 32
  writeFileSync(path, header)
  truncateSync(path, start + columns / 32 * 34 * rows)
}

await test('of a large quantized tensor, only the blocks are read whose values are shown', async () => {
  const path = join(folder, 'large.gguf')
  quantized(path, 8192, 500_000)
  await open(page, path)
  await choose(page, 0)
  assert.deepEqual((await cells()).length, 8)
  await page.fill('#slice', '499999, 8000:8004')
  await page.press('#slice', 'Enter')
  await page.waitForFunction(() => document.querySelector('.elements tbody th').textContent === '[499999, :]')
  assert.deepEqual(await cells(), [['0.0', '0.0', '0.0', '0.0']])
  const { read } = await verdict(page)
  assert.ok(read < 1 << 20, `${read} bytes were read`)
})

await test('the page calls tensors tensors', async () => {
  const paths = [two, `${corpus}accept/1.2.3/dense_all.zt`, `${corpus}accept/1.2.3/csr_raw.zt`, `${corpus}other/gguf/accept/tiny.gguf`]
  for (const path of paths) {
    await open(page, path)
    await page.uncheck('#grouping')
    await choose(page, 0)
    await page.waitForSelector('.elements td')
    const labels = await page.$$eval('[aria-label], [title], [placeholder]', all => all.map(one => ['aria-label', 'title', 'placeholder'].map(name => one.getAttribute(name) ?? '').join(' ')))
    assert.doesNotMatch([await page.textContent('main'), ...labels].join('\n'), /\bobjects?\b/i, String(path))
  }
})

await test('nothing leaves the page, and nothing failed', async () => {
  assert.deepEqual([...new Set(requests.filter(url => !/^(blob|data):/.test(url)))], [index])
  assert.deepEqual(errors, [])
})

await browser.close()
rmSync(folder, { recursive: true })
end()
