/**
 * The list of tensors, which can be searched, sorted and grouped. Only visible rows are elements of the page, so it may have any
 * length.
 */
import { button, byId, fill, make, spelled } from './dom.ts'
import { common, counted, objectKind, shape, size, stored } from './format.ts'
import { group, lines, natural, only, type Group, type Line } from './tree.ts'
import type { Listed } from './protocol.ts'

const ROW = 30
/** The height in pixels of a row in a narrow page, in which a row has two lines. */
const TALL = 50
/** The number of rows that are created beyond the visible ones. */
const MARGIN = 8
/** If the file has more objects than this, groups are closed at first, except a group that is alone in its list. */
const MANY = 40

type Key = 'file' | 'name' | 'type' | 'shape' | 'stored'

const COLUMNS: [Key, string][] = [['name', 'Name'], ['type', 'Type'], ['shape', 'Shape'], ['stored', 'Stored']]

/** The number of characters at the end of a name that are always shown, because names often differ only at the end. */
const TAIL = 18

/**
 * Returns elements for the two parts of a name, of which a narrow page cuts the first and shows all of the second. A short name
 * has one element.
 */
const ends = (label: string): HTMLElement[] => {
  const all = [...label]
  if (all.length < TAIL + 6) return [spelled(label)]
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
  /** The groups that were open before a search, because the search opens all groups with a match; `undefined` without a search. */
  private before: Set<string> | undefined
  private active = 0
  private sort: Key = 'file'
  private sorted: number[] | undefined
  /** The ordinal of the object whose description is shown; `undefined` if none is. */
  private chosen: number | undefined
  /** The ordinal of the object over which the pointer is in the map of the file; `undefined` if it is over none. */
  private hovered: number | undefined
  private falling = false
  private readonly box = byId('list')
  private readonly search = byId('search') as HTMLInputElement
  private readonly grouping = byId('grouping') as HTMLInputElement

  private readonly narrow = matchMedia('(max-width: 40rem)')

  constructor(private readonly onOpen: (object: number) => void, private readonly onHover: (object: number | undefined) => void) {
    this.search.addEventListener('input', () => this.arrange())
    this.grouping.addEventListener('change', () => this.arrange())
    this.box.addEventListener('scroll', () => this.draw())
    this.box.addEventListener('keydown', event => this.key(event))
    this.box.addEventListener('click', event => this.click(event))
    this.box.addEventListener('pointermove', event => this.point(this.lineAt(event)))
    this.box.addEventListener('pointerleave', () => this.point(undefined))
    this.narrow.addEventListener('change', () => this.redraw())
    new ResizeObserver(() => this.draw()).observe(this.box)
  }

  show(objects: Listed[]): void {
    this.objects = objects
    this.search.value = ''
    this.sort = 'file'
    this.sorted = undefined
    this.chosen = undefined
    const longest = objects.reduce((longest, object) => Math.max(longest, objectKind(object).length), 4)
    byId('objects').style.setProperty('--type', `${Math.min(longest, 28) + 1}ch`)
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

  /**
   * Opens the only group of the list, then the only group in that one, and so on. A folded group is opened only if nothing else
   * is beside it.
   */
  private openAlone(): void {
    let { children } = this.root
    for (;;) {
      const groups = children.map(only).filter(entry => 'group' in entry)
      const [alone, other] = groups
      if (!alone || other || (alone.group.folded && children.length > 1)) return
      this.open.add(alone.group.prefix)
      children = alone.group.children
    }
  }

  /** Highlights the row of the object with the ordinal `object`, whose description is shown. */
  choose(object: number): void {
    this.chosen = object
    this.reveal()
    this.redraw()
    const line = this.shown.findIndex(({ entry }) => 'object' in entry && entry.object === object)
    if (line >= 0) this.activate(line, false)
  }

  /** Opens the groups that contain the highlighted object, so that its row is in the list. */
  private reveal(): void {
    const name = this.objects[this.chosen ?? -1]?.name
    if (name === undefined) return
    const holds = ({ folded, prefix, children }: Group): boolean => folded
      ? children.some(child => 'group' in child && name.startsWith(child.group.prefix))
      : name.startsWith(prefix)
    for (let { children } = this.root; ;) {
      const around = children.find(child => 'group' in child && holds(child.group))
      if (!around || !('group' in around)) return
      this.open.add(around.group.prefix)
      children = around.group.children
    }
  }

  /**
   * Highlights the row of the object with the ordinal `object`, over which the pointer is in the map; none if `object` is
   * `undefined`.
   */
  hover(object: number | undefined): void {
    if (this.hovered === object) return
    this.hovered = object
    this.draw()
  }

  /** Moves the focus of the keyboard to the list, at the row that had it last. */
  focus(): void {
    this.box.focus({ preventScroll: true })
    this.box.scrollIntoView({ block: 'nearest' })
  }

  private point(line: number | undefined): void {
    const entry = this.shown[line ?? -1]?.entry
    this.onHover(entry && 'object' in entry ? entry.object : undefined)
  }

  private get height(): number {
    return this.narrow.matches ? TALL : ROW
  }

  private arrange(): void {
    const wanted = this.search.value.toLowerCase()
    const inFile = this.sort === 'file' && !this.grouping.checked
    const order = (inFile ? this.objects.map((_, ordinal) => ordinal) : this.natural()).filter(ordinal => {
      const object = this.objects[ordinal]
      return object !== undefined && (object.name.toLowerCase().includes(wanted) ||
        objectKind(object).toLowerCase().split(/:? /).includes(wanted))
    })
    const key = this.keyOf(this.sort)
    const sign = this.falling ? -1 : 1
    if (this.sort !== 'file' && this.sort !== 'name') {
      order.sort((one, other) => {
        const [a, b] = [key(this.objects[one]), key(this.objects[other])]
        return sign * (a < b ? -1 : a > b ? 1 : 0)
      })
    } else if (this.falling) order.reverse()
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
      this.reveal()
    }
    fill(byId('list-count'), wanted
      ? `${counted(order.length, 'tensor')} of ${this.objects.length}`
      : counted(order.length, 'tensor'))
    this.active = 0
    this.heads()
    this.redraw()
  }

  /** Returns the ordinals of all objects, sorted by their names, in which numbers sort by their values. */
  private natural(): number[] {
    if (!this.sorted) {
      const names = this.objects.map(({ name }) => natural(name))
      const compare = (one = '', other = '') => one < other ? -1 : one > other ? 1 : 0
      this.sorted = names.map((_, ordinal) => ordinal).sort((one, other) => compare(names[one], names[other]))
    }
    return this.sorted
  }

  private keyOf(sort: Key): (object: Listed | undefined) => string | number {
    return object => {
      if (!object) return ''
      if (sort === 'stored') return stored(object)
      if (sort === 'type') return objectKind(object)
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
    this.box.style.height = `${Math.max(1, this.shown.length) * this.height + 2}px`
    this.draw()
  }

  private draw(): void {
    const { height } = this
    const first = Math.max(0, Math.floor(this.box.scrollTop / height) - MARGIN)
    const count = Math.ceil(this.box.clientHeight / height) + 2 * MARGIN
    const space = make('div', { class: 'space', role: 'presentation' })
    space.style.height = `${this.shown.length * height}px`
    this.shown.slice(first, first + count).forEach((line, index) => {
      const row = this.row(line, first + index)
      row.style.top = `${(first + index) * height}px`
      space.append(row)
    })
    fill(this.box, space)
    if (this.shown.length > 0) this.box.setAttribute('aria-activedescendant', `row-${this.active}`)
    else this.box.removeAttribute('aria-activedescendant')
  }

  private row({ entry, level, label }: Line, index: number): HTMLElement {
    const own = 'object' in entry ? entry.object : undefined
    const chosen = own !== undefined && own === this.chosen
    const state = [['active', index === this.active], ['chosen', chosen], ['hovered', own !== undefined && own === this.hovered]]
    const row = make('div', {
      class: ['row', ...state.filter(([, is]) => is).map(([name]) => name)].join(' '), id: `row-${index}`, role: 'treeitem',
      'aria-level': level + 1, 'aria-selected': String(chosen), 'data-line': index,
      'aria-posinset': index + 1, 'aria-setsize': this.shown.length,
    })
    const name = make('span', { class: 'name' })
    name.style.paddingInlineStart = `${level * 16}px`
    if ('group' in entry) {
      const isOpen = this.open.has(entry.group.prefix)
      row.setAttribute('aria-expanded', String(isOpen))
      row.classList.add('group')
      name.append(make('span', { class: 'twist', 'aria-hidden': 'true' }, isOpen ? '▾' : '▸'), spelled(label))
      row.append(name, make('span', { class: 'type' }), make('span', { class: 'shape' }, counted(entry.group.objects, 'tensor')),
        make('span', { class: 'stored' }, size(entry.group.bytes)))
      return row
    }
    const object = this.objects[entry.object]
    if (!object) return row
    name.append(...ends(label))
    const encodings = common(object.components.map(component => component.encoding))
    row.append(name,
      make('span', { class: 'type', title: objectKind(object) }, objectKind(object)),
      make('span', { class: 'shape' }, shape(object.shape)),
      make('span', { class: 'stored' }, size(stored(object)), encodings === 'raw' || encodings === '–' ? '' : ` ${encodings}`))
    return row
  }

  private lineAt(event: MouseEvent): number | undefined {
    const row = (event.target as Element).closest<HTMLElement>('[data-line]')
    return row ? Number(row.dataset.line) : undefined
  }

  private click(event: MouseEvent): void {
    const line = this.lineAt(event)
    if (line !== undefined) this.activate(line, true)
  }

  private activate(index: number, enter: boolean): void {
    this.active = Math.max(0, Math.min(index, this.shown.length - 1))
    const line = this.shown[this.active]
    if (enter && line) {
      if ('object' in line.entry) this.onOpen(line.entry.object)
      else this.toggle(line.entry.group.prefix)
    }
    const top = this.active * this.height
    if (top < this.box.scrollTop) this.box.scrollTop = top
    const bottom = top + this.height - this.box.clientHeight
    if (bottom > this.box.scrollTop) this.box.scrollTop = bottom
    this.redraw()
  }

  private toggle(prefix: string): void {
    if (!this.open.delete(prefix)) this.open.add(prefix)
  }

  private key(event: KeyboardEvent): void {
    const line = this.shown[this.active]
    const page = Math.max(1, Math.floor(this.box.clientHeight / this.height) - 1)
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

  /** Closes the group of `line`. If the line is not an open group, moves the focus to the group that contains the line. */
  private leave(line: Line): void {
    if ('group' in line.entry && this.open.has(line.entry.group.prefix)) {
      this.activate(this.active, true)
      return
    }
    const around = this.shown.slice(0, this.active).findLastIndex(other => other.level < line.level)
    if (around >= 0) this.activate(around, false)
  }
}
