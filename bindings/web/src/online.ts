/** The input field for an address, which exists only in the page that may read from addresses. */
import { Address } from './address.ts'
import { byId, fill } from './dom.ts'
import { files, take } from './main.ts'

const field = byId('url') as HTMLInputElement
const note = byId('url-note')

byId('address').addEventListener('submit', event => {
  event.preventDefault()
  const address = Address.parse(field.value)
  if (!(address instanceof Address)) {
    fill(note, address)
    return
  }
  fill(note)
  files.show([], false)
  void take({ url: address.url }, address.shown)
})

// An address in the link of the page is only filled in, not opened: otherwise a link could make its visitor's browser send requests
// to any server.
const linked = new URLSearchParams(location.search).get('url')
if (linked) {
  field.value = linked
  fill(note, 'This address comes from the link to this page. Nothing has been asked of its server yet.')
}
