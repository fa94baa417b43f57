/** Decodes bytes from text in base 85, which takes 5 digits for each 4 bytes. Base64 would take 5.3 digits. */

/** The 85 digits in the order of their values. `bundle.mjs` defines them. */
declare const DIGITS: string

/** Decodes `text`, in which the number of bytes comes before the first colon and the digits after it, and returns the bytes. */
export const unpack85 = (text: string): Uint8Array<ArrayBuffer> => {
  const values = new Uint8Array(128);
  [...DIGITS].forEach((digit, value) => { values[digit.charCodeAt(0)] = value })
  const first = text.indexOf(':') + 1
  const words = new DataView(new ArrayBuffer(Math.floor((text.length - first) / 5) * 4))
  for (let word = 0; word * 4 < words.byteLength; word++) {
    let value = 0
    for (let digit = 0; digit < 5; digit++) value = value * 85 + (values[text.charCodeAt(first + word * 5 + digit)] ?? 0)
    words.setUint32(word * 4, value)
  }
  return new Uint8Array(words.buffer, 0, Number.parseInt(text, 10))
}
