/** The field for an address, which only the page that may read addresses has. */
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

// A link that opened its address by itself could have any server asked by who follows it.
const linked = new URLSearchParams(location.search).get('url')
if (linked) {
  field.value = linked
  fill(note, 'This address comes from the link to this page. Nothing has been asked of its server yet.')
}
