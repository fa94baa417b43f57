/**
 * The wasm modules: one for zTensor, one for safetensors and GGUF, one for all formats, one for writing. Each is compiled once,
 * when it is first needed.
 */
import { failure, reason } from './errors.ts'
import { bytesOf, classOf } from './sources.ts'

/** Where a wasm module comes from: its URL, its bytes, or the compiled module. A string is a URL, relative to the page. */
export type Wasm = URL | string | BufferSource | WebAssembly.Module

/** The modules of the package: `zten.wasm`, `formats.wasm`, `full.wasm` and `write.wasm`. */
export interface WasmModules {
  zten?: Wasm
  formats?: Wasm
  full?: Wasm
  write?: Wasm
}

// Bundlers recognize `new URL` with `import.meta.url`, and copy the files. A classic script has no `import.meta.url`, and needs
// `setWasm`.
const URLS = {
  zten: () => new URL('./zten.wasm', import.meta.url),
  formats: () => new URL('./formats.wasm', import.meta.url),
  full: () => new URL('./full.wasm', import.meta.url),
  write: () => new URL('./write.wasm', import.meta.url),
}

/** Fetches the bytes of a wasm module from its URL with `fetch`. Throws an error with the status if it is not 200 to 299. */
export const byFetch = async (url: URL): Promise<BufferSource> => {
  const reply = await fetch(url)
  if (!reply.ok) throw new Error(`status ${reply.status}`)
  return reply.arrayBuffer()
}

let fetched = byFetch
const given: WasmModules = {}
const modules = new Map<keyof WasmModules, Promise<WebAssembly.Module>>()

/** Sets the function that fetches the bytes of a wasm module from its URL, in place of `fetch`. */
export const load = (by: (url: URL) => Promise<BufferSource>): void => {
  fetched = by
}

/** Sets where the wasm modules come from, for bundlers that do not copy them. Files that are opened later use these modules. */
export const setWasm = (wasm: WasmModules): void => {
  const checked = Object.entries(wasm).map(([name, module]: [string, unknown]) => {
    if (!(name in URLS)) throw new TypeError(`the module is called ${JSON.stringify(name)}, expected "zten", "formats", "full" or "write"`)
    const isOne = /^(URL|String|WebAssembly\.Module)$/.test(classOf(module)) || bytesOf(module)
    if (!isOne) throw new TypeError(`the module ${name} is of the type ${typeof module}, expected a URL, a string, bytes or a WebAssembly.Module`)
    return [name, module] as [keyof WasmModules, Wasm]
  })
  for (const [name, module] of checked) {
    given[name] = module
    modules.delete(name)
  }
}

const loaded = async (name: keyof WasmModules): Promise<WebAssembly.Module> => {
  try {
    const wasm = given[name] ?? URLS[name]()
    if (classOf(wasm) === 'WebAssembly.Module') return wasm as WebAssembly.Module
    const bytes = bytesOf(wasm) as BufferSource | undefined
    return await WebAssembly.compile(bytes ?? await fetched(new URL(wasm as URL | string, globalThis.location?.href)))
  } catch (error) {
    // The rejected promise is not kept, so that the next file tries again to load the module.
    modules.delete(name)
    throw failure(`the module ${name}.wasm could not be loaded: ${reason(error)}; \`setWasm\` says where it is`, error)
  }
}

/** The number of bytes at the beginning of a file that are read to choose the module for its format. */
export const START = 512

/**
 * Returns the name of the module that reads a file with the first bytes `start`: `zten` for zTensor, `formats` for safetensors
 * and GGUF, and `full` for all other files.
 */
export const moduleFor = (start: Uint8Array): keyof WasmModules => {
  const begins = (...magics: number[][]) => magics.some(magic => magic.every((byte, at) => start[at] === byte))
  if (begins([0x5a, 0x54, 0x45, 0x4e], [0x89, 0x5a, 0x54])) return 'zten'
  const isSafetensors = start[8] === 0x7b && start.subarray(4, 8).every(byte => byte === 0)
  return isSafetensors || begins([0x47, 0x47, 0x55, 0x46]) ? 'formats' : 'full'
}

/**
 * Resolves to the compiled module `name`. It is fetched and compiled at the first call, and again after a failure or a call of
 * `setWasm`.
 */
export const compiled = (name: keyof WasmModules): Promise<WebAssembly.Module> => {
  const module = modules.get(name) ?? loaded(name)
  modules.set(name, module)
  return module
}
