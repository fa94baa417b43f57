/** The functions of Node that the package uses, without depending on its types. */
declare module 'node:fs/promises' {
  export function readFile(path: URL): Promise<Uint8Array<ArrayBuffer>>
}
