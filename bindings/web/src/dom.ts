/** Making elements. Texts become text nodes, never markup. */

export type Child = Node | string | null | undefined | false

export const make = <K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Record<string, string | number | boolean> = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] => {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(name, '')
    else if (value !== false) element.setAttribute(name, String(value))
  }
  fill(element, ...children)
  return element
}

/** Replaces what is in an element. */
export const fill = (element: Element, ...children: Child[]): void =>
  element.replaceChildren(...children.filter((child): child is Node | string => !!child))

/** A text of the file: escaped by the guest, and kept from turning what is around it. */
export const spelled = (text: string): HTMLElement => make('bdi', { class: 'spelled' }, text || '""')

/** A sentence in which backticks set off code, and which has one end. */
export const prose = (text: string): Child[] => [
  ...text.split('`').map((part, at) => at % 2 === 1 ? make('code', {}, part) : part),
  /[.!?…]$/.test(text) ? '' : '.',
]

export const button = (label: string, onClick: () => void, title = ''): HTMLButtonElement => {
  const element = make('button', { type: 'button', ...(title && { title }) }, label)
  element.addEventListener('click', onClick)
  return element
}

export const byId = (id: string): HTMLElement => {
  const element = document.getElementById(id)
  if (!element) throw new Error(`no #${id}`)
  return element
}
