/** The wasm modules: one opens zTensor files, and one all others. Each is loaded and compiled once, when a file needs it. */

// Bundlers look for such URLs.
const ztensor = new URL('./zten.wasm', import.meta.url)
const formats = new URL('./formats.wasm', import.meta.url)

let fetched = (url: URL): Promise<BufferSource> =>
  fetch(url).then(reply => reply.ok ? reply.arrayBuffer() : Promise.reject(new Error(`${url}: status ${reply.status}`)))
const modules = new Map<URL, Promise<WebAssembly.Module>>()

/** Says how the bytes of a module are read. */
export const load = (by: (url: URL) => Promise<BufferSource>): void => {
  fetched = by
}

/** Bytes of the start of a file by which a module tells its format. */
export const START = 512

/** The module for a file that begins so. What failed is tried again the next time. */
export const compiled = (start: Uint8Array): Promise<WebAssembly.Module> => {
  const isZtensor = [[0x5a, 0x54, 0x45, 0x4e], [0x89, 0x5a, 0x54]].some(magic => magic.every((byte, at) => start[at] === byte))
  const url = isZtensor ? ztensor : formats
  const module = modules.get(url) ?? fetched(url).then(WebAssembly.compile).catch((error: unknown) => {
    modules.delete(url)
    throw error
  })
  modules.set(url, module)
  return module
}
