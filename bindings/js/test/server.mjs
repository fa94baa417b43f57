// An HTTP server of files for tests, which answers requests for ranges, or errs as the query asks.
import { createServer } from 'node:http'
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'

const TYPES = { js: 'text/javascript', wasm: 'application/wasm', html: 'text/html' }

/** The headers of a reply without which a page of another origin cannot read the reply. */
const SHARED = { 'access-control-allow-origin': '*', 'access-control-expose-headers': 'content-range, etag' }

/**
 * Returns the bytes of a file from `start` to before `end`, or to the end of the file if it is shorter, and the size of the file.
 * `path` is the path of the file, or its bytes.
 */
const bytesOf = (path, start, end) => {
  if (path instanceof Uint8Array) return { bytes: path.subarray(start, end), size: path.length }
  const file = openSync(path)
  const { size } = fstatSync(file)
  const bytes = Buffer.alloc(Math.max(0, Math.min(end, size) - start))
  readSync(file, bytes, 0, bytes.length, start)
  closeSync(file)
  return { bytes, size }
}

/**
 * Serves the files that `find` knows. The query says `how` the server errs, in replies for ranges that begin at the byte `from` or
 * later. `asked` collects the headers, the method and the path of each request, and the number of bytes sent; `now` has the
 * settings that a test may change. Other files are answered with the status 404.
 */
export const serve = async find => {
  const asked = []
  const now = { etag: '"1"' }
  const server = createServer((request, reply) => {
    const url = new URL(request.url, 'http://localhost')
    const seen = { ...request.headers, method: request.method, path: url.pathname, sent: 0 }
    asked.push(seen)
    const path = find(url.pathname)
    if (!path) return reply.writeHead(404, SHARED).end()
    const range = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '')
    let [start, end] = range ? [Number(range[1]), Number(range[2]) + 1] : [0, Infinity]
    const how = start >= Number(url.searchParams.get('from') ?? 0) ? url.searchParams.get('how') : null
    if (how === 'never') return
    if (how === 'cuts') return reply.writeHead(206, { ...SHARED, etag: now.etag, 'content-range': `bytes ${start}-${end - 1}/1000000`, 'content-length': end - start })
      .write('Z', () => reply.destroy())
    // Errs as development servers do that take the end 0 of the range `bytes=0-0` for a missing end.
    if (how === 'falsy' && end === 1) end = Infinity
    if (how === 'redirects') return reply.writeHead(302, { ...SHARED, location: url.searchParams.get('to') ?? url.pathname }).end()
    const headers = {
      'content-type': url.pathname === '/' ? TYPES.html : TYPES[url.pathname.split('.').pop()] ?? 'application/octet-stream',
      etag: now.etag, ...SHARED,
    }
    if (how === 'private') delete headers['access-control-allow-origin']
    if (how === 'unexposed') delete headers['access-control-expose-headers']
    if (how === 'unversioned') delete headers.etag
    if (how === 'empty') headers.etag = ''
    if (how === 'hollow') headers.etag = 'W/""'
    if (how === 'tags') headers.etag = ['"1"', '"2"']
    if (how === 'dates') headers['last-modified'] = ['Sun, 06 Nov 1994 08:49:37 GMT', 'Sun, 06 Nov 1994 08:49:38 GMT']
    const { bytes, size } = bytesOf(path, start, how === 'ignores' ? Infinity : how === 'long' ? end + 1 : how === 'short' ? end - 1 : end)
    seen.sent = bytes.length
    if (!range || how === 'ignores') return reply.writeHead(200, headers).end(bytes)
    if (start >= size) return reply.writeHead(416, { ...headers, 'content-range': `bytes */${size}` }).end()
    const last = Math.min(end, size) - 1
    headers['content-range'] = `bytes ${start}-${last}/${size}`
    if (how === 'changes') headers.etag = `"${asked.length}"`
    if (how === 'shifts') headers['content-range'] = `bytes ${start + 1}-${last + 1}/${size + 1}`
    if (how === 'less') headers['content-range'] = `bytes ${start}-${last - 1}/${size}`
    if (how === 'grows') headers['content-range'] = `bytes ${start}-${last}/${size + asked.length}`
    if (how === 'unsized') headers['content-range'] = `bytes ${start}-${last}/*`
    if (how === 'ranges') headers['content-range'] = [`bytes ${start}-${last}/${size}`, `bytes ${start}-${last}/${size + 1}`]
    if (how === 'encodes') Object.assign(headers, { 'content-encoding': 'br', 'access-control-expose-headers': '*' })
    reply.writeHead(206, headers).end(bytes)
  })
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve))
  return { server, asked, now, url: `http://127.0.0.1:${server.address().port}/` }
}
