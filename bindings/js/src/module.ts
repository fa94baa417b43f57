/** The wasm module, which is compiled once. */

let loader = (): Promise<WebAssembly.Module> =>
  fetch(new URL('./zten.wasm', import.meta.url))
    .then(reply => reply.ok ? reply.arrayBuffer() : Promise.reject(new Error(`zten.wasm: status ${reply.status}`)))
    .then(WebAssembly.compile)
let module: Promise<WebAssembly.Module> | undefined

/** Says how it is loaded. */
export const load = (by: () => Promise<WebAssembly.Module>): void => {
  loader = by
}

/** The module. What failed is tried again the next time. */
export const compiled = (): Promise<WebAssembly.Module> => {
  module ??= loader().catch((error: unknown) => {
    module = undefined
    throw error
  })
  return module
}
