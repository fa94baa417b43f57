/** Checks the addresses that users type, from which the page reads files. */

/** An address from which the page may read a file: its URL, and its form for display. */
export class Address {
  private constructor(readonly url: string, readonly shown: string) {}

  /** Parses the text that a user typed. Returns the address, or a sentence about what is wrong with it. */
  static parse(text: string): Address | string {
    const typed = text.trim()
    // A URL parser removes control characters and turns backslashes into slashes, so it would open another address than the one
    // that was typed.
    if (/[\p{Cc}\\]/u.test(typed)) return 'An address with a control character or a backslash is not opened'
    let url: URL
    try {
      url = new URL(typed)
    } catch {
      return 'This is no address: one begins with https://'
    }
    const here = ['localhost', '127.0.0.1'].includes(url.hostname)
    if (url.protocol !== 'https:' && !(url.protocol === 'http:' && here)) {
      return 'Only https:// addresses can be opened, and http:// ones of this machine (localhost)'
    }
    if (url.username || url.password) return 'An address with a user name or a password is not opened'
    url.hash = ''
    // A query may be a secret signature, so it is not shown.
    return new Address(url.href, `${url.origin}${url.pathname}${url.search && '?...'}`)
  }
}
