// A server of files: in ranges, or as a server errs.
import { createServer } from 'node:http'
import { readFileSync } from 'node:fs'

const TYPES = { js: 'text/javascript', wasm: 'application/wasm', html: 'text/html' }

/** Serves the files that `find` knows, as the query asks; `asked` collects the headers of requests. */
export const serve = async find => {
  const asked = []
  const server = createServer((request, reply) => {
    const url = new URL(request.url, 'http://localhost')
    asked.push({ ...request.headers, path: url.pathname })
    const path = find(url.pathname)
    if (!path) return reply.writeHead(404).end()
    const bytes = path instanceof Uint8Array ? path : readFileSync(path)
    const how = url.searchParams.get('how')
    const headers = { 'content-type': url.pathname === '/' ? TYPES.html : TYPES[url.pathname.split('.').pop()] ?? 'application/octet-stream', etag: '"1"' }
    const range = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '')
    if (!range || how === 'ignores') return reply.writeHead(200, headers).end(bytes)
    const start = Number(range[1])
    const end = Math.min(Number(range[2]) + 1, bytes.length)
    if (start >= bytes.length) return reply.writeHead(416, { 'content-range': `bytes */${bytes.length}` }).end()
    headers['content-range'] = `bytes ${start}-${end - 1}/${bytes.length}`
    if (how === 'changes') headers.etag = `"${asked.length}"`
    if (how === 'shifts') headers['content-range'] = `bytes ${start + 1}-${end}/${bytes.length}`
    if (how === 'unsized') headers['content-range'] = `bytes ${start}-${end - 1}/*`
    if (how === 'encodes') headers['content-encoding'] = 'br'
    const part = bytes.subarray(start, how === 'long' ? end + 1 : how === 'short' ? end - 1 : end)
    reply.writeHead(206, headers).end(part)
  })
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve))
  return { server, asked, url: `http://127.0.0.1:${server.address().port}/` }
}
