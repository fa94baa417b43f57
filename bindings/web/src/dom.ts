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

/** Replaces the children of `element` by `children`. Children that are false, null, undefined or empty text are left out. */
export const fill = (element: Element, ...children: Child[]): void =>
  element.replaceChildren(...children.filter((child): child is Node | string => !!child))

/**
 * Returns an element that shows `text`, a text from the file in which the module has escaped control and invisible characters.
 * The element `bdi` keeps the text from reversing the text around it.
 */
export const spelled = (text: string): HTMLElement => make('bdi', { class: 'spelled' }, text || '""')

/**
 * Converts a sentence to nodes: text in backticks becomes a `code` element. Adds a period if the sentence does not end with a
 * mark.
 */
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
