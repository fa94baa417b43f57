// Tests of the installed package with the corpus and the command: in Node, and in Chromium.
//
//   node test/main.mjs [TEXT]    only the tests with the text in their names
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, openAsBlob, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { crc32 } from 'node:zlib'
import { browse, corpus, end, json, root, run, test } from './harness.mjs'
import { serve } from './server.mjs'
import { several } from './several.mjs'
import { alone, folder, install } from './setup.mjs'

const { project, files } = install()
const { encode, open, check, setWasm, Simple, Tagged, ZtenError } = await import(pathToFileURL(join(project, 'node_modules/zten/dist/node.js')))

/**
 * Converts a value that JSON does not have, such as a `bigint` or NaN, to a value that it has. An argument for `JSON.stringify`.
 */
const shown = (_, value) => typeof value === 'bigint' ? `${value}n` : value instanceof Map ? [...value] : value instanceof Uint8Array ? [...value]
  : Number.isNaN(value) ? 'NaN' : Object.is(value, -0) ? '-0' : value === undefined ? 'undefined' : value

/** Returns a source of `bytes` that can be read only asynchronously. `more` has further properties of the source. */
const slow = (bytes, more = {}) => ({
  size: bytes.length,
  read: async (start, end) => bytes.slice(start, end),
  ...more,
})
const buffer = bytes => bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length)
const accepted = name => new Uint8Array(readFileSync(`${corpus}accept/1.2.3/${name}.zt`))

const copies = alone()
const reports = json('check', '--json', ...copies.map(copy => copy.path))
  // The package stops at the first invalid object, so it does not count the others.
  .map(report => ({ ...report, file: null, more: report.verdict === 'valid' ? report.more : null }))

/**
 * Checks that `found`, a report of the package, equals the report of the command on file number `at` of the corpus, called
 * `name`.
 */
const isAsReported = (found, at, name) => assert.deepEqual(found, reports[at], name)

await test('smoke: sizes, and what is packed', () => {
  // 38 kB of the limit of full.wasm are for the conventions of tensors that are stored as several tensors, with their
  // values and checks. Messages and rules in full sentences are why the limits were raised last.
  for (const [name, limit] of [['zten.wasm', 187_000], ['formats.wasm', 193_000], ['full.wasm', 495_000], ['write.wasm', 234_000]]) {
    const wasm = join(project, 'node_modules/zten/dist', name)
    // The modules are compressed by the command gzip, because the gzip in Node compresses a little less, and differently
    // on different processors.
    const size = execFileSync('gzip', ['-9nc', wasm]).length
    console.log(`      ${name}, gzipped: ${size} bytes of ${limit}`)
    assert.ok(size <= limit, `${name}: ${size} bytes`)
  }
  assert.ok(files.includes('README.md') && files.includes('LICENSE-MIT'), files.join())
  assert.ok(files.every(file => /^(dist\/|README|LICENSE|package\.json)/.test(file)), files.join())
})

await test('smoke: the example of the README: types and output', () => {
  const [, example] = /```ts\n([^]*?)```/.exec(readFileSync(new URL('../README.md', import.meta.url), 'utf8'))
  const types = `import { encode, setWasm, ZtenError, type Attribute, type Tensor } from 'zten'
    setWasm({ zten: '/zten.wasm', formats: new Uint8Array(8), full: new URL('file:///full.wasm') })
    const more = await open(new Uint8Array(8), { signal: AbortSignal.timeout(1), memory: 1 })
    const value: Attribute = more.attributes?.a ?? more.list()[0]?.attributes?.b
    const { data }: Tensor = await more.dequantize('w')
    const written: Uint8Array<ArrayBuffer> = await encode('a.safetensors', { w: await more.get('w'), v: data }, { attributes: { a: [1, { b: 2n }] } })
    console.log(written.length)
    console.log(value, data, new ZtenError(await more.check()).rule)\n`
  writeFileSync(join(project, 'types.ts'), `import { open } from 'zten'\n${types}`)
  writeFileSync(join(project, 'example.ts'), example)
  const tsc = new URL('../node_modules/.bin/tsc', import.meta.url).pathname
  for (const options of [['nodenext', 'nodenext'], ['esnext', 'bundler']]) {
    execFileSync(tsc, ['--strict', '--target', 'es2022', '--lib', 'es2023,dom,esnext.disposable', '--types', '',
      '--module', options[0], '--moduleResolution', options[1], '--outDir', 'out', 'example.ts', 'types.ts', '--ignoreConfig'], { cwd: project, stdio: ['ignore', 'inherit', 'inherit'] })
  }
  writeFileSync(join(project, 'wrong.ts'), "import { open } from 'zten'\nawait open(7)\n")
  assert.throws(() => execFileSync(tsc, ['--strict', '--module', 'nodenext', '--target', 'es2022', '--types', '', '--noEmit', '--ignoreConfig', 'wrong.ts'], { cwd: project, stdio: 'pipe' }), /./)
  writeFileSync(join(project, 'run.mjs'), "import { check } from 'zten'\nconsole.log((await check(new Blob(['?']))).rule)\n")
  assert.equal(execFileSync('node', ['run.mjs'], { cwd: project }).toString(), 'format-unknown\n')
})

await test('the corpus has the verdicts of the command', async () => {
  assert.ok(copies.length > 1500, `${copies.length} files`)
  const [seen, formats] = [new Set(), new Set()]
  for (const [at, { name, path, file, isOther }] of copies.entries()) {
    const bytes = new Uint8Array(readFileSync(path))
    seen.add(reports[at].verdict)
    formats.add(reports[at].format)
    isAsReported(await check(slow(bytes), { name: file }), at, name)
    // Each way of reading a file takes a module instance of its own, so most files are read in only one way.
    if (at % 4 === 0 || isOther) isAsReported(await check(buffer(bytes), { name: file }), at, name)
  }
  assert.deepEqual([...seen].sort(), ['invalid', 'limit', 'unsupported', 'valid'])
  for (const format of ['ztensor', 'safetensors', 'safetensors-index', 'gguf', 'npy', 'npz', 'torch']) assert.ok(formats.has(format), format)
})

/** Converts `value`, an attribute as the package returns it, to the value that is parsed from the JSON of the command. */
const plain = value => {
  const of = pairs => {
    if (pairs.some(([key]) => typeof key !== 'string')) return new Map(pairs)
    return Object.assign(Object.create(null), Object.fromEntries(pairs))
  }
  if (value === null || typeof value !== 'object') return value
  if (Array.isArray(value)) return value.map(plain)
  if ('$bytes' in value) return new Uint8Array(Buffer.from(value.$bytes, 'hex'))
  if ('$float' in value) return Number(value.$float)
  if ('$nan' in value) return NaN
  if ('$simple' in value) return value.$simple === 23 ? undefined : new Simple(value.$simple)
  if ('$tag' in value) return new Tagged(value.$tag, plain(value.$value))
  const flat = value.$map?.map(plain)
  return of(flat ? flat.flatMap((key, at) => at % 2 ? [] : [[key, flat[at + 1]]]) : Object.entries(value).map(([key, item]) => [key, plain(item)]))
}

await test('attributes: values of each kind', async () => {
  const { attributes } = await import(pathToFileURL(join(project, 'node_modules/zten/dist/attributes.js')))
  const decode = hex => attributes(new Uint8Array(Buffer.from(`a16161${hex}`, 'hex'))).a
  const values = {
    '1b001fffffffffffff': 2 ** 53 - 1, '1b0020000000000000': 2n ** 53n, '1bffffffffffffffff': 2n ** 64n - 1n,
    '20': -1, '3b001ffffffffffffe': 1 - 2 ** 53, '3b001fffffffffffff': -(2n ** 53n), '3bffffffffffffffff': -(2n ** 64n),
    'f93e00': 1.5, 'f98000': -0, 'fa7f800000': Infinity, 'fb3ff199999999999a': 1.1, 'f97e00': NaN, f4: false, f5: true, f6: null, f7: undefined,
    e0: new Simple(0), f8ff: new Simple(255), c100: new Tagged(1, 0), 'd9d9f74100': new Tagged(55799, new Uint8Array(1)),
    '430001ff': new Uint8Array([0, 1, 255]), '5f41004101ff': new Uint8Array([0, 1]), '63efbbbf': '\ufeff', '7f61616162ff': 'ab',
    '80': [], '9f01820203ff': [1, [2, 3]], 'a10102': new Map([[1, 2]]), 'a2616101616102': plain({ a: 2 }), 'bf616101ff': plain({ a: 1 }),
    'a1695f5f70726f746f5f5f01': Object.defineProperty(Object.create(null), '__proto__', { value: 1, enumerable: true, writable: true, configurable: true }),
  }
  for (const [hex, value] of Object.entries(values)) assert.deepEqual(decode(hex), value, hex)
  assert.equal(attributes(new Uint8Array()), null)
  for (const hex of ['', '1b00', '43', '8201']) assert.throws(() => decode(hex), Error, hex)
  const file = await open(accepted('attributes'))
  assert.equal(Object.getPrototypeOf(file.attributes), null)
})

await test('lists and content are those of the command', async () => {
  let [compared, ofOthers, withAttributes] = [0, 0, 0]
  const valid = copies.filter(({ isOther }, at) => reports[at].verdict === 'valid' && (at % 3 === 0 || isOther))
  const lists = json('ls', '--json', valid[0].path, ...valid.slice(1).map(({ path }) => `--also=${path}`))
  for (const [at, { name, path, file: fileName, isOther }] of valid.entries()) {
    const listed = lists[at]
    const file = await open(await openAsBlob(path), { name: fileName })
    assert.deepEqual([file.format, file.generation], [listed.format, listed.generation], name)
    assert.deepEqual(file.attributes, plain(listed.attributes), name)
    withAttributes += file.attributes === null ? 0 : 1
    const objects = file.list()
    assert.deepEqual(objects.map(object => object.name), listed.objects.map(object => object.name), name)
    if (at % 5 !== 0 && !name.startsWith('accept/1.2.3') && !isOther) continue
    for (const [ordinal, object] of objects.entries()) {
      const { attributes, ...described } = listed.objects[ordinal]
      assert.deepEqual(object, { ...described, attributes: plain(attributes) }, name)
      for (const part of object.components) {
        const tensor = await file.get(object.name, part.role).catch(error => error)
        if (part.storage === null || (isOther ? ordinal > 20 : compared > 120)) continue
        const raw = run('cat', '--raw', '--component', part.role, path, object.name)
        if (tensor instanceof Error) {
          assert.equal(raw.length, 0, `${name} ${object.name}: ${tensor.message}`)
          continue
        }
        const { data } = tensor
        assert.deepEqual(Buffer.from(data.buffer, data.byteOffset, data.byteLength), raw, `${name} ${object.name}/${part.role}`)
        if (isOther) ofOthers++
        else compared++
      }
    }
  }
  assert.ok(compared > 100 && ofOthers > 70 && withAttributes > 20, `${compared} and ${ofOthers} components, ${withAttributes} files with attributes`)
})

/** Half of the distance between adjacent floats of a type: relative to the float, and absolute for the smallest floats. */
const HALF = {
  f16: [2 ** -11, 2 ** -25], bf16: [2 ** -8, 2 ** -134], f8_e4m3fn: [2 ** -4, 2 ** -10], f8_e5m2: [2 ** -3, 2 ** -17],
  f8_e4m3fnuz: [2 ** -4, 2 ** -11], f8_e5m2fnuz: [2 ** -3, 2 ** -18],
}

await test('elements as floats', async () => {
  let compared = 0
  const number = value => Number(value.$float ?? value)
  const ztensor = ['accept/1.2.3/dense_all', 'accept/1.2.3/fp8', 'accept/1.2.3/complex', 'accept/0.1.0/big_endian', 'v2/accept/mx'].map(name => `${name}.zt`)
  const others = ['npy/accept/columns.npy', 'npz/accept/compressed.npz', 'npz/accept/stored.npz', 'safetensors/accept/types.safetensors', 'torch/accept/module.pt', 'torch/accept/types-2.pt'].map(name => `other/${name}`)
  for (const path of [...ztensor, ...others].map(name => `${corpus}${name}`)) {
    const file = await open(await openAsBlob(path), { name: basename(path) })
    for (const { name, components } of file.list()) {
      for (const part of components) {
        const said = JSON.parse(run('cat', '--json', '--component', part.role, path, name).toString() || '{}').elements
        if (!said) continue
        const tensor = await file.get(name, part.role)
        const wanted = Float32Array.from([said].flat(64).map(number))
        // The command prints as many digits as tell a narrow float from its neighbors, so the printed value is not exact.
        const [share, least] = HALF[part.dtype] ?? [0, 0]
        const found = tensor.toFloat32().map((value, at) =>
          Math.abs(value - wanted[at]) <= Math.max(Math.abs(value) * share, least) ? wanted[at] : value)
        assert.deepEqual([...found], [...wanted], `${path} ${name}/${part.role}`)
        compared++
      }
    }
  }
  assert.ok(compared > 30, `${compared} components`)
})

await test('slices, of sources that are waited for and others', async () => {
  for (const [path, name] of [['accept/1.2.3/dense_all', 't_f32'], ['accept/0.1.0/big_endian', undefined], ['v2/accept/frames', 'w'], ['accept/1.2.3/zstd', undefined],
    ['other/npy/accept/columns.npy', undefined], ['other/npz/accept/stored.npz', 'columns'], ['other/npz/accept/compressed.npz', undefined],
    ['other/torch/accept/module.pt', 'turned'], ['other/torch/accept/deflated.pt', undefined]]) {
    const bytes = new Uint8Array(readFileSync(`${corpus}${path.startsWith('other/') ? path : `${path}.zt`}`))
    for (const source of [slow(bytes), buffer(bytes), new Blob([bytes])]) {
      const file = await open(source)
      const object = name ?? file.list()[0].name
      const whole = await file.get(object)
      const part = await file.slice(object, [[1, whole.shape[0]]])
      const skipped = whole.data.length / whole.shape[0]
      assert.deepEqual([...part.data], [...whole.data.subarray(skipped)], path)
      for (const wrong of [[0, whole.shape[0] + 1], [-1, 1], [1, 0], [0, 0.5]]) await assert.rejects(file.slice(object, [wrong]), ZtenError)
      for (const wrong of ['0:1', [0, 1], [['0', 1]], [[0]]]) await assert.rejects(file.slice(object, wrong), TypeError)
    }
  }
})

await test('checkpoints of PyTorch', async () => {
  const read = name => new Uint8Array(readFileSync(`${corpus}other/torch/${name}.pt`))
  for (const source of [slow(read('accept/module')), buffer(read('accept/module'))]) {
    const file = await open(source)
    assert.deepEqual([file.format, file.generation], ['torch', null])
    assert.deepEqual(file.list().map(({ name }) => name).filter(name => name.includes('weight')), ['embed.weight', 'norm.weight', 'head.weight'])
    // "embed.weight" and "head.weight" share a storage. "turned" is in column-major order.
    for (const name of ['embed.weight', 'head.weight']) assert.deepEqual([...(await file.get(name)).data], [0.5, -1, 2, Infinity, 0, 3.25])
    const turned = await file.get('turned')
    assert.deepEqual([turned.dtype, turned.shape, [...turned.toFloat32()]], ['bf16', [3, 2], [0, 3, 1, 4, 2, 5]])
    assert.equal((await file.check()).verdict, 'valid')
  }
  const training = await open(read('accept/training'))
  assert.deepEqual([training.attributes.epoch, training.attributes.note], [7, 'x'])
  assert.deepEqual(training.attributes['optimizer.param_groups.0.betas'], [0.9, 0.999])
  // A pickle outside of an archive is not read, but is searched for calls, which decide its verdict.
  const pickle = name => new Uint8Array(readFileSync(`${corpus}other/named/reject/${name}.pkl`))
  await assert.rejects(open(pickle('format-pickle--protocol-2')), { verdict: 'unsupported', rule: 'format-pickle' })
  await assert.rejects(open(pickle('torch-global--protocol-0')), { verdict: 'invalid', rule: 'torch-global' })
  for (const [name, rule, message] of [['global--os', 'torch-global', /"system" of the module "os"/], ['opcode--inst', 'torch-opcode', /./], ['trailing--pickle', 'torch-trailing', /./]]) {
    await assert.rejects(open(read(`reject/torch-${name}`)), error => error instanceof ZtenError && error.verdict === 'invalid'
      && error.rule === rule && error.format === 'torch' && error.offset > 0 && message.test(error.message))
  }
})

/** Returns a zTensor file of generation 1.2 with the dense tensor `w` of `rows` rows, each of 16 elements of `f32`. */
const large = rows => {
  const length = rows * 64
  const text = text => [0x60 + text.length, ...Buffer.from(text)]
  const uint = number => [0x1a, number >>> 24, number >>> 16 & 255, number >>> 8 & 255, number & 255]
  const map = (...entries) => [0xa0 + entries.length, ...entries.flatMap(([key, value]) => [...text(key), ...value])]
  const manifest = map(['version', text('1.2.0')], ['objects', map(['w', map(
    ['shape', [0x82, ...uint(rows), ...uint(16)]], ['format', text('dense')],
    ['components', map(['data', map(['dtype', text('f32')], ['offset', uint(64)], ['length', uint(length)])])])])])
  const bytes = new Uint8Array(64 + length + manifest.length + 16)
  bytes.set(Buffer.from('ZTEN1000'))
  new Float32Array(bytes.buffer, 64, length / 4).forEach((_, at, all) => { all[at] = at })
  bytes.set(manifest, 64 + length)
  new DataView(bytes.buffer).setBigUint64(64 + length + manifest.length, BigInt(manifest.length), true)
  bytes.set(Buffer.from('ZTEN1000'), bytes.length - 8)
  return bytes
}

await test('a large component goes by in windows, and a slice reads little', async () => {
  const bytes = large(200_000)
  let [most, read] = [0, 0]
  const source = slow(bytes, { read: async (start, end) => {
    most = Math.max(most, end - start)
    read += end - start
    return bytes.slice(start, end)
  } })
  const file = await open(source, { memory: 1 << 20 })
  const report = await file.check()
  assert.equal(report.verdict, 'valid', report.message)
  assert.ok(most <= 4 << 20 && read < 1.1 * bytes.length, `${most} ${read}`)
  const { data } = await file.get('w')
  assert.equal(data[3_199_999], 3_199_999)
  const again = await file.get('w', 'data', { verify: false })
  assert.deepEqual(again.data, data)
  read = 0
  const rows = await file.slice('w', [[100_000, 100_002]])
  assert.deepEqual([...rows.data], Array.from({ length: 32 }, (_, at) => 1_600_000 + at))
  assert.ok(read < 1 << 20, `${read} bytes were read`)
  // Each row has an element of the column, so the whole tensor has to be held in memory.
  await assert.rejects(file.slice('w', [[0, 200_000], [3, 4]]), { rule: 'limit-memory', object: 'w' })
  const column = await (await open(source)).slice('w', [[0, 200_000], [3, 4]])
  assert.equal(column.data[7], 7 * 16 + 3)
})

/**
 * Returns a NumPy file with an array of the dtype `descr` and of `shape`, whose elements are the bytes `data`, column by column
 * if `columns`.
 */
const npy = (descr, columns, shape, data) => {
  const literal = `{'descr': '${descr}', 'fortran_order': ${columns ? 'True' : 'False'}, 'shape': (${shape.join(', ')},), }\n`
  const length = Buffer.from([literal.length & 255, literal.length >> 8])
  return new Uint8Array(Buffer.concat([Buffer.from('\x93NUMPY\x01\x00', 'latin1'), length, Buffer.from(literal), data]))
}

/** Returns an `.npz` file with one uncompressed member, `a.npy`, whose content is `member`. */
const npz = member => {
  const name = Buffer.from('a.npy')
  const facts = Buffer.alloc(26)
  facts.writeUInt16LE(20, 0)
  facts.writeUInt16LE(33, 8)
  facts.writeUInt32LE(crc32(member), 10)
  facts.writeUInt32LE(member.length, 14)
  facts.writeUInt32LE(member.length, 18)
  facts.writeUInt16LE(name.length, 22)
  const local = Buffer.concat([Buffer.from('PK\x03\x04'), facts, name, member])
  const entry = Buffer.concat([Buffer.from('PK\x01\x02\x14\x00'), facts, Buffer.alloc(14), name])
  const end = Buffer.alloc(22)
  end.write('PK\x05\x06')
  end.writeUInt16LE(1, 8)
  end.writeUInt16LE(1, 10)
  end.writeUInt32LE(entry.length, 12)
  end.writeUInt32LE(local.length, 16)
  return new Uint8Array(Buffer.concat([local, entry, end]))
}

await test('large arrays of NumPy: in columns, in windows, with a checksum over all', async () => {
  const [rows, columns] = [1000, 1500]
  const numbers = Float32Array.from({ length: rows * columns }, (_, at) => at)
  const data = new Uint8Array(numbers.buffer)
  const inColumns = (row, column) => column * rows + row
  for (const bytes of [npy('<f4', true, [rows, columns], data), npz(npy('<f4', true, [rows, columns], data))]) {
    const file = await open(slow(bytes))
    const [{ name }] = file.list()
    const report = await file.check()
    assert.equal(report.verdict, 'valid', report.message)
    for (const verify of [true, false]) {
      const whole = await file.get(name, 'data', { verify })
      assert.deepEqual([whole.data[1], whole.data[columns + 2]], [inColumns(0, 1), inColumns(1, 2)])
    }
    const part = await file.slice(name, [[999, 1000], [7, 9]])
    assert.deepEqual([...part.data], [inColumns(999, 7), inColumns(999, 8)])
  }
  let most = 0
  const watched = bytes => slow(bytes, { read: async (start, end) => {
    most = Math.max(most, end - start)
    return bytes.slice(start, end)
  } })
  const stored = npz(npy('<f4', false, [rows, columns], data))
  const file = await open(watched(stored), { memory: 1 << 20 })
  const report = await file.check()
  assert.equal(report.verdict, 'valid', report.message)
  assert.deepEqual((await file.get('a')).data, numbers)
  assert.ok(most <= 4 << 20, `${most} bytes`)
  const big = new Uint8Array(data).reverse()
  const { data: turned } = await (await open(slow(npy('>f4', false, [rows * columns], big)))).get('arr_0', 'data', { verify: false })
  assert.deepEqual([turned[0], turned.at(-1)], [rows * columns - 1, 0])
  stored[stored.length >> 1] ^= 1
  assert.equal((await check(slow(stored))).rule, 'zip-crc')
  // If the checksum is wrong, the wrong checksum is reported, and not an invalid bool before it. So all bytes have to be
  // read first.
  const bools = new Uint8Array(6 << 20)
  bools[10] = 2
  const wrong = npz(npy('|b1', false, [bools.length], bools))
  assert.equal((await check(slow(wrong))).rule, 'tensor-bool-value')
  wrong[wrong.length >> 1] ^= 1
  assert.equal((await check(slow(wrong))).rule, 'zip-crc')
})

await test('states of objects: opaque, unread', async () => {
  const text = Buffer.from('abc', 'utf-16le')
  const characters = new Uint8Array(12)
  for (const at of [0, 1, 2]) characters[4 * at] = text[2 * at]
  for (const bytes of [npy('<U3', false, [1], characters), npz(npy('<U3', false, [1], characters))]) {
    for (const source of [bytes, slow(bytes)]) {
      const file = await open(source)
      const [{ name, state, reason, components: [{ dtype, storage }] }] = file.list()
      assert.deepEqual([state, reason, dtype, storage], ['opaque', null, '<U3', null])
      for (const verify of [true, false]) assert.deepEqual(await file.bytes(name, 'data', { verify }), characters)
      for (const read of [() => file.get(name), () => file.slice(name, [[0, 1]])]) {
        const error = { name: 'ZtenError', verdict: 'unsupported', rule: 'unsupported-type', object: name, component: 'data', message: /" is opaque: .*"<U3"/ }
        await assert.rejects(read(), error)
      }
      await assert.rejects(file.dequantize(name), { object: name, message: /is dense/ })
      assert.equal((await file.check()).verdict, 'valid')
    }
  }
  const damaged = npz(npy('<U3', false, [1], characters))
  damaged[Buffer.from(damaged.buffer).indexOf(characters)] ^= 1
  await assert.rejects((await open(damaged)).bytes('a'), { rule: 'zip-crc', object: 'a' })
  const objects = npz(npy('|O', false, [1], new Uint8Array([0x80, 4, 0x4e, 0x2e])))
  for (const source of [objects, slow(objects)]) {
    const file = await open(source)
    const [{ name, state, reason }] = file.list()
    assert.deepEqual([state, reason], ['unread', 'npy-objects'])
    for (const read of [() => file.bytes(name), () => file.get(name), () => file.get(name, 'data', { verify: false }), () => file.slice(name, []), () => file.dequantize(name)]) {
      await assert.rejects(read(), { name: 'ZtenError', verdict: 'unsupported', rule: 'npy-objects', object: name, message: /"a"/ })
    }
  }
  const records = new Uint8Array(readFileSync(`${corpus}other/npy/accept/records.npy`))
  assert.ok((await open(records)).list().every(({ state }) => ['readable', 'opaque'].includes(state)))
  const [dense] = (await open(accepted('dense_all'))).list()
  assert.deepEqual([dense.state, dense.reason], ['readable', null])
  assert.deepEqual(new Float32Array((await (await open(accepted('dense_all'))).bytes('t_f32')).buffer), (await (await open(accepted('dense_all'))).get('t_f32')).data)
})

await test('names of files', async () => {
  const bytes = npy('<u2', false, [2], new Uint8Array([1, 0, 2, 0]))
  const nameOf = async (source, options) => (await open(source, options)).list()[0].name
  assert.equal(await nameOf(slow(bytes)), 'arr_0')
  assert.equal(await nameOf(slow(bytes), { name: 'weights.npy' }), 'weights')
  assert.equal(await nameOf(new Blob([bytes])), 'arr_0')
  if (globalThis.File) assert.equal(await nameOf(new File([bytes], 'picked.npy')), 'picked')
  const index = Buffer.from('{"weight_map":{"w":"a.safetensors"}}')
  assert.equal((await check(buffer(index), { name: 'model.safetensors.index.json' })).rule, 'index-file')
  assert.equal((await check(buffer(index))).rule, 'format-unknown')
})

await test('what has to be held is bounded', async () => {
  const file = await open(slow(accepted('zstd')), { memory: 10 })
  const { name, components: [{ role, offset }] } = file.list()[0]
  const error = await file.get(name).catch(error => error)
  assert.match(error.message, /expected at most 10/)
  assert.deepEqual([error.verdict, error.rule, error.format, error.object, error.component, error.offset], ['limit', 'limit-memory', 'ztensor', name, role, offset])
  assert.equal((await file.check()).rule, 'limit-memory')
  // The tensor has 6 bytes, but reading it reads the whole storage that it is part of, which is more than the limit.
  const strided = await open(slow(new Uint8Array(readFileSync(`${corpus}other/torch/accept/strided.pt`))), { memory: 6 })
  assert.equal(strided.list().find(({ name }) => name === 'every-other').components[0].length, 6)
  await assert.rejects(strided.get('every-other'), { rule: 'limit-memory' })
  assert.equal((await strided.check()).rule, 'limit-memory')
  const vast = await open(npy('<f4', false, [`${2n ** 60n}`, 0], new Uint8Array()))
  assert.deepEqual(vast.list()[0].shape, [2n ** 60n, 0])
  await assert.rejects(vast.get('arr_0'), { name: 'ZtenError', verdict: 'limit', rule: 'limit-memory', format: 'npy', object: 'arr_0', message: /beyond 2\^53/ })
})

await test('errors tell the rule and the place', async () => {
  const path = `${corpus}reject/digest-mismatch--v12-sha256.zt`
  const at = copies.findIndex(({ name }) => name.startsWith('reject/digest-mismatch--'))
  const file = await open(await openAsBlob(copies[at].path))
  const error = await file.get(reports[at].object, reports[at].component).catch(error => error)
  assert.ok(error instanceof ZtenError && error instanceof Error, path)
  for (const key of ['verdict', 'rule', 'clause', 'offset', 'object', 'component', 'message']) assert.equal(error[key], reports[at][key], key)
  await assert.rejects(file.get('no such'), { name: 'ZtenError', message: /^no tensor named "no such"$/ })
  await assert.rejects(file.get('\ud800'), ZtenError)
  await assert.rejects(file.get(reports[at].object, 'no such'), ZtenError)
  const near = await open(accepted('dense_all'))
  await assert.rejects(near.get('t_fp32'), { name: 'ZtenError', message: 'no tensor named "t_fp32"; did you mean "t_f32"?', object: 't_fp32' })
  await assert.rejects(near.dequantize('t_f32'), { name: 'ZtenError', message: /is dense/ })
})

await test('arguments of another type are a TypeError, and nothing else is', async () => {
  const bytes = accepted('dense_all')
  for (const wrong of [7, 'model.zt', null, undefined, {}, { size: 1 }]) {
    await assert.rejects(open(wrong), TypeError)
    await assert.rejects(check(wrong), TypeError)
  }
  await assert.rejects(open(bytes, { name: 7 }), TypeError)
  await assert.rejects(open(bytes, { memory: '1 GiB' }), TypeError)
  const file = await open(bytes)
  for (const call of ['get', 'slice', 'dequantize']) await assert.rejects(file[call](7, []), TypeError)
  await assert.rejects(file.get('t_f32', 7), TypeError)
  for (const wrong of [{ other: 'x' }, { zten: 7 }, { full: null }]) assert.throws(() => setWasm(wrong), TypeError)
  for (const throws of [new TypeError('of its own'), new RangeError('of its own'), 'text', undefined]) {
    const source = slow(bytes, { read: async () => { throw throws }, close: () => { throw throws } })
    await assert.rejects(open(source), ZtenError)
    assert.equal((await check(source)).verdict, 'error')
  }
})

await test('bytes of every kind', async () => {
  const bytes = accepted('dense_all')
  const apart = new Uint8Array(bytes.length + 5)
  apart.set(bytes, 3)
  const shared = new Uint8Array(new SharedArrayBuffer(bytes.length))
  shared.set(bytes)
  const view = apart.subarray(3, 3 + bytes.length)
  const vm = await import('node:vm')
  const foreign = vm.runInNewContext('new Uint8Array(bytes)', { bytes: [...bytes] })
  for (const source of [bytes, Buffer.from(bytes), view, new DataView(apart.buffer, 3, bytes.length), shared, shared.buffer, foreign, foreign.buffer]) {
    assert.deepEqual((await (await open(source)).get('t_f32')).data, (await (await open(buffer(bytes))).get('t_f32')).data)
    assert.equal((await check({ size: bytes.length, read: async (start, end) => source.buffer ? new Uint8Array(source.buffer, source.byteOffset + start, end - start) : source.slice(start, end) })).verdict, 'valid')
  }
  const file = await open(bytes.slice())
  const gone = buffer(bytes)
  const later = await open(gone)
  structuredClone(gone, { transfer: [gone] })
  await assert.rejects(later.get('t_f32'), ZtenError)
  assert.equal((await file.check()).verdict, 'valid')
})

await test('quantized objects as floats', async () => {
  let compared = 0
  for (const path of ['other/gguf/accept/blocks.gguf', 'v2/accept/gguf.zt', 'v2/accept/mx.zt', 'v2/accept/mx-e5m2.zt', 'v2/accept/mx-along-the-first.zt']) {
    const bytes = new Uint8Array(readFileSync(corpus + path))
    for (const source of [slow(bytes), bytes]) {
      const file = await open(source)
      for (const { name, layout, shape } of file.list()) {
        if (layout === 'dense') continue
        const said = JSON.parse(run('cat', '--json', corpus + path, name).toString() || '{}').elements
        if (!said) continue
        const tensor = await file.dequantize(name)
        assert.deepEqual([...tensor.data], [said].flat(64).map(value => Math.fround(Number(value.$float ?? value))), `${path} ${name}`)
        assert.deepEqual([tensor.shape, tensor.dtype, tensor.component], [shape, 'f32', null])
        compared++
      }
    }
  }
  assert.ok(compared >= 10, `${compared} objects`)
  const group = await (await open(accepted('quantized_group'))).dequantize('q_proj')
  assert.deepEqual([group.data[0], group.shape, group.verified], [-1.25 * (13 + 1.25), [8, 8], false])
  const sparse = await open(accepted('csr_raw'))
  await assert.rejects(sparse.dequantize(sparse.list()[0].name), ZtenError)
  const small = await open(slow(new Uint8Array(readFileSync(`${corpus}other/gguf/accept/blocks.gguf`))), { memory: 1 })
  await assert.rejects(small.dequantize(small.list()[0].name), { rule: 'limit-memory' })
})

await test('tensors that are stored as several', async () => {
  const folder = `${corpus}conventions/`
  const cases = readdirSync(folder).filter(name => name.endsWith('.safetensors'))
  assert.ok(cases.length > 40)
  for (const name of cases) {
    const bytes = new Uint8Array(readFileSync(folder + name))
    const wanted = [...new Uint32Array(buffer(readFileSync(folder + name.replace('.safetensors', '.f32'))))]
    for (const source of [slow(bytes), bytes]) {
      const file = await open(source)
      const [object] = file.list()
      assert.deepEqual([file.size, object.state, object.layout.slice(0, 6)], [1, 'readable', 'quant.'], name)
      const { data, shape, dtype } = await file.dequantize(object.name)
      assert.deepEqual([shape, dtype], [object.shape, 'f32'], name)
      assert.deepEqual([...new Uint32Array(data.buffer)], wanted, name)
      for (const { role, length } of object.components) assert.equal((await file.bytes(object.name, role)).length, length, `${name} ${role}`)
      assert.deepEqual(await file.check(), await check(bytes, { conventions: false }), name)
      const plain = await open(source, { conventions: false })
      assert.equal(plain.size, object.components.length, name)
      assert.ok(plain.list().every(({ layout }) => layout === 'dense'), name)
    }
  }
  const mxfp4 = new Uint8Array(readFileSync(`${folder}mxfp4.safetensors`))
  const file = await open(mxfp4)
  const [{ name, layout, shape, bits, group_size, components }] = file.list()
  assert.deepEqual({ name, layout, shape, bits, group_size }, { name: 'experts.proj', layout: 'quant.mxfp4', shape: [2, 3, 64], bits: 4, group_size: 32 })
  assert.deepEqual(components.map(({ role, dtype }) => [role, dtype]), [['blocks', 'u8'], ['scales', 'u8']])
  assert.deepEqual((await file.get('experts.proj', 'scales')).data.length, 12)
  await assert.rejects(file.get('experts.proj'), /has the components "blocks", "scales": name one/)
  await assert.rejects(open(mxfp4, { conventions: 1 }), TypeError)
})

/** A module whose \`begin\` traps, with the exports that the package uses until then: its memory and \`begin\`. */
const TRAP = new Uint8Array(Buffer.from('0061736d01000000' + '0107016002' + '7e7f' + '017f' + '03020100' + '0503010001' + '0712' + '02' +
  '066d656d6f727902' + '00' + '05626567696e' + '0000' + '0a05010300000b', 'hex'))

await test('modules: where they are, and what fails of them', async () => {
  const folder = join(project, 'node_modules/zten/dist/')
  const [zten, formats, full] = ['zten', 'formats', 'full'].map(name => readFileSync(`${folder}${name}.wasm`))
  const [array, dense] = [npy('<u2', false, [2], new Uint8Array([1, 0, 2, 0])), accepted('dense_all')]
  for (const given of [zten, buffer(zten), await WebAssembly.compile(zten), pathToFileURL(`${folder}zten.wasm`),
    pathToFileURL(`${folder}zten.wasm`).href, `data:application/wasm;base64,${zten.toString('base64')}`, full]) {
    setWasm({ zten: given })
    assert.equal((await check(dense)).verdict, 'valid')
  }
  const empty = await serve(() => undefined)
  for (const [given, message] of [[new Uint8Array(8), /WebAssembly.compile/], [new URL('http://127.0.0.1:1/zten.wasm'), /fetch failed/],
    [`${empty.url}zten.wasm`, /could not be loaded: status 404/],
    ['nowhere.wasm', /Invalid URL/], [pathToFileURL(`${folder}none.wasm`), /ENOENT/], [TRAP, /the wasm module stopped: unreachable/]]) {
    setWasm({ zten: given, full: given })
    for (const bytes of [dense, array]) await assert.rejects(open(bytes), error => error instanceof ZtenError && error.verdict === 'error' && message.test(error.message) && error.cause !== undefined)
    assert.match((await check(dense)).message, message)
  }
  empty.server.close()
  setWasm({ zten, formats: full, full })
  assert.equal((await check(array)).verdict, 'valid')
  setWasm({ formats })
  assert.equal((await check(new Uint8Array(readFileSync(`${corpus}other/gguf/accept/tiny.gguf`)))).verdict, 'valid')
})

/** Tensors of every dtype with a typed array, and of one dtype of each kind without a typed array. */
const tensors = {
  ...Object.fromEntries([Float64Array, Float32Array, Int32Array, Int16Array, Int8Array, Uint32Array, Uint16Array, Uint8Array]
    .map(Type => [Type.name, { data: Type.from([0, 1, 2, 3, 4, 5]), shape: [2, 3] }])),
  bigint: { data: BigInt64Array.of(-1n, 2n ** 62n), shape: [2, 1] },
  biguint: BigUint64Array.of(2n ** 64n - 1n),
  f16: { data: Uint16Array.of(0x3c00, 0xbc00), dtype: 'f16' },
  bool: { data: Uint8Array.of(0, 1, 1), dtype: 'bool' },
  complex: { data: Float32Array.of(1, 2, 3, 4), dtype: 'complex64' },
  scalar: { data: Float32Array.of(7), shape: [] },
  empty: { data: new Float32Array(), shape: [0, 3] },
}
const narrow = {
  bf16: { data: Uint16Array.of(0x3f80), dtype: 'bf16' },
  f8: { data: Uint8Array.of(0x38, 0xb8), dtype: 'f8_e4m3fn', shape: [1, 2] },
  f4: { data: Uint8Array.of(0x21, 0x43), dtype: 'f4_e2m1', shape: [2, 2] },
}
const { bf16, f8 } = narrow
const attributesOf = file => JSON.parse(JSON.stringify(file.attributes))

await test('written files hold what was given, in each format', async () => {
  for (const [name, given, options] of [
    ['a.zt', { ...tensors, bf16, f8 }, { attributes: { format: 'pt' } }], ['a.zt', { ...tensors, bf16, f8 }, { generation: '2' }],
    ['a.zt', tensors, { zstd: 3 }], ['A.SafeTensors', { ...tensors, ...narrow }, { attributes: { format: 'pt' } }], ['a.npz', tensors],
    ...Object.entries(tensors).map(([name, tensor]) => [`${name}.npy`, { [name]: tensor }]),
  ]) {
    const bytes = await encode(name, given, options)
    assert.equal((await check(bytes, { name })).verdict, 'valid', name)
    const file = await open(bytes, { name })
    assert.deepEqual(file.list().map(({ name }) => name).sort(), Object.keys(given).sort(), name)
    if (options?.attributes) assert.deepEqual(attributesOf(file), options.attributes)
    for (const [key, tensor] of Object.entries(given)) {
      const found = await file.get(key)
      const { data, dtype, shape } = ArrayBuffer.isView(tensor) ? { data: tensor } : tensor
      if (dtype) assert.equal(found.dtype, dtype, key)
      assert.deepEqual(new Uint8Array(found.data.buffer), new Uint8Array(data.buffer, data.byteOffset, data.byteLength), `${name}: ${key}`)
      if (shape) assert.deepEqual(found.shape, shape, key)
      if (dtype === 'complex64') assert.deepEqual(found.shape, [data.length / 2])
    }
  }
})

await test('names of dtypes that other programs use are those of the command', async () => {
  const two = new Uint16Array([0x3f80, 0xbf80])
  for (const [name, own, data] of [
    ['BF16', 'bf16', two], ['bfloat16', 'bf16', two], ['fp16', 'f16', two], ['HALF', 'f16', two], ['float32', 'f32', new Float32Array(2)],
    ['fp32', 'f32', new Float32Array(2)], ['F8_E4M3', 'f8_e4m3fn', new Uint8Array(2)], ['f8_e4m3', 'f8_e4m3fn', new Uint8Array(2)],
    ['long', 'i64', new BigInt64Array(2)],
    ['boolean', 'bool', new Uint8Array(2)], ['c64', 'complex64', new Float32Array(4)],
  ]) {
    for (const suffix of ['zt', 'safetensors']) {
      if (suffix === 'safetensors' && own === 'complex64') continue
      const [written, wanted] = [await encode(`a.${suffix}`, { w: { data, dtype: name, shape: [2] } }), await encode(`a.${suffix}`, { w: { data, dtype: own, shape: [2] } })]
      assert.deepEqual(written, wanted, name)
    }
  }
  for (const name of ['f33', '', 'toString', 'bf 16']) {
    await assert.rejects(encode('a.zt', { w: { data: two, dtype: name } }), { name: 'ZtenError', object: 'w', message: /^unknown dtype "[^"]*", expected a name such as "bf16"/ })
  }
  await assert.rejects(encode('a.zt', { w: { data: two, dtype: 'F32' } }), { name: 'TypeError', message: /holds no elements of the dtype f32/ })
})

await test('written files are those of the command', async () => {
  for (const [from, only, names] of [['types', [], ['types.zt', 'types.safetensors']], ['two', [], ['two.npz']], ['two', ['--only', 'b'], ['two.npy']]]) {
    const path = `${corpus}other/safetensors/accept/${from}.safetensors`
    const file = await open(new Uint8Array(readFileSync(path)))
    const given = {}
    for (const { name } of file.list()) if (only.length === 0 || name === 'b') given[name] = await file.get(name)
    for (const name of names) {
      run('convert', ...only, path, join(folder, name))
      const written = await encode(name, given, { attributes: file.attributes ?? undefined })
      assert.deepEqual(Buffer.from(written), readFileSync(join(folder, name)), name)
    }
  }
})

await test('what cannot be written is named', async () => {
  const { Float32Array: one } = tensors
  for (const [args, message, object, verdict = 'error'] of [
    [['a.pt', tensors], /unknown suffix of "a.pt": expected .zt, .safetensors, .npz, .npy, or the option format/],
    [['a', tensors], /unknown suffix/],
    [['a.zt', tensors, { format: 'pt' }], /format is "pt", expected "zt", "safetensors", "npz", "npy"/],
    [['a.npz', narrow], /cannot hold the type bf16/, 'bf16', 'unsupported'],
    [['a.npy', tensors], /holds exactly one/, null, 'unsupported'],
    [['a.npz', { one }, { attributes: { a: 'b' } }], /attribute "a" cannot be written/, null, 'unsupported'],
    [['a.safetensors', { __metadata__: one }], /__metadata__/, '__metadata__', 'unsupported'],
    [['a.zt', { one: { ...one, shape: [7] } }], /the data has 24 bytes, expected 28 for f32 of the shape \[7\]/, 'one'],
    [['a.zt', { one: { ...one, shape: [2n ** 63n, 2n ** 63n] } }], /expected 18446744073709551615/, 'one'],
    [['a.zt', { one: { data: new Uint8Array(1), dtype: 'q4' } }], /unknown dtype "q4", expected a name such as "bf16"/, 'one'],
    [['a.zt', { one: { data: new Uint8Array(0), dtype: 'unknown' } }], /unknown dtype "unknown"/, 'one'],
    [['a.safetensors', { one: { data: Uint8Array.of(2), dtype: 'bool' } }], /a bool is 2/, 'one'],
    [['a.zt', { one: { data: Uint8Array.of(2), dtype: 'bool' } }], /a bool is stored as 2, expected 0 or 1/, 'one', 'invalid'],
    [['a.zt', { one }, { generation: '3' }], /generation is "3", expected "1.2" or "2"/],
    [['a.zt', { one }, { zstd: 99 }], /expected 1 to 5/],
    [['a.npz', { one }, { zstd: 3 }], /a .npz file has no zstd/],
    [['a.safetensors', { one }, { generation: '2' }], /a .safetensors file has no generation/],
    [['a.npz', { 'a/../b': one }], /name/, 'a/../b', 'unsupported'],
    [['a.zt', { f4: narrow.f4 }], /unsupported `type`/, 'f4', 'unsupported'],
    [['a.zt', { one }, { attributes: { a: '\ud800' } }], /lone surrogate/],
    [['a.zt', { '\ud800': one }], /lone surrogate/],
    [['a.zt', { one }, { attributes: { a: 2n ** 64n } }], /the integer 18446744073709551616 needs more than 64 bits/],
    [['a.zt', { one }, { attributes: { a: -(2n ** 64n) - 1n } }], /the integer -18446744073709551617 needs more/],
    [['a.zt', { one }, { attributes: { a: Array.from({ length: 70 }).reduce(inner => [inner], 0) } }], /nest deeper than 64/],
  ]) {
    await assert.rejects(encode(...args), error => {
      assert.ok(error instanceof ZtenError, String(error))
      assert.match(error.message, message)
      assert.deepEqual([error.object, error.verdict], [object ?? null, verdict], error.message)
      return true
    })
  }
  assert.deepEqual((await open(await encode('a', { one }, { format: 'npz' }), { name: 'a.npz' })).format, 'npz')
  for (const args of [
    [7, tensors], ['a.zt'], ['a.zt', new Map([['one', one]])], ['a.zt', [one]], ['a.zt', { one }, { attributes: [1] }], ['a.zt', { one }, { attributes: null }],
    ['a.zt', { one: { data: new Float32Array(3), dtype: 'complex64' } }], ['a.zt', null], ['a.zt', { a: 7 }], ['a.zt', { a: null }], ['a.zt', { a: { data: [1, 2] } }],
    ['a.zt', { a: new DataView(new ArrayBuffer(8)) }], ['a.zt', { a: { data: new Float32Array(1), dtype: 'f64' } }],
    ['a.zt', { a: { data: new Float32Array(1), shape: [-1] } }], ['a.zt', { a: { data: new Float32Array(1), shape: 'x' } }],
    ['a.zt', tensors, { zstd: '3' }], ['a.zt', tensors, { attributes: 7 }], ['a.zt', tensors, { attributes: { a: () => 1 } }],
  ]) await assert.rejects(encode(...args), TypeError, JSON.stringify(args, shown))
})

await test('attributes of each kind are written as they were read', async () => {
  const made = {
    null: null, undefined, yes: true, zero: 0, minus: -0, small: -24, big: 2 ** 53, bigger: 2n ** 64n - 1n, least: -(2n ** 64n), float: 1.5, nan: NaN,
    text: 'ä\u0000', bytes: Uint8Array.of(1, 2), list: [1, [2, { a: 'b' }]], map: new Map([[1, 'one'], ['two', 2]]),
    tagged: new Tagged(32, 'x'), simple: new Simple(99), __proto__: undefined, ...JSON.parse('{"__proto__": 1}'),
  }
  const { attributes } = await open(await encode('a.zt', { one: new Float32Array(1) }, { attributes: made }))
  assert.deepEqual(Object.keys(attributes), Object.keys(made))
  for (const [key, value] of Object.entries(made)) assert.deepEqual(JSON.stringify(attributes[key], shown), JSON.stringify(value, shown), key)
  const texts = await open(await encode('a.safetensors', { one: new Float32Array(1) }, { attributes: { list: [1, { a: 1.5 }], text: 'x' } }))
  assert.deepEqual(attributesOf(texts), { list: [1, { a: 1.5 }], text: 'x' })
})

await test('files with a large tensor are little longer than it, and can be sliced', async () => {
  const data = new Float32Array(16 << 20).fill(1.5)
  for (const name of ['a.zt', 'a.safetensors', 'a.npz', 'a.npy']) {
    const bytes = await encode(name, { data })
    assert.ok(bytes.length > data.byteLength && bytes.length < data.byteLength + 8192, `${name}: ${bytes.length}`)
    const { data: [first, last] } = await (await open(bytes, { name: name.replace('a.', 'data.') })).slice('data', [[data.length - 2, data.length]])
    assert.deepEqual([first, last], [1.5, 1.5], name)
  }
})

await test('sources that err', async () => {
  const bytes = accepted('dense_all')
  const kinds = {
    fewer: { read: async (start, end) => bytes.slice(start, end - 1) },
    more: { read: async (start, end) => bytes.slice(start, end + 1) },
    nothing: { read: async () => undefined },
    text: { read: async () => 'text' },
    throws: { read: async () => { throw new Error('gone') } },
    sync: { read: async () => assert.fail(), readSync: (start, end) => bytes.slice(start, end - 1) },
    negative: { size: -1 }, half: { size: 1.5 }, huge: { size: 2 ** 60 }, none: { size: undefined },
  }
  for (const [kind, more] of Object.entries(kinds)) {
    const error = await open(slow(bytes, more)).catch(error => error)
    assert.ok(error instanceof ZtenError && error.verdict === 'error', `${kind}: ${error}`)
  }
  for (const size of [0, 7, 100, bytes.length - 1, bytes.length + 1, 2 ** 53 - 1]) {
    let most = 0
    const report = await check({ size, read: (start, end) => {
      most = Math.max(most, end - start)
      const given = new Uint8Array(end - start)
      given.set(bytes.slice(start, end))
      return given
    } })
    assert.notEqual(report.verdict, 'valid', `${size}`)
    assert.ok(most <= 4096, `${most} bytes at once`)
  }
  // While `gone` is true, the source returns no bytes, as if the file had been removed after it was opened.
  let gone = false
  const file = await open(slow(bytes, { read: async (start, end) => gone ? new Uint8Array() : bytes.slice(start, end) }))
  gone = true
  await assert.rejects(file.get('t_f32'), ZtenError)
  assert.equal((await file.check()).verdict, 'error')
  gone = false
  assert.equal((await file.check()).verdict, 'valid')
})

await test('closing, and being collected', async () => {
  const bytes = accepted('dense_all')
  let closed = 0
  const source = () => slow(bytes, { close: () => { closed++ } })
  const file = await open(source())
  const pending = file.get('t_f32')
  file.close()
  file.close()
  assert.equal(closed, 1)
  await assert.rejects(pending, /was closed/)
  assert.throws(() => file.list(), /was closed/)
  await assert.rejects(open(source().size === 0 ? null : slow(new Uint8Array(30), { close: () => { closed++ } })), ZtenError)
  assert.equal(closed, 2)
  const other = await open(source())
  other[Symbol.dispose]()
  assert.equal(closed, 3)
  writeFileSync(join(project, 'collect.mjs'), `
    import { open } from 'zten'
    const bytes = new Uint8Array((await import('node:fs')).readFileSync(${JSON.stringify(`${corpus}accept/1.2.3/dense_all.zt`)}))
    let closed = 0
    for (let at = 0; at < 20; at++) {
      const file = await open({ size: bytes.length, read: async (start, end) => bytes.slice(start, end), close: () => { closed++ } })
      await file.get('t_f32')
    }
    for (let at = 0; at < 50 && closed < 15; at++) {
      gc()
      await new Promise(resolve => setTimeout(resolve, 10))
    }
    console.log(closed >= 15)`)
  assert.equal(execFileSync('node', ['--expose-gc', 'collect.mjs'], { cwd: project }).toString(), 'true\n')
})

const modules = join(project, 'node_modules/zten/')
const { server, asked, url } = await serve(path => {
  if (path === '/') return Buffer.from('<!doctype html><title>zten</title>')
  if (path === '/worker.js') return Buffer.from(`
    import { check } from '/zten/dist/index.js'
    onmessage = async ({ data }) => {
      const reports = []
      for (const blob of data) reports.push(await check(blob))
      postMessage(reports)
    }`)
  // Below `/apart/`, the server has the scripts of the package without its wasm modules, as some bundlers output them.
  if (path.startsWith('/apart/') && path.endsWith('.js')) return modules + path.slice(7)
  const at = path.startsWith('/zten/') ? modules + path.slice(6) : path.startsWith('/corpus/') ? corpus + path.slice(8) : join(folder, path)
  return existsSync(at) && statSync(at).isFile() ? at : undefined
})

/** The ways in which the server of `server.mjs` errs, each with the pattern of the error that the package reports. */
const LIES = {
  ignores: /ignores ranges/, changes: /changed on the server/, grows: /changed on the server|gave the range/,
  shifts: /gave the range/, less: /gave the range|does not tell the size/, unsized: /does not tell the size/, encodes: /encodes what it sends/,
  long: /more than/, short: /sent \d+ bytes/, unversioned: /no ETag/,
  cuts: /the request failed/, empty: /no ETag/, hollow: /no ETag/, tags: /more than one ETag/, dates: /more than one Last-Modified/, ranges: /does not tell the size/, never: /took more than/,
}

await test('URLs: ranges, versions, and servers that err', async () => {
  const at = new URL('corpus/accept/1.2.3/dense_all.zt', url)
  const file = await open(at)
  const { data } = await file.get('t_f32')
  assert.equal(data.length, 6)
  assert.ok(asked.filter(({ path }) => path === at.pathname).every(({ range, cookie }) => range && !cookie))
  assert.equal((await check(new URL('corpus/v2/accept/frames.zt', url))).verdict, 'valid')
  const array = await open(new URL('corpus/other/npy/accept/columns.npy?key=a/b', url))
  assert.deepEqual(array.list().map(({ name }) => name), ['columns'])
  assert.equal((await check(new URL('corpus/other/gguf/accept/tiny.gguf', url))).verdict, 'valid')
  for (const [how, message] of Object.entries(LIES)) {
    // The server errs in all replies, or only in replies whose range begins after the first byte: those after the first
    // reply.
    for (const from of [0, 1]) {
      asked.length = 0
      const report = await check(new URL(`?how=${how}&from=${from}`, at), { timeout: how === 'never' ? 100 : 30_000 })
      assert.equal(report.verdict, 'error', `${how}, from ${from}: ${report.message}`)
      assert.match(report.message, message, `${how}, from ${from}: ${report.message}`)
    }
  }
  assert.equal((await check(new URL('?how=redirects', at))).verdict, 'valid')
  // Only a server with a certificate can redirect from https, so this function stands in for `fetch` and for the redirect to `to`.
  const led = to => async (_, init) => {
    const response = await fetch(at, init)
    return Object.defineProperties(response, { redirected: { value: true }, url: { value: to } })
  }
  const secure = new URL('https://example.org/dense_all.zt')
  assert.match((await check(secure, { fetch: led('http://127.0.0.1/') })).message, /redirected from https/)
  assert.equal((await check(secure, { fetch: led('https://example.net/') })).verdict, 'valid')
  assert.match((await check(new URL('?how=ignores', at))).message, /ignores ranges/)
  assert.match((await check(new URL('missing', url))).message, /status 404/)
  // The first request asks for more than one byte, and the bytes that it returned are not requested again.
  asked.length = 0
  assert.equal((await check(new URL('?how=falsy', at))).verdict, 'valid')
  assert.deepEqual([asked[0].range, asked.filter(({ range }) => Number(/=(\d+)/.exec(range)[1]) < 512).length], ['bytes=0-511', 1])
  const stopping = new AbortController()
  const pending = open(new URL('?how=never', at), { signal: stopping.signal })
  stopping.abort(new Error('enough'))
  await assert.rejects(pending, error => error instanceof ZtenError && error.cause.message === 'enough' && /aborted/.test(error.message))
  await assert.rejects(open(at, { signal: stopping.signal }), ZtenError)
  for (const fetch of [() => { throw new TypeError('no network') }, async () => Promise.reject(new TypeError('no network')), async () => undefined]) {
    await assert.rejects(open(at, { fetch }), error => error instanceof ZtenError && error.verdict === 'error')
  }
  await assert.rejects(open(new URL('http://127.0.0.1:1/a.zt')), { name: 'ZtenError', message: /^the request failed: fetch failed: ./ })
  let init
  await check(at, { fetch: (url, given) => fetch(url, init = given), headers: { 'x-key': '1' } })
  assert.deepEqual([init.credentials, init.headers['x-key']], ['omit', '1'])
})

await test('what a server claims takes no memory', async () => {
  const size = 2 ** 30 + 24
  const footer = new Uint8Array(16)
  new DataView(footer.buffer).setBigUint64(0, 2n ** 30n, true)
  footer.set(new TextEncoder().encode('ZTEN1000'), 8)
  let pieces = 0
  const claiming = async (_, { headers: { Range } }) => {
    const [start, end] = /(\d+)-(\d+)/.exec(Range).slice(1).map(Number)
    const reply = body => new Response(body, { status: 206, headers: { 'content-range': `bytes ${start}-${end}/${size}`, etag: '"1"' } })
    if (start === 0) return reply(Buffer.concat([Buffer.from('ZTEN1000'), Buffer.alloc(512)]).subarray(0, end + 1))
    if (end === size - 1) return reply(footer)
    // The server sends 1 MiB of the manifest in pieces of one byte.
    pieces = 0
    return reply(new ReadableStream({
      pull(stream) {
        if (pieces++ === 2 ** 20) stream.close()
        else stream.enqueue(new Uint8Array(1))
      },
    }, { highWaterMark: 0 }))
  }
  const before = process.memoryUsage().arrayBuffers
  let most = 0
  const watching = setInterval(() => { most = Math.max(most, process.memoryUsage().arrayBuffers - before) }, 10)
  const report = await check(new URL('https://example.org/a.zt'), { fetch: claiming })
  clearInterval(watching)
  // The length in the message is the length of the manifest without the part that is in the first 512 bytes of the file,
  // which were read before.
  assert.match(report.message, /sent 1048576 bytes, expected 1073741320/)
  assert.ok(pieces > 2 ** 20 && most < 32 << 20, `${most} bytes`)
})

await several({ open, check, ZtenError })

await test('Chromium: the corpus has the same verdicts, in the page and in a worker', async () => {
  const browser = await browse()
  try {
    const page = await browser.newPage()
    await page.goto(url)
    await page.context().addCookies([{ name: 'secret', value: '1', url }])
    const said = await page.evaluate(async ({ names }) => {
      const { check, encode, open } = await import('/zten/dist/index.js')
      const blobs = []
      for (let at = 0; at < names.length; at += 50) {
        blobs.push(...await Promise.all(names.slice(at, at + 50).map(async (name, more) =>
          new File([await (await fetch(`/copies/${at + more}/${name}`)).blob()], name))))
      }
      const page = []
      for (const blob of blobs) page.push(await check(blob))
      const worker = new Worker('/worker.js', { type: 'module' })
      const inWorker = await new Promise((resolve, reject) => {
        worker.onmessage = ({ data }) => resolve(data)
        worker.onerror = ({ message }) => reject(new Error(message))
        worker.postMessage(blobs.filter((_, at) => at % 4 === 0))
      })
      const apart = await import('/apart/dist/index.js')
      const lost = await apart.open(new File([await (await fetch('/corpus/accept/1.2.3/dense_all.zt')).blob()], 'a.zt')).catch(error => `${error.name}: ${error.message}`)
      apart.setWasm({ zten: '/zten/dist/zten.wasm' })
      const again = (await apart.check(new URL('/corpus/accept/1.2.3/dense_all.zt', location.href))).verdict
      const file = await open(new URL('/corpus/accept/1.2.3/dense_all.zt', location.href))
      const bits = (await file.get('t_f16')).toFloat32()
      const written = await open(await encode('a.npz', { x: new Float32Array([1, 2]) }), { name: 'a.npz' })
      return { lost, again, page, inWorker, remote: await file.check(), bits: [...bits], written: [...(await written.get('x')).data] }
    }, { names: copies.map(({ file }) => file) })
    for (const [at, { name }] of copies.entries()) {
      isAsReported(said.page[at], at, name)
      if (at % 4 === 0) isAsReported(said.inWorker[at / 4], at, name)
    }
    assert.match(said.lost, /^ZtenError: the module zten.wasm could not be loaded: status 404/)
    assert.deepEqual([said.again, said.remote.verdict], ['valid', 'valid'])
    assert.deepEqual(said.written, [1, 2])
    assert.deepEqual(said.bits, [-1.25, -0.75, -0.25, 0.25, 0.75, 1.25])
    assert.ok(asked.filter(({ path, range }) => range && path.startsWith('/corpus/')).every(({ cookie }) => !cookie), 'a cookie was sent')
  } finally {
    await browser.close()
  }
})

server.close()
rmSync(folder, { recursive: true })
end()
