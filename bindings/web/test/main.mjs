// Compares the page that makes no connections with the corpus and the command.
//
//   node test/main.mjs [TEXT]    only the tests with the text in their names
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { corpus, end, json, root, run, test } from '../../js/test/harness.mjs'
import { cancelStatistics, choose, launch, open, verdict } from './page.mjs'
import { write } from './sparse.mjs'

const { browser, page, index, requests, errors } = await launch('index.html')
const folder = mkdtempSync(join(tmpdir(), 'zten-web-'))
const files = under => readdirSync(corpus + under).filter(file => file.endsWith('.zt'))
  .map(file => `${corpus}${under}/${file}`)

/** Returns up to two files that break each rule without options. */
const rejected = () => {
  const [, ...lines] = readFileSync(`${corpus}reject/index.tsv`, 'utf8').trimEnd().split('\n')
  const chosen = new Map()
  for (const line of lines) {
    const [file, rule, offset, object, component, , options] = line.split('\t')
    // Files that break the rule only with an option are left out.
    if (options !== '-') continue
    const row = { file, rule, offset, object, component }
    const rows = chosen.get(rule) ?? []
    // Keeps the first and the last file that break the rule.
    chosen.set(rule, rows.length === 0 ? [row] : [rows[0], row])
  }
  return [...chosen.values()].flat()
}

await test('invalid files: rule, sentence, names, byte and mark', async () => {
  const rows = rejected()
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
    assert.ok(said[at].message.replaceAll('`', '').startsWith(shown.sentence.replace(/\.$/, '')), row.file)
    assert.ok(shown.clause.startsWith(`${said[at].clause} – `), `${row.file}: ${shown.clause}`)
    const names = [said[at].object, said[at].component].filter(name => name !== null)
    if (names.every(name => /^[\w./-]+$/.test(name))) {
      assert.deepEqual(shown.names, row.object === '-' ? [] : names, row.file)
      named += names.length
    }
    if (offset === null) continue
    if (/^(digest-mismatch|shard-digest)$/.test(row.rule)) {
      // The rule is about all bytes of the blob or shard, so no single byte is marked.
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

await test('valid files: verdict and number of tensors', async () => {
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
    assert.equal(shown.objects, `${count} tensor${count === 1 ? '' : 's'}`, path)
    const hidden = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/
    const text = await page.evaluate(() => document.querySelector('main').textContent)
    assert.ok(!hidden.test(text.replaceAll('\t', '')), `${path} shows what cannot be seen`)
  }
})

/** Returns the statistics that the page shows for a component. */
const statistics = async part => {
  await page.waitForFunction(part => document.querySelectorAll('.numbers')[part]?.querySelector('table'), part)
  return page.evaluate(part => Object.fromEntries(
    [...document.querySelectorAll('.numbers')[part].querySelectorAll('tr')]
      .map(row => [...row.children].map(cell => cell.title || cell.textContent))), part)
}

await test('opaque and unread objects are marked in the list', async () => {
  for (const [path, state] of [
    [`${corpus}other/npy/accept/records.npy`, 'opaque'],
    [`${corpus}other/npy/reject/npy-objects--objects.npy`, 'unread: npy-objects'],
  ]) {
    await open(page, path)
    assert.match(await page.textContent('#list .row .type'), new RegExp(`^${state} `), path)
    await choose(page, 0)
    assert.match(await page.textContent('#object .facts'), new RegExp(state), path)
    assert.equal(await page.$('button.statistics'), null, path)
  }
})

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
      // Complex elements are shown as their magnitudes.
      const values = [JSON.parse(text).elements].flat(object.shape.length)
        .map(value => Array.isArray(value) ? Math.hypot(...value.map(number)) : number(value))
      const finite = values.filter(Number.isFinite)
      // The command prints as many digits as tell a narrow float from its neighbors, so the printed value is not exact.
      const half = { f16: 2 ** -11, bf16: 2 ** -8, f8_e4m3fn: 2 ** -4, f8_e5m2: 2 ** -3, f8_e4m3fnuz: 2 ** -4, f8_e5m2fnuz: 2 ** -3 }
      const apart = (half[object.components[0].dtype] ?? 0) * Math.max(...finite.map(Math.abs))
      assert.equal(shown.elements, values.length.toLocaleString('en'), object.name)
      if (finite.length > 0) {
        // The magnitude of a complex element is a square root, which may be rounded differently.
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
  // For a type that NumPy has no name for, the command writes a void type, and the page writes the name of an integer type.
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
  assert.equal(await page.textContent('#list-count'), '1 tensor of 13')
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
  assert.equal(shown.objects, '1 tensor')
  assert.ok(shown.read > 0 && shown.read < 1 << 20, `${shown.read} bytes were read`)
  assert.match(await page.textContent('#read'), /The file has 8,000,000,\d{3} bytes/)
  await choose(page, 0)
  // The values of the first elements are read without a click.
  await page.waitForSelector('.elements td')
  const before = (await verdict(page)).read
  assert.ok(before < 1 << 20, `${before} bytes were read`)
  await page.click('button:text("Draw")')
  await page.waitForSelector('.picture canvas')
  assert.match(await page.textContent('figcaption'), /^Values, 1,000,000 × 8,000.*Sampled: 160 rows/)
  const drawn = (await verdict(page)).read - before
  assert.ok(drawn <= 160 * 8000, `${drawn} bytes were read to draw`)
  await cancelStatistics(page)
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

/** Rules that are broken only together with the other files of a model. */
const BESIDE = ['index-file', 'gguf-split-file']

await test('every format that is read opens, with the verdict of the command', async () => {
  const seen = {}
  for (const format of ['safetensors', 'gguf', 'npy', 'npz', 'index', 'torch', 'named']) {
    for (const kind of ['accept', 'reject'].filter(kind => existsSync(`${corpus}other/${format}/${kind}`))) {
      const under = `${corpus}other/${format}/${kind}/`
      for (const file of readdirSync(under)) {
        const [checked] = json('check', '--json', under + file)
        await open(page, under + file)
        const shown = await verdict(page)
        if (BESIDE.includes(shown.rule)) {
          assert.match(shown.heading, /^\?Not validated: files of this model are missing/, file)
          assert.equal(shown.kind, 'unsure', file)
          assert.match(await page.textContent('#verdict'), /zten check/, file)
          continue
        }
        assert.equal(shown.rule, checked.rule, `${file}: ${shown.heading}`)
        if (checked.verdict === 'valid') {
          assert.match(shown.heading, /^✓Valid/, file)
          const [{ objects }] = json('ls', '--json', under + file)
          assert.equal(shown.objects, `${objects.length} tensor${objects.length === 1 ? '' : 's'}`, file)
        } else if (!['header-magic', 'format-unknown'].includes(checked.rule)) {
          const headings = { invalid: /^✗Invalid/, unsupported: /^\?Unsupported/, limit: /^\?Limit exceeded/ }
          assert.match(shown.heading, headings[checked.verdict], file)
          // The page shows advice on each rejected file.
          assert.match(await page.textContent('#verdict dl'), /what to do\S/, file)
        }
        if (checked.offset !== null) assert.equal(shown.offset, `0x${checked.offset.toString(16)}`, file)
        seen[format] = (seen[format] ?? 0) + 1
      }
    }
  }
  for (const [format, most] of Object.entries({ safetensors: 20, gguf: 40, npy: 20, npz: 20, index: 10, torch: 90, named: 15 })) {
    assert.ok(seen[format] > most, `${format}: ${seen[format]}`)
  }
})

await test('a checkpoint of PyTorch: tensors that share bytes are counted once', async () => {
  await open(page, `${corpus}other/torch/accept/views.pt`)
  // The map counts the storage of 8 bytes, which all tensors share, once. Headers and padding of the archive's members
  // are no blobs.
  assert.match(await page.textContent('#map-legend'), /blob 8 bytes/)
  assert.equal((await verdict(page)).objects, '6 tensors')
  await open(page, `${corpus}other/torch/accept/module.pt`)
  await page.fill('#search', 'turned')
  await choose(page, await page.$eval('.row:not(.group)', row => row.dataset.line))
  await page.waitForSelector('.elements td')
  const cells = await page.$$eval('.elements td', cells => cells.map(cell => cell.textContent).filter(Boolean))
  assert.deepEqual(cells.map(Number), [0, 3, 1, 4, 2, 5])
  await open(page, `${corpus}other/torch/reject/torch-global--os.pt`)
  assert.equal((await verdict(page)).rule, 'torch-global')
  assert.match(await page.textContent('#verdict'), /Do not load the file/)
})

await test('a file of no format that is known is told which are read', async () => {
  await open(page, `${corpus}other/named/reject/format-unknown--text.bin`)
  assert.equal((await verdict(page)).rule, 'format-unknown')
  assert.match((await verdict(page)).heading, /Unknown format/)
  assert.match(await page.textContent('#verdict'), /safetensors, GGUF, \.npy, \.npz and PyTorch/)
})

/** Writes a zTensor file with tensors called `names`, each of 4 × 6 numbers. */
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

/** Returns reproducible numbers that are distributed roughly like weights. The weights of norms are close to 1. */
const weights = ([, { dtype, shape }]) => {
  let state = 7
  const random = () => (state = (state * 48_271) % 0x7fff_ffff) / 0x7fff_ffff
  const length = shape.reduce((product, size) => product * size, 1)
  const numbers = Float32Array.from({ length }, () => Array.from({ length: 12 }, random).reduce((sum, one) => sum + one, -6) / 25 + (dtype === 'F32' ? 1 : 0))
  return Buffer.from(dtype === 'F32' ? numbers.buffer : Uint16Array.from(new Uint32Array(numbers.buffer), bits => bits >>> 16).buffer)
}

/** Writes a language model in safetensors: 206 MiB of zeros in a sparse file, or a small model with random weights. */
const language = small => {
  const [hidden, inner, words, layers] = small ? [48, 128, 256, 6] : [512, 2048, 32_000, 18]
  const layer = at => [
    ...['q', 'k', 'v', 'o'].map(part => [`model.layers.${at}.self_attn.${part}_proj.weight`, [hidden, hidden]]),
    ...['gate', 'up'].map(part => [`model.layers.${at}.mlp.${part}_proj.weight`, [inner, hidden]]),
    [`model.layers.${at}.mlp.down_proj.weight`, [hidden, inner]],
    [`model.layers.${at}.input_layernorm.weight`, [hidden], 'F32'],
    [`model.layers.${at}.post_attention_layernorm.weight`, [hidden], 'F32'],
  ]
  const named = [['lm_head.weight', [words, hidden]], ['model.embed_tokens.weight', [words, hidden]],
    ...Array.from({ length: layers }, (_, at) => layer(at)).flat(), ['model.norm.weight', [hidden], 'F32']]
  let end = 0
  const tensors = named.map(([name, shape, dtype = 'BF16']) => {
    const start = end
    end += shape.reduce((product, size) => product * size, dtype === 'F32' ? 4 : 2)
    return [name, { dtype, shape, data_offsets: [start, end] }]
  })
  // The tensors are sorted by their names, as in files that programs write, so the layers are in the order 0, 1, 10, 11,
  // 2.
  const header = Buffer.from(JSON.stringify(Object.fromEntries(tensors.sort(([one], [other]) => one < other ? -1 : 1))))
  const path = join(folder, small ? 'small.safetensors' : 'model.safetensors')
  const length = Buffer.alloc(8)
  length.writeBigUInt64LE(BigInt(header.length))
  writeFileSync(path, Buffer.concat([length, header, ...small ? tensors.map(weights) : []]))
  truncateSync(path, 8 + header.length + end)
  return path
}

const layers = Array.from({ length: 30 }, (_, at) => ['attention.query', 'attention.key', 'mlp.up', 'mlp.down']
  .map(part => `model.encoder.layers.${at}.${part}.weight`)).flat()

await test('a group that stands alone is open, and long names keep their ends', async () => {
  await open(page, model('large', layers))
  const rows = () => page.$$eval('.row', rows => rows.map(row => row.querySelector('.name').textContent))
  const shown = await rows()
  assert.equal(shown[0], '▾model.encoder.layers.0–29.')
  assert.deepEqual([shown[1], shown[2]], ['▸0.', '▸1.'])
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

await test('layers are folded, in natural order', async () => {
  await open(page, language())
  const rows = () => page.$$eval('.row', rows => rows.map(row => row.querySelector('.name').textContent))
  assert.deepEqual(await rows(), ['lm_head.weight', '▾model.', 'embed_tokens.weight', '▸layers.0–17.', 'norm.weight'])
  await page.click('#row-3')
  assert.deepEqual((await rows()).slice(3, 22), ['▾layers.0–17.', ...Array.from({ length: 18 }, (_, at) => `▸${at}.`)])
  // Opening a group shows its content, even if the group is folded into another.
  await page.click('#row-6')
  assert.equal((await rows())[7], 'input_layernorm.weight')
  // The group of a tensor that was chosen in search results stays open after the search has been cleared.
  await page.fill('#search', 'layers.9.mlp.up')
  await choose(page, await page.$eval('.row:not(.group)', row => row.dataset.line))
  await page.fill('#search', '')
  assert.equal(await page.textContent('.row.chosen .name'), 'up_proj.weight')
  assert.match(await page.textContent('.totals'), /^108,284,416 parameters \(108 M\)bf16 207 MiB · > 99 %f32 74 KiB · < 1 %$/)
})

await test('no name has a hole, and no type is cut', async () => {
  const names = Array.from({ length: 60 }, (_, length) => 'embed_tokens.weight.of.a.model.that.has.long.names'.repeat(2).slice(0, length + 1))
  for (const width of [390, 820, 1400]) {
    await page.setViewportSize({ width, height: 2400 })
    await open(page, model('names', names))
    await page.uncheck('#grouping')
    const holes = await page.$$eval('.row', rows => rows.flatMap(row => {
      const [head, tail] = row.querySelectorAll('.name > *')
      if (!tail) return []
      const room = node => {
        const range = document.createRange()
        range.selectNodeContents(node)
        return range.getBoundingClientRect()
      }
      const gap = tail.getBoundingClientRect().left - Math.min(room(head).right, head.getBoundingClientRect().right)
      return gap > 1 || room(tail).left < tail.getBoundingClientRect().left - 1 && head.scrollWidth <= head.clientWidth ? [`${head.textContent}|${tail.textContent} ${gap}`] : []
    }))
    assert.deepEqual(holes, [], `${width}`)
    for (const file of ['accept/1.2.3/py_quantized', 'v2/accept/quant-group', 'accept/1.2.3/csr_raw']) {
      await open(page, `${corpus}${file}.zt`)
      const cut = await page.$$eval('.row .type', types => types.filter(type => type.scrollWidth > type.clientWidth).map(type => type.textContent))
      assert.deepEqual(cut, [], `${file} at ${width}`)
    }
  }
  await page.setViewportSize({ width: 1000, height: 1200 })
})

await test('list and detail stand side by side where there is room, and else the page scrolls there and back', async () => {
  for (const [width, beside] of [[1400, true], [1100, true], [1099, false], [390, false]]) {
    await page.setViewportSize({ width, height: 700 })
    await open(page, language())
    await choose(page, 0)
    await page.waitForSelector('.elements td')
    const [list, detail, back] = await page.evaluate(() => [
      ...['#objects', '#object'].map(id => document.querySelector(id).getBoundingClientRect().toJSON()),
      document.querySelector('.back').offsetParent !== null])
    assert.equal(list.right <= detail.left, beside, `${width}`)
    assert.ok(detail.top < 600 && detail.bottom > 0, `${width}: the detail is at ${detail.top}`)
    assert.equal(back, !beside)
    if (beside) continue
    // The view of the tensor is at the top of the window, or as far up as the page can scroll.
    const end = await page.evaluate(() => scrollY + innerHeight >= document.documentElement.scrollHeight - 1)
    assert.ok(detail.top > -60 && (end || detail.top < 60), `${width}: the detail is at ${detail.top}`)
    await page.click('.back')
    assert.equal(await page.evaluate(() => document.activeElement.id), 'list')
    const { top, bottom } = await page.$eval('#list', list => list.getBoundingClientRect().toJSON())
    assert.ok(top >= -1 && bottom <= 701, `${width}: the list is at ${top}`)
  }
  await page.setViewportSize({ width: 1000, height: 1200 })
})

await test('the map follows the list, and the list the map', async () => {
  await open(page, `${corpus}accept/1.2.3/dense_all.zt`)
  await page.uncheck('#grouping')
  const caption = () => page.textContent('#map-caption')
  const drawn = () => page.$eval('#map', map => map.toDataURL())
  const states = new Set()
  await page.mouse.move(0, 0)
  states.add(await drawn())
  await page.hover('#row-3')
  assert.match(await caption(), /^blob of t_f32 \/ data/)
  states.add(await drawn())
  await page.click('#row-3')
  await page.waitForSelector('.elements td')
  await page.mouse.move(0, 0)
  assert.match(await caption(), /^blob of t_f32 \/ data/)
  states.add(await drawn())
  assert.deepEqual(await page.$$eval('.row.chosen', rows => rows.map(row => row.id)), ['row-3'])
  // The page describes the byte under the pointer, and without a pointer the selected byte.
  await page.evaluate(() => scrollTo(0, 0))
  const { x, y, width } = await page.$eval('#map', map => map.getBoundingClientRect().toJSON())
  await page.mouse.move(x + width - 1, y + 10)
  assert.match(await caption(), /^footer/)
  await page.mouse.move(x + width * 80 / 1856, y + 10)
  assert.match(await caption(), /^blob of \S+ \/ data/)
  assert.equal((await page.$$('.row.hovered')).length, 1)
  await page.mouse.move(0, 0)
  assert.equal((await page.$$('.row.hovered')).length, 0)
  await page.focus('#map')
  await page.keyboard.press('ArrowRight')
  states.add(await drawn())
  assert.equal(states.size, 4)
  // On the map, an object that breaks a rule has a color of its own.
  await open(page, `${corpus}reject/${rejected().find(row => row.rule === 'digest-mismatch').file}`)
  const red = await page.$eval('#map', map => {
    const bad = getComputedStyle(document.documentElement).getPropertyValue('--bad').trim()
    const wanted = [1, 3, 5].map(at => Number.parseInt(bad.slice(at, at + 2), 16))
    const { data } = map.getContext('2d').getImageData(0, 0, map.width, 1)
    return Array.from({ length: map.width }, (_, at) => wanted.every((value, channel) => data[at * 4 + channel] === value)).filter(Boolean).length
  })
  assert.ok(red > 5, `${red} columns`)
})

await test('values of a slice are those of the command', async () => {
  const path = `${corpus}accept/1.2.3/dense_all.zt`
  await open(page, path)
  await page.uncheck('#grouping')
  const shown = () => page.$$eval('.elements td', cells => cells.map(cell => cell.textContent).filter(text => text !== ''))
  const [{ objects }] = json('ls', '--json', path)
  for (const [line, { name }] of objects.entries()) {
    await choose(page, line)
    await page.waitForSelector('.elements td')
    assert.deepEqual(await shown(), run('cat', path, name).toString().match(/[^\s[\],]+/g), name)
  }
  await page.fill('#search', 't_f32')
  await choose(page, 0)
  await page.waitForSelector('.elements td')
  for (const [slice, values, note] of [
    ['1, 1:', ['0.75', '1.25'], ''], [':, -1', ['-0.25', '1.25'], ''], ['[0, 0]', ['-1.25'], ''],
    ['2', null, 'Index 2 is out of range for a dimension of 2.'], ['0, 0, 0', null, '3 indices for 2 dimensions.'], ['1:1', null, 'The slice is empty.'],
    ['x', null, 'Invalid slice "x": expected an index or a range, such as 3, 0:8 or :.'],
  ]) {
    await page.fill('#slice', slice)
    await page.press('#slice', 'Enter')
    await page.waitForFunction(note => document.querySelector('#slice-note').textContent === note, note)
    if (values) await page.waitForFunction(wanted => [...document.querySelectorAll('.elements td')].map(cell => cell.textContent).filter(Boolean).join() === wanted, values.join())
  }
  await open(page, `${corpus}other/npy/accept/scalar.npy`)
  await choose(page, 0)
  await page.waitForSelector('.elements td')
  assert.equal((await shown()).length, 1)
  // If only some elements of a large tensor are shown, only these are read.
  await open(page, language())
  await choose(page, 0)
  await page.waitForSelector('.elements td')
  assert.ok((await verdict(page)).read < 1 << 16)
  await page.fill('#slice', ':')
  await page.press('#slice', 'Enter')
  assert.equal(await page.textContent('#slice-note'), 'The slice has 16,384,000 elements: select at most 1,024.')
})

await test('bytes that are read more than once are explained, and backticks are typography', async () => {
  await open(page, `${corpus}accept/1.2.3/py_quantized.zt`)
  await choose(page, 0)
  await statistics(2)
  assert.match(await page.textContent('#read'), /^Bytes read: [\d,]+\. The file has 654 bytes, some of which have been read more than once\.$/)
  await open(page, `${corpus}other/named/reject/format-tflite--model.tflite`)
  const text = await page.textContent('#verdict')
  assert.doesNotMatch(text, /`|…\./)
  assert.equal(await page.textContent('#verdict dd code:not(#rule)'), 'TFLite')
  await open(page, `${corpus}reject/${rejected().find(row => row.rule === 'digest-mismatch').file}`)
  assert.match(await page.textContent('.sentence'), /…$/)
})

await test('the page by keyboard alone', async () => {
  await page.setViewportSize({ width: 820, height: 900 })
  await page.reload()
  const press = async (...keys) => {
    for (const key of keys) await page.keyboard.press(key)
  }
  /** Moves the focus to an element by pressing `key` up to 40 times. Each element on the way must show that it has the focus. */
  const reach = async (selector, key = 'Tab') => {
    for (let steps = 0; steps < 40; steps++) {
      await press(key)
      const [there, seen] = await page.evaluate(selector => {
        const own = document.activeElement
        const shows = own.closest('.pick') ?? own
        return [own.matches(selector), own === document.body || getComputedStyle(shows).outlineStyle !== 'none']
      }, selector)
      assert.ok(seen, `the focus is not seen on the way to ${selector}`)
      if (there) return
    }
    assert.fail(`${selector} is not reached`)
  }
  const focused = () => page.evaluate(() => document.activeElement.textContent)
  await reach('#file')
  await page.evaluate(() => { document.body.dataset.state = 'waiting' })
  await reach('#sample')
  await press('Enter')
  await page.waitForFunction(() => document.body.dataset.state === 'done')
  await reach('#map')
  const before = await page.textContent('#map-caption')
  await press('ArrowRight', 'ArrowRight')
  assert.notEqual(await page.textContent('#map-caption'), before)
  await press('Enter')
  await page.waitForFunction(() => document.activeElement.matches('#object h2'))
  await reach('.back', 'Shift+Tab')
  await press('Enter')
  await page.waitForFunction(() => document.activeElement.id === 'list')
  await reach('#search', 'Shift+Tab')
  await page.keyboard.type('f32')
  assert.equal(await page.textContent('#list-count'), '1 tensor of 13')
  await reach('#grouping')
  await press('Space')
  await reach('#list-heads .stored')
  await press('Enter')
  await reach('#list')
  await press('Home', 'Enter')
  await page.waitForFunction(() => document.activeElement.textContent === 't_f32')
  await reach('#slice')
  await press('Control+A')
  await page.keyboard.type('0, 1')
  await press('Enter')
  await page.waitForFunction(() => document.querySelectorAll('.elements tbody td').length === 1)
  await reach('.component button:not(.statistics)')
  assert.equal(await focused(), 'Verify')
  await press('Enter')
  await page.waitForSelector('.verified b')
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
  assert.deepEqual([shown.kind, shown.objects], ['valid', '13 tensors'])
  assert.ok(!await page.isVisible('#purpose'))
})

/** The views to compare: a name, a file, and a text by which an object is found in the list, if one is opened. */
const PAGES = [
  ['empty'],
  ['valid', `${corpus}accept/1.2.3/dense_all.zt`, 't_f32'],
  ['invalid', `${corpus}reject/${rejected().find(row => row.rule === 'digest-mismatch').file}`],
  ['sparse', `${corpus}accept/1.2.3/csr_raw.zt`, ''],
  ['quantized', `${corpus}accept/1.2.3/py_quantized.zt`, ''],
  ['large', language(), 'lm_head'],
  ['gguf', `${corpus}other/gguf/accept/tiny.gguf`, 'blk'],
  ['safetensors', language(true), 'down'],
  ['checkpoint', `${corpus}other/torch/accept/training.pt`, 'tied'],
  ['left-out', `${corpus}other/torch/accept/left-out-class.pt`, ''],
  ['unread', `${corpus}other/npy/reject/npy-objects--objects.npy`, ''],
  ['blocks', `${corpus}other/gguf/accept/blocks.gguf`, ''],
  ['index', ['two.index.json', 'a.safetensors', 'b.safetensors'].map(name => `${corpus}other/index/accept/${name}`), ''],
  ['missing', ['two.index.json', 'a.safetensors'].map(name => `${corpus}other/index/accept/${name}`)],
  ['several', [`${corpus}accept/1.2.3/dense_all.zt`, `${corpus}other/npy/accept/records.npy`, `${corpus}other/gguf/accept/tiny.gguf`,
    `${corpus}reject/${rejected().find(row => row.rule === 'digest-mismatch').file}`, language(true)], 't_f32'],
]

/** Shows one of the views in a given width and color scheme. */
const look = async ([, path, text], [width, colorScheme]) => {
  await page.setViewportSize({ width, height: 900 })
  await page.emulateMedia({ colorScheme })
  if (!path) return page.reload()
  await open(page, path)
  if (text === undefined) return
  await page.fill('#search', text)
  await choose(page, await page.$eval('.row:not(.group)', row => row.dataset.line))
  await page.waitForFunction(() => document.querySelector('#work').hidden)
  await page.fill('#search', '')
  // Before the picture is taken, the pointer is moved away from all elements, and everything is drawn.
  await page.mouse.move(0, 0)
  await page.evaluate(() => {
    document.activeElement.blur()
    scrollTo(0, 0)
  })
  await page.waitForTimeout(300)
}

const LOOKS = [1400, 820, 390].flatMap(width => [[width, 'light'], [width, 'dark']])

await test('pictures of the page at every width, to be looked at, and no rule of accessibility is broken', async () => {
  const shots = `${root}bindings/web/dist/pictures`
  mkdirSync(shots, { recursive: true })
  const axe = readFileSync(new URL('../node_modules/axe-core/axe.min.js', import.meta.url), 'utf8')
  // The policy of the page forbids other scripts than its own, so axe is run through the browser's debugging protocol.
  const session = await page.context().newCDPSession(page)
  const found = []
  for (const one of PAGES) {
    for (const how of LOOKS) {
      await look(one, how)
      const name = [one[0], ...how].join('-')
      await page.screenshot({ path: `${shots}/${name}.png`, fullPage: true })
      assert.ok(statSync(`${shots}/${name}.png`).size > 10_000, name)
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth) <= how[0], `${name} scrolls sideways`)
      await session.send('Runtime.evaluate', { expression: axe })
      const { result } = await session.send('Runtime.evaluate', {
        expression: 'axe.run().then(({ violations }) => JSON.stringify(violations.map(({ id, nodes }) => [id, nodes.slice(0, 3).map(({ html, any }) => [html.slice(0, 160), any[0]?.message])])))',
        awaitPromise: true, returnByValue: true,
      })
      if (result.value !== '[]') found.push(`${name}: ${result.value}`)
    }
  }
  assert.deepEqual(found, [])
  await page.emulateMedia({ colorScheme: 'light' })
  await page.setViewportSize({ width: 1000, height: 1200 })
})

await test('light and dark', async () => {
  const color = async colorScheme => {
    await page.emulateMedia({ colorScheme })
    return page.evaluate(() => getComputedStyle(document.body).backgroundColor)
  }
  assert.notEqual(await color('light'), await color('dark'))
})

await test('nothing leaves the page', async () => {
  const asked = requests.filter(url => !/^(blob|data):/.test(url))
  assert.deepEqual([...new Set(asked)], [index])
  assert.deepEqual(errors, [])
  const rejected = await page.evaluate(() => fetch('https://example.org/').then(() => false, () => true))
  assert.ok(rejected, 'a connection was made')
  assert.ok(errors.some(error => error.includes('Content Security Policy')), errors.join('\n'))
})

await browser.close()
rmSync(folder, { recursive: true })
end()
