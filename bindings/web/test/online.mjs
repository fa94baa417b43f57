// Tests of the page that may read from addresses: the requests that it sends, and its messages about servers that err.
//
//   node test/online.mjs [TEXT]    only the tests with the text in their names
import assert from 'node:assert/strict'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { corpus, end, json, root, run, test } from '../../js/test/harness.mjs'
import { serve } from '../../js/test/server.mjs'
import { cancelStatistics, choose, launch, located, open, verdict } from './page.mjs'
import { write } from './sparse.mjs'

const folder = mkdtempSync(join(tmpdir(), 'zten-web-'))
const sizes = { large: write(join(folder, 'large.zt')), whole: write(join(folder, 'whole.zt'), 1000, 4000) }
const { server, asked, now, url } = await serve(path =>
  [join(corpus, path), join(folder, decodeURIComponent(path))].find(path => existsSync(path) && statSync(path).isFile()))
const { browser, page, index, requests } = await launch('online.html', '--host-resolver-rules=MAP example.org 127.0.0.1')
const { origin, port } = new URL(url)

/** Starts to open an address. */
const begin = async address => {
  asked.length = 0
  await page.evaluate(() => { document.body.dataset.state = 'waiting' })
  await page.fill('#url', address)
  await page.click('#address button')
}

/** Opens an address, and waits until the page is done. */
const openUrl = async address => {
  await begin(address)
  await page.waitForFunction(() => document.body.dataset.state === 'done')
  return { ...await verdict(page), text: await page.textContent('#verdict') }
}

const sentOf = requests => requests.reduce((sum, { sent }) => sum + sent, 0)
const sent = () => sentOf(asked)

await test('the verdict is that of the file', async () => {
  const files = [
    'accept/1.2.3/dense_all', 'accept/1.2.3/zstd', 'accept/1.2.3/csr_raw', 'accept/1.2.3/sha256', 'accept/0.1.0/dense_all', 'accept/1.1.1/dense_all',
    'v2/accept/frames', 'v2/accept/mx',
    'reject/digest-mismatch--v12-sha256', 'reject/cbor-truncated--v12-manifest-of-0', 'reject/cbor-truncated--v01-manifest-of-0',
  ].filter(file => existsSync(`${corpus}${file}.zt`))
  assert(files.length > 9, files.join())
  const shown = async () => {
    const { read, ...rest } = await verdict(page)
    return { ...rest, map: await page.textContent('#map-caption') }
  }
  for (const file of files) {
    await open(page, `${corpus}${file}.zt`)
    const wanted = await shown()
    const { heading } = await openUrl(`${url}${file}.zt`)
    assert.deepEqual(await shown(), wanted, file)
    const [{ verdict }] = json('check', '--json', `${corpus}${file}.zt`)
    assert.equal(heading.slice(1).startsWith(verdict === 'valid' ? 'Valid' : 'Invalid'), true, `${file}: ${heading}`)
    assert.equal(await page.textContent('#verdict .file'), `${origin}/${file}.zt`)
    // The request for the size of a small file returns its content, too.
    assert.equal(asked.length, 1, file)
    const { size } = statSync(`${corpus}${file}.zt`)
    assert.equal(await page.textContent('#read'), `Bytes read: ${size.toLocaleString('en')}. The file has ${size.toLocaleString('en')} bytes.`)
  }
})

await test('tensors are listed, summed up and saved', async () => {
  const path = `${corpus}accept/1.2.3/dense_all.zt`
  await openUrl(`${url}accept/1.2.3/dense_all.zt`)
  await page.uncheck('#grouping')
  const [{ objects }] = json('ls', '--json', path)
  const line = objects.findIndex(({ name }) => name === 't_f32')
  await choose(page, line)
  await page.waitForSelector('.numbers table')
  assert.match(await page.textContent('.histogram figcaption'), /1 of 6/)
  const [download] = await Promise.all([page.waitForEvent('download'), page.click('text=Save .npy')])
  assert.deepEqual(readFileSync(await download.path()), run('cat', '--npy', path, 't_f32'))
})

await test('an index is opened with the files beside it on the server, and missing ones are named', async () => {
  const path = `${corpus}other/index/accept/two.index.json`
  const { heading, rule, objects } = await openUrl(`${url}other/index/accept/two.index.json`)
  assert.deepEqual([heading.slice(1, 6), rule, objects], ['Valid', null, '2 tensors'])
  assert.deepEqual([...new Set(asked.map(({ path }) => path))], ['two.index.json', 'a.safetensors', 'b.safetensors'].map(name => `/other/index/accept/${name}`))
  await page.uncheck('#grouping')
  for (const [line, { name }] of json('ls', '--json', path)[0].objects.entries()) {
    await choose(page, line)
    await page.waitForSelector('.elements td')
    const shown = await page.$$eval('.elements td', cells => cells.map(cell => cell.textContent).filter(Boolean))
    assert.deepEqual(shown, run('cat', path, name).toString().match(/[^\s[\],]+/g), name)
  }
  const split = await openUrl(`${url}other/gguf/accept/two-00001-of-00002.gguf`)
  assert.equal(split.heading.slice(1, 6), 'Valid')
  const shards = await openUrl(`${url}v2/shards/dense.zt`)
  assert.deepEqual([shards.heading.slice(1, 6), shards.rule], ['Valid', null])
  // A query may be a signature for one file, so it is not used for other files.
  const signed = await openUrl(`${url}other/index/accept/two.index.json?key=1`)
  assert.deepEqual([signed.rule, [...new Set(asked.map(({ path }) => path.split('/').at(-1)))]], ['index-file', ['two.index.json']])
  // The folder and the names of these files have spaces, which addresses escape.
  mkdirSync(join(folder, 'a b'))
  for (const number of [1, 2]) copyFileSync(`${corpus}other/gguf/accept/two-0000${number}-of-00002.gguf`, join(folder, 'a b', `x y-0000${number}-of-00002.gguf`))
  assert.equal((await openUrl(`${url}a%20b/x%20y-00001-of-00002.gguf`)).heading.slice(1, 6), 'Valid')
  const missing = await openUrl(`${url}v2/shards/unsupported-shard--v2-missing.zt`)
  assert.match(missing.heading, /files of this model are missing/)
  assert.equal(await page.textContent('.siblings .missing span'), 'missing')
})

await test('8 GB open with two requests and less than 1 MiB; work can be stopped', async () => {
  const shown = await openUrl(`${url}large.zt`)
  assert.match(shown.heading, /The manifest is valid; the data has not been read/)
  assert.match(await page.textContent('#read'), /The file has 8,000,000,\d{3} bytes/)
  assert.deepEqual([asked.length, sent()], [2, 2 * 65_536])
  assert.equal(shown.read, sent())
  assert.ok(sizes.large > 8e9)
  await choose(page, 0)
  await page.click('button:text("Draw")')
  await page.waitForSelector('.picture canvas')
  assert.match(await page.textContent('figcaption'), /^Values, 1,000,000 × 8,000.*Sampled: 160 rows/)
  assert.ok(asked.length <= 162, `${asked.length} requests`)
  await cancelStatistics(page)
  // Reading ahead has stopped: while another tensor is drawn, all requests are for its bytes.
  asked.length = 0
  await page.click('button:text("Draw")')
  await page.waitForSelector('.picture canvas')
  assert.ok(asked.length > 100 && asked.every(({ sent }) => sent === 65_536), asked.map(({ range }) => range).join())
})

await test('what is stopped goes on with the same version only', async () => {
  await openUrl(`${url}large.zt`)
  await choose(page, 0)
  await page.click('button.statistics')
  await page.waitForFunction(() => document.querySelector('#progress').value > 0)
  now.etag = '"2"'
  await page.keyboard.press('Escape')
  await page.waitForFunction(() => /changed on the server/.test(document.querySelector('#verdict').textContent))
  now.etag = '"1"'
})

await test('what is read in one go is read ahead', async () => {
  const shown = await openUrl(`${url}whole.zt`)
  assert.equal(shown.kind, 'valid')
  // The file of the test before may still be opened again when this test begins, so only requests for this file count.
  const whole = asked.filter(({ path }) => path === '/whole.zt')
  const ranges = whole.map(({ range }) => range).join()
  const length = sizes.whole
  // One request each for the beginning and the end, three until reads count as sequential, and then one for each MiB.
  assert.ok(whole.length <= 5 + Math.ceil(length / (1 << 20)), ranges)
  assert.ok(sentOf(whole) <= length + 3 * 65_536, `${ranges} of ${length} bytes`)
  assert.equal(shown.read, sentOf(whole))
})

/** The faults of a server, and the message for each. */
const LIES = {
  ignores: /ignores ranges/, changes: /changed on the server/, grows: /changed on the server|gave the range/, shifts: /gave the range/,
  less: /gave the range|does not tell the size/, unsized: /does not tell the size/, encodes: /encodes|bytes, expected|reached/,
  long: /sent more than/, short: /sent \d+ bytes, expected|reached/,
  unversioned: /no ETag/, empty: /no ETag/, tags: /more than one ETag/, ranges: /does not tell the size/, private: /could not be reached.*Access-Control-Allow-Origin/, unexposed: /has to expose/,
}

await test('servers that err', async () => {
  for (const [how, message] of Object.entries(LIES)) {
    // The server errs from the first reply on, or only in replies about bytes from 100,000 on, while the file is
    // validated.
    for (const from of [0, 100_000]) {
      const shown = await openUrl(`${url}whole.zt?how=${how}&from=${from}`)
      assert.deepEqual([shown.kind, shown.rule], ['unsure', null], `${how}, from ${from}: ${shown.text}`)
      assert.match(shown.heading, /Not validated/, `${how}, from ${from}`)
      assert.match(shown.text, message, `${how}, from ${from}`)
      assert.equal(await page.textContent('#verdict .file'), `${origin}/whole.zt?...`)
      assert.ok(asked.length < 10, `${how}, from ${from}: ${asked.length} requests`)
    }
  }
  assert.match((await openUrl(`${url}missing`)).text, /status 404/)
  // After an error, the page works as before.
  assert.equal((await openUrl(`${url}whole.zt`)).kind, 'valid')
})

await test('a server that never answers can be stopped', async () => {
  await begin(`${url}whole.zt?how=never`)
  await page.waitForSelector('#work:not([hidden])')
  await page.click('#stop')
  await page.waitForFunction(() => document.body.dataset.state === 'done')
  assert.match(await page.textContent('#verdict'), /Stopped before the file was open/)
  assert.equal(asked.length, 1)
})

await test('redirects are followed where the policy allows', async () => {
  const other = `http://localhost:${port}/whole.zt`
  assert.equal((await openUrl(`${url}whole.zt?how=redirects&to=${other}`)).kind, 'valid')
  // The browser of this test resolves this name to this server, so only the policy of the page prevents it from following
  // the redirect.
  const shown = await openUrl(`${url}whole.zt?how=redirects&to=http://example.org:${port}/whole.zt`)
  assert.match(shown.text, /could not be reached/)
  assert.equal(asked.length, 1)
})

await test('what is asked of a server tells nothing of the page', async () => {
  await page.context().addCookies([{ name: 'secret', value: '1', url }])
  assert.equal((await openUrl(`${url}whole.zt`)).kind, 'valid')
  for (const { method, range, cookie, referer, origin, authorization } of asked) {
    assert.deepEqual([method, cookie, referer, origin, authorization], ['GET', undefined, undefined, 'null', undefined])
    assert.match(range, /^bytes=\d+-\d+$/)
  }
})

await test('only https is opened, and http of this machine', async () => {
  for (const [address, message] of [
    ['', /no address/], ['models/a.zt', /no address/], ['http://example.org/a.zt', /Only https/], ['ftp://example.org/a.zt', /Only https/],
    ['https://example.org/a\tb.zt', /control character/], ['https:\\\\example.org\\a.zt', /backslash/],
    ['file:///etc/passwd', /Only https/], ['javascript:alert(1)', /Only https/], ['http://localhost.example.org/', /Only https/],
    [`http://name:word@127.0.0.1:${port}/whole.zt`, /user name or a password/],
  ]) {
    await page.fill('#url', address)
    await page.click('#address button')
    assert.match(await page.textContent('#url-note'), message, address)
  }
  const shown = await openUrl(`${url}whole.zt?signature=secret#part`)
  assert.equal(shown.kind, 'valid')
  assert.equal(await page.textContent('#verdict .file'), `${origin}/whole.zt?...`)
  assert.equal(await page.textContent('#url-note'), '')
})

await test('an address in a link waits for a click', async () => {
  asked.length = 0
  await page.goto(`${index}?url=${encodeURIComponent(`${url}whole.zt`)}`)
  assert.equal(await page.inputValue('#url'), `${url}whole.zt`)
  assert.match(await page.textContent('#url-note'), /Nothing has been asked/)
  assert.equal(asked.length, 0)
  assert.equal((await openUrl(`${url}whole.zt`)).kind, 'valid')
})

await test('files of this machine stay there', async () => {
  asked.length = 0
  const before = requests.length
  await open(page, `${corpus}accept/1.2.3/dense_all.zt`)
  assert.equal((await verdict(page)).kind, 'valid')
  assert.equal(asked.length, 0)
  assert.deepEqual(requests.slice(before).filter(url => !/^(blob|data):/.test(url)), [])
})

await test('a browser that cannot suspend WebAssembly says so', async () => {
  const old = await browser.newPage()
  await old.addInitScript(() => {
    // Workers have this interface, too, so it is deleted at the beginning of the script of each worker.
    const Real = Blob
    globalThis.Blob = function (parts, options) {
      return new Real(options?.type === 'text/javascript' ? ['delete WebAssembly.Suspending;', ...parts] : parts, options)
    }
  })
  await old.goto(index)
  await old.fill('#url', `${url}whole.zt`)
  await old.click('#address button')
  await old.waitForFunction(() => document.body.dataset.state === 'done')
  assert.match(await old.textContent('#verdict'), /this browser cannot suspend WebAssembly/)
  await old.close()
})

await test('a narrow page does not scroll sideways', async () => {
  await page.setViewportSize({ width: 390, height: 800 })
  await page.reload()
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth) <= 390)
  await page.setViewportSize({ width: 1000, height: 1200 })
  await page.screenshot({ path: `${root}bindings/web/dist/online.png` })
})

/** Returns the code of a page without the data that is packed into it. */
const code = name => readFileSync(new URL(located(name)), 'utf8').replaceAll(/[A-Za-z0-9+/=]{2000,}|["`]\d+:[^"`]{2000,}["`]/g, '')

await test('the page that cannot connect has no code for it', () => {
  const network = /\bfetch\b|XMLHttpRequest|WebSocket|WebTransport|EventSource|sendBeacon|RTCPeerConnection|importScripts|Suspending|\bRange:/
  assert.ok(network.test(code('online.html')))
  assert.doesNotMatch(code('index.html'), network)
  assert.match(code('index.html'), /connect-src 'none'/)
  assert.doesNotMatch(code('online.html'), /connect-src 'none'/)
})

await browser.close()
server.close()
server.closeAllConnections()
rmSync(folder, { recursive: true })
end()
