/** Makes elements of the page. Texts become text nodes, and never markup. */

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

/** Replaces the children of an element. */
export const fill = (element: Element, ...children: Child[]): void =>
  element.replaceChildren(...children.filter((child): child is Node | string => !!child))

/** Shows a text from the file. The guest has escaped it, and `bdi` keeps it from reversing the text around it. */
export const spelled = (text: string): HTMLElement => make('bdi', { class: 'spelled' }, text || '""')

/** Converts a sentence to nodes: text in backticks becomes code. Adds a period if the sentence has no end. */
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
