/** The list of objects: searched, sorted, grouped, of any length. */
import { button, byId, fill, make, spelled } from './dom.ts'
import { common, counted, objectType, shape, size, stored } from './format.ts'
import { group, lines, type Group, type Line } from './tree.ts'
import type { Listed } from './protocol.ts'

const ROW = 30
/** Rows that are made beyond those that are seen. */
const MARGIN = 8
/** From so many objects on, groups begin closed. */
const MANY = 40

type Key = 'manifest' | 'name' | 'type' | 'shape' | 'stored'

const COLUMNS: [Key, string][] = [['name', 'Name'], ['type', 'Type'], ['shape', 'Shape'], ['stored', 'Stored']]

/** Characters of a name that are shown whatever the room: names differ where they end. */
const TAIL = 18

/** A name in two parts, of which the first is cut where there is no room. */
const ends = (label: string): HTMLElement[] => {
  const all = [...label]
  if (all.length <= TAIL) return [spelled(label)]
  const [head, tail] = [spelled(all.slice(0, -TAIL).join('')), spelled(all.slice(-TAIL).join(''))]
  head.classList.add('head')
  tail.classList.add('tail')
  return [head, tail]
}

export class ObjectList {
  private objects: Listed[] = []
  private root: Group = { prefix: '', children: [], objects: 0, bytes: 0 }
  private shown: Line[] = []
  private open = new Set<string>()
  /** The groups that were open before a search opened all that has something in it. */
  private before: Set<string> | undefined
  private active = 0
  private sort: Key = 'manifest'
  private falling = false
  private readonly box = byId('list')
  private readonly search = byId('search') as HTMLInputElement
  private readonly grouping = byId('grouping') as HTMLInputElement

  constructor(private readonly onOpen: (object: number) => void) {
    this.search.addEventListener('input', () => this.arrange())
    this.grouping.addEventListener('change', () => this.arrange())
    this.box.addEventListener('scroll', () => this.draw())
    this.box.addEventListener('keydown', event => this.key(event))
    this.box.addEventListener('click', event => this.click(event))
    new ResizeObserver(() => this.draw()).observe(this.box)
  }

  show(objects: Listed[]): void {
    this.objects = objects
    this.search.value = ''
    this.sort = 'manifest'
    this.falling = false
    this.active = 0
    this.grouping.checked = objects.length > 12
    this.open = new Set()
    this.before = undefined
    this.arrange()
    if (objects.length <= MANY) this.openAll(this.root)
    else this.openAlone()
    this.redraw()
  }

  private openAll(root: Group): void {
    for (const child of root.children) {
      if ('group' in child) {
        this.open.add(child.group.prefix)
        this.openAll(child.group)
      }
    }
  }

  /** Opens a group as long as there is nothing beside it. */
  private openAlone(): void {
    for (let [only, other] = this.root.children; only && 'group' in only && !other;) {
      this.open.add(only.group.prefix);
      [only, other] = only.group.children
    }
  }

  private arrange(): void {
    const wanted = this.search.value.toLowerCase()
    const order = this.objects.map((_, ordinal) => ordinal).filter(ordinal => {
      const object = this.objects[ordinal]
      return object !== undefined && (object.name.toLowerCase().includes(wanted) ||
        object.layout.toLowerCase() === wanted || objectType(object).toLowerCase() === wanted)
    })
    const key = this.keyOf(this.sort)
    const sign = this.falling ? -1 : 1
    if (this.sort !== 'manifest') {
      order.sort((one, other) => {
        const [a, b] = [key(this.objects[one]), key(this.objects[other])]
        return sign * (a < b ? -1 : a > b ? 1 : one - other)
      })
    }
    this.root = this.grouping.checked
      ? group(this.objects, order)
      : { prefix: '', children: order.map(object => ({ object })), objects: order.length, bytes: 0 }
    if (wanted) {
      this.before ??= this.open
      this.open = new Set()
      this.openAll(this.root)
    } else if (this.before) {
      this.open = this.before
      this.before = undefined
    }
    fill(byId('list-count'), wanted
      ? `${counted(order.length, 'object')} of ${this.objects.length}`
      : counted(order.length, 'object'))
    this.active = 0
    this.heads()
    this.redraw()
  }

  private keyOf(sort: Key): (object: Listed | undefined) => string | number {
    return object => {
      if (!object) return ''
      if (sort === 'stored') return stored(object)
      if (sort === 'type') return objectType(object)
      if (sort === 'shape') return object.shape.reduce<number>((product, dimension) => product * Number(dimension), 1)
      return object.name
    }
  }

  private heads(): void {
    fill(byId('list-heads'), ...COLUMNS.map(([key, label]) => {
      const sorted = this.sort === key
      const arrow = sorted ? (this.falling ? ' ↓' : ' ↑') : ''
      const head = button(label + arrow, () => {
        this.falling = sorted ? !this.falling : key === 'stored'
        this.sort = key
        this.arrange()
      }, `Sort by ${label.toLowerCase()}`)
      head.setAttribute('aria-pressed', String(sorted))
      head.className = key
      return head
    }))
  }

  private redraw(): void {
    this.shown = lines(this.root, this.objects, this.open)
    this.active = Math.max(0, Math.min(this.active, this.shown.length - 1))
    this.box.style.height = `${Math.max(1, this.shown.length) * ROW + 2}px`
    this.draw()
  }

  private draw(): void {
    const first = Math.max(0, Math.floor(this.box.scrollTop / ROW) - MARGIN)
    const count = Math.ceil(this.box.clientHeight / ROW) + 2 * MARGIN
    const space = make('div', { class: 'space', role: 'presentation' })
    space.style.height = `${this.shown.length * ROW}px`
    this.shown.slice(first, first + count).forEach((line, index) => {
      const row = this.row(line, first + index)
      row.style.top = `${(first + index) * ROW}px`
      space.append(row)
    })
    fill(this.box, space)
    this.box.setAttribute('aria-activedescendant', this.shown.length > 0 ? `row-${this.active}` : '')
  }

  private row({ entry, level, label }: Line, index: number): HTMLElement {
    const row = make('div', {
      class: index === this.active ? 'row active' : 'row', id: `row-${index}`, role: 'treeitem',
      'aria-level': level + 1, 'aria-selected': String(index === this.active), 'data-line': index,
      'aria-posinset': index + 1, 'aria-setsize': this.shown.length,
    })
    const name = make('span', { class: 'name' })
    name.style.paddingInlineStart = `${level * 16}px`
    if ('group' in entry) {
      const isOpen = this.open.has(entry.group.prefix)
      row.setAttribute('aria-expanded', String(isOpen))
      row.classList.add('group')
      name.append(make('span', { class: 'twist', 'aria-hidden': 'true' }, isOpen ? '▾' : '▸'), spelled(label))
      row.append(name, make('span', { class: 'type' }), make('span', { class: 'shape' }, counted(entry.group.objects, 'object')),
        make('span', { class: 'stored' }, size(entry.group.bytes)))
      return row
    }
    const object = this.objects[entry.object]
    if (!object) return row
    name.append(...ends(label))
    const layout = object.layout === 'dense' ? '' : `${object.layout}${object.layout_known ? '' : '?'} `
    const encodings = common(object.components.map(component => component.encoding))
    row.append(name,
      make('span', { class: 'type' }, layout, objectType(object)),
      make('span', { class: 'shape' }, shape(object.shape)),
      make('span', { class: 'stored' }, size(stored(object)), encodings === 'raw' || encodings === '–' ? '' : ` ${encodings}`))
    return row
  }

  private click(event: MouseEvent): void {
    const row = (event.target as Element).closest<HTMLElement>('[data-line]')
    if (row) this.activate(Number(row.dataset.line), true)
  }

  private activate(index: number, enter: boolean): void {
    this.active = Math.max(0, Math.min(index, this.shown.length - 1))
    const line = this.shown[this.active]
    if (enter && line) {
      if ('object' in line.entry) this.onOpen(line.entry.object)
      else this.toggle(line.entry.group.prefix)
    }
    const top = this.active * ROW
    if (top < this.box.scrollTop) this.box.scrollTop = top
    const bottom = top + ROW - this.box.clientHeight
    if (bottom > this.box.scrollTop) this.box.scrollTop = bottom
    this.redraw()
  }

  private toggle(prefix: string): void {
    if (!this.open.delete(prefix)) this.open.add(prefix)
  }

  private key(event: KeyboardEvent): void {
    const line = this.shown[this.active]
    const page = Math.max(1, Math.floor(this.box.clientHeight / ROW) - 1)
    const closed = line && 'group' in line.entry && !this.open.has(line.entry.group.prefix)
    const steps: Record<string, number> = {
      ArrowDown: this.active + 1, ArrowUp: this.active - 1, PageDown: this.active + page,
      PageUp: this.active - page, Home: 0, End: this.shown.length - 1,
    }
    const to = steps[event.key]
    if (to !== undefined) this.activate(to, false)
    else if (event.key === 'Enter' || event.key === ' ') this.activate(this.active, true)
    else if (event.key === 'ArrowRight' && closed) this.activate(this.active, true)
    else if (event.key === 'ArrowRight') this.activate(this.active + 1, false)
    else if (event.key === 'ArrowLeft' && line) this.leave(line)
    else return
    event.preventDefault()
  }

  /** Closes a group; from anywhere else, goes to the group around it. */
  private leave(line: Line): void {
    if ('group' in line.entry && this.open.has(line.entry.group.prefix)) {
      this.activate(this.active, true)
      return
    }
    const around = this.shown.slice(0, this.active).findLastIndex(other => other.level < line.level)
    if (around >= 0) this.activate(around, false)
  }
}
