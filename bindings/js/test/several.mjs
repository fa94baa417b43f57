// Tests of models in several files, which the package reads from lists of files, from URLs, and from sources that the
// caller finds.
import assert from 'node:assert/strict'
import { existsSync, openAsBlob, readFileSync, readdirSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { corpus, json, run, test } from './harness.mjs'
import { serve } from './server.mjs'

/**
 * Returns the paths, below the corpus, of the files that refer to other files: indices, split GGUF models and zTensor files with
 * shards.
 */
const roots = () => [
  ...['accept', 'reject'].flatMap(kind => readdirSync(`${corpus}other/index/${kind}`).filter(name => name.endsWith('.json')).map(name => `other/index/${kind}/${name}`)),
  ...['accept', 'reject'].flatMap(kind => readdirSync(`${corpus}other/gguf/${kind}`).filter(name => /-00001-of-/.test(name)).map(name => `other/gguf/${kind}/${name}`)),
  ...readdirSync(`${corpus}v2/shards`).filter(name => name.endsWith('.zt') && !/-(s|t|a|bb)\.zt$/.test(name)).map(name => `v2/shards/${name}`),
].map(name => corpus + name)

/** Returns a source of `bytes` that can be read only asynchronously. */
const slow = bytes => ({ size: bytes.length, read: async (start, end) => bytes.slice(start, end) })

/** Returns the files `names` of `folder` as `File`s, as an `<input>` lists them: with the folder `under`, if it is not empty. */
const listed = (folder, names, under = '') => names.map(name => {
  const file = new File([readFileSync(join(folder, name))], basename(name))
  return under ? Object.defineProperty(file, 'webkitRelativePath', { value: `${under}/${name}` }) : file
})

export const several = async ({ open, check, ZtenError }) => {
  await test('several: the verdict is that of the command, from lists, functions and sources that are waited for', async () => {
    let [valid, other] = [0, 0]
    for (const path of roots()) {
      const [report] = json('check', '--json', path)
      const wanted = { ...report, file: null, more: report.verdict === 'valid' ? report.more : null }
      const folder = dirname(path)
      const beside = name => existsSync(join(folder, name)) && statSync(join(folder, name)).isFile() ? join(folder, name) : undefined
      const at = name => beside(name) && openAsBlob(beside(name))
      assert.deepEqual(await check(await openAsBlob(path), { name: basename(path), siblings: at }), wanted, path)
      const waited = name => beside(name) && slow(readFileSync(beside(name)))
      assert.deepEqual(await check(slow(readFileSync(path)), { name: basename(path), siblings: waited }), wanted, path)
      const files = listed(folder, readdirSync(folder).filter(name => statSync(join(folder, name)).isFile()), 'model')
      assert.deepEqual(await check(files, { name: `model/${basename(path)}` }), wanted, path)
      if (report.verdict === 'valid') valid++
      else other++
    }
    assert.ok(valid > 25 && other > 25, `${valid} ${other}`)
  })

  const two = ['two.index.json', 'a.safetensors', 'b.safetensors']
  const accepted = `${corpus}other/index/accept`

  await test('several: content from sibling files, whole, sliced and unverified', async () => {
    for (const [path, names] of [[`${accepted}/two.index.json`, two], [`${corpus}other/gguf/accept/two-00001-of-00002.gguf`, undefined], [`${corpus}v2/shards/dense.zt`, undefined], [`${corpus}v2/shards/csr.zt`, undefined]]) {
      const folder = dirname(path)
      const some = names ?? readdirSync(folder).filter(name => name.startsWith(basename(path).replace(/(-00001-of-\d+)?\.\w+$/, '')) && !name.includes('--'))
      for (const source of [listed(folder, some), slow(readFileSync(path))]) {
        const options = Array.isArray(source) ? { name: basename(path) } : { name: basename(path), siblings: name => slow(readFileSync(join(folder, name))) }
        const file = await open(source, options)
        assert.ok(file.list().some(({ components }) => components.some(({ shard }) => shard !== null)), path)
        for (const { name, layout, shape, components } of file.list()) {
          for (const { role, storage } of components.filter(({ storage }) => storage !== null)) {
            const raw = run('cat', '--raw', '--component', role, path, name)
            for (const verify of [true, false]) {
              const { data } = await file.get(name, role, { verify })
              assert.deepEqual(Buffer.from(data.buffer, data.byteOffset, data.byteLength), raw, `${path} ${name}/${role} ${storage}`)
            }
          }
          if (layout !== 'dense' || shape.length === 0) continue
          const [whole, part] = [await file.get(name), await file.slice(name, [[shape[0] - 1, shape[0]]])]
          assert.deepEqual([...part.data], [...whole.data.subarray(-part.data.length)], `${path} ${name}`)
        }
        file.close()
      }
    }
  })

  await test('several: the model is found in a list, or must be named', async () => {
    const model = listed(accepted, two)
    // A list of files may be in any order, and may be any iterable.
    for (const files of [model, model.toReversed(), new Set(model)]) {
      const file = await open(files)
      assert.deepEqual([file.format, file.list().map(({ name }) => name)], ['safetensors-index', ['a', 'b']])
    }
    assert.equal((await open(listed(accepted, two.slice(1, 2)))).format, 'safetensors')
    await assert.rejects(open(listed(accepted, two.slice(1))), { name: 'ZtenError', message: /^the list has 2 models: "a\.safetensors", "b\.safetensors"; name one with the option `name`$/ })
    assert.deepEqual((await open(listed(accepted, two.slice(1)), { name: 'b.safetensors' })).list().map(({ name }) => name), ['b'])
    await assert.rejects(open(model, { name: 'c.safetensors' }), { name: 'ZtenError', message: /^the list has no file "c\.safetensors"/ })
    await assert.rejects(open([]), { name: 'ZtenError', message: 'the list has no files' })
    for (const wrong of [[7], [new Blob([])], [null], new Map([[1, 2]])]) await assert.rejects(open(wrong), TypeError)
    // Numbered files in a list with an index belong to the index, so the index is the only model.
    const numbered = [['a', 'model-00001-of-00002.safetensors'], ['b', 'model-00002-of-00002.safetensors']]
    const index = new File([JSON.stringify({ weight_map: Object.fromEntries(numbered) })], 'model.safetensors.index.json')
    const parts = numbered.map(([name, to]) => new File([readFileSync(`${accepted}/${name}.safetensors`)], to))
    const config = new File(['{}'], 'config.json')
    assert.equal((await open([config, ...parts, index])).size, 2)
    // The option `name` opens any file of the list alone, also one that belongs to an index or has no suffix.
    for (const [at, { name }] of parts.entries()) assert.deepEqual((await open([index, ...parts], { name })).list().map(({ name }) => name), [numbered[at][0]])
    const [other] = listed(accepted, ['a.safetensors']).map(file => new File([file], 'weights'))
    assert.equal((await open([index, other], { name: 'weights' })).size, 1)
  })

  await test('several: what is missing, and files that must not be read', async () => {
    const index = readFileSync(`${accepted}/two.index.json`)
    const name = 'two.index.json'
    const missing = { name: 'ZtenError', rule: 'index-file', shard: 'a.safetensors' }
    for (const options of [{}, { siblings: false }, { siblings: () => undefined }, { siblings: async () => null }]) {
      await assert.rejects(open(index, { name, ...options }), missing)
    }
    await assert.rejects(open(listed(accepted, two.slice(0, 2))), { ...missing, shard: 'b.safetensors' })
    await assert.rejects(open(listed(accepted, two), { siblings: false }), missing)
    for (const wrong of ['a', 7, {}]) await assert.rejects(open(index, { name, siblings: wrong }), TypeError)
    for (const wrong of ['a.safetensors', 7, {}]) for (const call of [open, check]) await assert.rejects(call(index, { name, siblings: () => wrong }), TypeError)
    await assert.rejects(open(index, { name, siblings: () => { throw new Error('of its own') } }), error => error instanceof ZtenError && error.cause.message === 'of its own')
    // A zTensor file whose shards are missing still opens. Only checking it and reading the tensors in the shards fail.
    const file = await open(readFileSync(`${corpus}v2/shards/dense.zt`))
    assert.equal((await file.check()).rule, 'unsupported-shard')
    await assert.rejects(file.get('w'), { rule: 'unsupported-shard' })
    // The file and each of its sibling files are closed exactly once: by `close`, and when opening fails.
    let closed = 0
    const closing = bytes => ({ ...slow(bytes), close: () => { closed++ } })
    const open2 = await open(closing(index), { name, siblings: path => closing(readFileSync(join(accepted, path))) })
    open2.close()
    open2.close()
    assert.equal(closed, 3)
    await assert.rejects(open(closing(index), { name, siblings: path => path === 'a.safetensors' ? closing(readFileSync(join(accepted, path))) : undefined }), ZtenError)
    assert.equal(closed, 5)
  })

  await test('several: URLs, whose siblings are fetched by range', async () => {
    const { server, asked, url } = await serve(path => [join(corpus, path), join(corpus, decodeURIComponent(path).replace('/a b/x y', '/other/gguf/accept/two'))].find(path => existsSync(path) && statSync(path).isFile()))
    try {
      for (const path of roots().map(path => path.slice(corpus.length))) {
        const [report] = json('check', '--json', corpus + path)
        const found = await check(new URL(path, url))
        assert.deepEqual(found, { ...report, file: null, more: report.verdict === 'valid' ? report.more : null }, path)
      }
      asked.length = 0
      const file = await open(new URL('other/index/accept/two.index.json', url), { headers: { 'x-key': '2' } })
      assert.deepEqual([...(await file.get('b')).data], [...run('cat', '--raw', `${accepted}/two.index.json`, 'b')])
      assert.ok(asked.every(({ range, cookie }) => range && !cookie))
      assert.deepEqual([...new Set(asked.map(({ path }) => basename(path)))], two)
      assert.ok(asked.every(headers => headers['x-key'] === '2'))
      // The query of a URL may be a signature for this file only, so no sibling file is requested.
      asked.length = 0
      await assert.rejects(open(new URL('other/index/accept/two.index.json?key=1', url)), { rule: 'index-file' })
      assert.equal(new Set(asked.map(({ path }) => path)).size, 1)
      // The URL of the file has escaped characters. In the name of its sibling file, they are not escaped.
      const escaped = await open(new URL('a%20b/x%20y-00001-of-00002.gguf', url))
      assert.ok(escaped.list().some(({ components }) => components[0].shard === 'x y-00002-of-00002.gguf'))
      // With `siblings: false`, no other file is requested. An error of a server does not count as a missing file.
      asked.length = 0
      await assert.rejects(open(new URL('other/index/accept/two.index.json', url), { siblings: false }), { rule: 'index-file' })
      assert.deepEqual([...new Set(asked.map(({ path }) => basename(path)))], two.slice(0, 1))
      const erring = (address, init) => fetch(address.pathname.endsWith('.json') ? address : new URL(`?how=ignores`, address), init)
      await assert.rejects(open(new URL('other/index/accept/two.index.json', url), { fetch: erring }), { name: 'ZtenError', rule: null, message: /ignores ranges/ })
      await assert.rejects(open(new URL('v2/shards/unsupported-shard--v2-missing.zt', url)).then(file => file.check()).then(report => { throw new ZtenError(report) }), { rule: 'unsupported-shard' })
    } finally {
      server.close()
    }
  })

  await test('notes of an open file are those of its check, and results have states', async () => {
    let notes = 0
    for (const under of ['torch', 'npz', 'safetensors', 'gguf']) {
      for (const name of readdirSync(`${corpus}other/${under}/accept`).filter(name => !/-of-/.test(name))) {
        const path = `${corpus}other/${under}/accept/${name}`
        const file = await open(await openAsBlob(path), { name })
        // A check compares the tensors of a group only after it has read them, so an open file does not have the notes of
        // the rules `quant-*`.
        const known = json('check', '--json', path)[0].notes.filter(note => !note.rule?.startsWith('quant-'))
        assert.deepEqual(file.notes, known, path)
        notes += file.notes.length
      }
    }
    assert.ok(notes > 20, `${notes}`)
    assert.deepEqual((await open(readFileSync(`${corpus}accept/1.2.3/dense_all.zt`))).notes, [])
    const dense = await open(readFileSync(`${corpus}accept/1.2.3/dense_all.zt`))
    assert.equal((await dense.get('t_f32')).state, 'readable')
    assert.equal((await dense.slice('t_f32', [[0, 1]])).state, 'readable')
  })

  await test('tolerances: as the command has them', async () => {
    const path = `${corpus}other/torch/reject/torch-global--os.pt`
    const file = readFileSync(path)
    await assert.rejects(open(file), { rule: 'torch-global' })
    const globals = readdirSync(`${corpus}other/torch/reject`).filter(name => name.startsWith('torch-global--'))
    let opened = 0
    for (const name of globals) {
      const path = `${corpus}other/torch/reject/${name}`
      const listed = run('ls', '--json', '--tolerate', 'torch-global', path).toString()
      const file = await open(readFileSync(path), { name, tolerate: 'torch-global' }).catch(error => error)
      assert.equal(file instanceof ZtenError, !listed.includes('"objects"'), name)
      if (file instanceof ZtenError) continue
      assert.deepEqual(file.list().map(({ name, state }) => [name, state]), JSON.parse(listed).objects.map(({ name, state }) => [name, state]), name)
      assert.equal((await file.check()).rule, 'torch-global', name)
      opened++
    }
    assert.ok(opened > 0, `${opened} of ${globals.length}`)
    const { files } = JSON.parse(readFileSync(`${corpus}index.json`, 'utf8'))
    const tolerated = files.filter(({ options }) => /^tolerate=[\w-]+$/.test(options ?? ''))
    for (const { file, options, verdict, rule = null } of tolerated) {
      const bytes = readFileSync(corpus + file)
      const report = await check(bytes, { tolerate: options.slice(9) })
      assert.deepEqual([report.verdict, report.rule], [verdict, rule], file)
      // Without the tolerance, the file is not valid, because of the tolerated rule or another one.
      assert.notEqual((await check(bytes)).verdict, 'valid', file)
    }
    assert.ok(new Set(tolerated.map(({ options }) => options)).size >= 2 && tolerated.length > 5, `${tolerated.length}`)
    for (const wrong of ['torch', ['narrow-indices', 'x'], 7]) await assert.rejects(open(file, { tolerate: wrong }), { name: 'TypeError', message: /narrow-indices, shared-blobs, missing-zeros, torch-global/ })
  })
}
