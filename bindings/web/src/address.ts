/** Addresses that the page reads from. */

/** An address that may be opened. */
export class Address {
  private constructor(readonly url: string, readonly shown: string) {}

  /** Takes what was typed: the address, or what is wrong with it. */
  static parse(text: string): Address | string {
    const typed = text.trim()
    // A URL is read without the ones, and with slashes for the others: as another address.
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
    // A query may be a signature.
    return new Address(url.href, `${url.origin}${url.pathname}${url.search && '?...'}`)
  }
}
