/** Shows the file and its sibling files as one bar, drawn to scale. */
import { byId, fill, make, spelled } from './dom.ts'
import { grouped, size } from './format.ts'
import { regionAt, type Kind, type Region } from './regions.ts'
import type { Listed } from './protocol.ts'

const NAMES: Record<Kind, string> = {
  header: 'header', blob: 'blob', padding: 'padding', manifest: 'manifest', footer: 'footer', unknown: 'unknown',
}
const HEIGHT = 44

/**
 * What a map shows: the regions of a file and its sibling files, their length together, the objects, and the byte and the object
 * that break a rule, if they are known.
 */
export interface Shown {
  regions: Region[]
  objects: Listed[]
  length: number
  marked: number | null
  broken: number | null
}

export class FileMap {
  private shown: Shown = { regions: [], objects: [], length: 0, marked: null, broken: null }
  /** The index of the region that the user has reached with the keyboard. */
  private reached = 0
  /** The region under the pointer, or the object under the pointer in the list. */
  private hovered: { region?: number; object?: number } = {}
  private selected: number | undefined
  private readonly canvas = byId('map') as HTMLCanvasElement
  private readonly caption = byId('map-caption')

  constructor(private readonly onOpen: (object: number) => void, private readonly onHover: (object: number | undefined) => void) {
    this.canvas.addEventListener('pointermove', event => this.point(regionAt(this.shown.regions, this.offsetAt(event))))
    this.canvas.addEventListener('pointerleave', () => this.point(undefined))
    this.canvas.addEventListener('click', event => this.open(regionAt(this.shown.regions, this.offsetAt(event))))
    this.canvas.addEventListener('keydown', event => this.key(event))
    for (const name of ['focus', 'blur']) this.canvas.addEventListener(name, () => this.update())
    new ResizeObserver(() => this.draw()).observe(this.canvas)
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.draw())
  }

  show(shown: Shown): void {
    this.shown = shown
    const { regions, marked, broken } = shown
    this.hovered = {}
    this.selected = undefined
    this.reached = marked !== null ? regionAt(regions, marked) : Math.max(0, this.regionOf(broken ?? undefined))
    this.canvas.setAttribute('aria-valuemax', String(Math.max(0, regions.length - 1)))
    this.legend()
    this.update()
  }

  /** Highlights the regions of the object with the ordinal `object`, whose description is shown. */
  choose(object: number): void {
    this.selected = object
    this.reached = Math.max(0, this.regionOf(object))
    this.update()
  }

  /**
   * Highlights the regions of the object with the ordinal `object`, over which the pointer is in the list; none if `object` is
   * `undefined`.
   */
  hover(object: number | undefined): void {
    this.hovered = object === undefined ? {} : { object }
    this.update()
  }

  private point(region: number | undefined): void {
    this.hovered = region === undefined ? {} : { region }
    this.onHover(this.shown.regions[region ?? -1]?.object)
    this.update()
  }

  private regionOf(object: number | undefined): number {
    return object === undefined ? -1 : this.shown.regions.findIndex(region => region.object === object)
  }

  private offsetAt(event: MouseEvent): number {
    const box = this.canvas.getBoundingClientRect()
    return ((event.clientX - box.left) / box.width) * this.shown.length
  }

  private key(event: KeyboardEvent): void {
    const last = this.shown.regions.length - 1
    const to = { ArrowLeft: this.reached - 1, ArrowRight: this.reached + 1, Home: 0, End: last }[event.key]
    if (to !== undefined) {
      event.preventDefault()
      this.hovered = {}
      this.reached = Math.min(last, Math.max(0, to))
      this.update()
    } else if (event.key === 'Enter') this.open(this.reached)
  }

  private open(index: number): void {
    const object = this.shown.regions[index]?.object
    if (object !== undefined) this.onOpen(object)
  }

  /**
   * Draws the map anew, and describes below it the region under the pointer, or that of the object under the pointer in the list.
   * Without a pointer, describes the region that the user has reached with the keyboard, or that of the selected object.
   */
  private update(): void {
    const { regions, objects } = this.shown
    const { region: under, object: listed } = this.hovered
    const index = under ?? (listed === undefined ? this.reached : this.regionOf(listed))
    const region = regions[index]
    const object = objects[region?.object ?? listed ?? -1]
    if (region) {
      fill(this.caption,
        make('b', {}, NAMES[region.kind]),
        object && make('span', {}, ' of ', spelled(object.name), ' / ', spelled(region.role ?? '')),
        region.file !== undefined && make('span', {}, ' in ', spelled(region.file)),
        ` · bytes ${grouped(region.start - (region.base ?? 0))} to ${grouped(region.end - (region.base ?? 0))} · ${size(region.end - region.start)}`)
    } else fill(this.caption, object && make('span', {}, spelled(object.name), ' has no bytes in these files'))
    this.canvas.setAttribute('aria-valuenow', String(this.reached))
    if (under === undefined && listed === undefined) this.canvas.setAttribute('aria-valuetext', this.caption.textContent ?? '')
    this.draw()
  }

  private legend(): void {
    const sums = new Map<Kind, number>()
    let covered = 0
    for (const { kind, start, end } of this.shown.regions) {
      sums.set(kind, (sums.get(kind) ?? 0) + Math.max(0, end - Math.max(start, covered)))
      covered = Math.max(covered, end)
    }
    fill(byId('map-legend'), ...[...sums].map(([kind, bytes]) =>
      make('li', {}, make('i', { class: `swatch ${kind}` }), `${NAMES[kind]} ${size(bytes)}`)))
  }

  private draw(): void {
    const { regions, length, marked, broken } = this.shown
    const context = this.canvas.getContext('2d')
    if (!context || length === 0) return
    const ratio = window.devicePixelRatio || 1
    const width = Math.round(this.canvas.clientWidth * ratio)
    this.canvas.width = width
    this.canvas.height = HEIGHT * ratio
    const style = getComputedStyle(document.documentElement)
    const color = (name: string) => style.getPropertyValue(`--${name}`)
    const x = (offset: number) => Math.floor((offset / length) * width)
    const bar = ({ start, end }: Region, name: string) => {
      context.fillStyle = color(name)
      context.fillRect(x(start), 0, Math.max(ratio, x(end) - x(start)), this.canvas.height)
    }
    // In a large file many regions fall on the same pixel. Only the first of them and the manifest are drawn.
    let drawn = -1
    regions.forEach((region, index) => {
      const end = Math.max(x(region.start) + 1, x(region.end))
      if (end <= drawn && region.kind !== 'manifest') return
      bar(region, region.kind)
      if (region.kind === 'blob' && index % 2 === 0) bar(region, 'stripe')
      drawn = end
    })
    const outline = ({ start, end }: Region, name: string, dash: number[]) => {
      context.strokeStyle = color(name)
      context.lineWidth = 2 * ratio
      context.setLineDash(dash.map(length => length * ratio))
      context.strokeRect(x(start) + ratio, ratio, Math.max(2 * ratio, x(end) - x(start) - 2 * ratio), this.canvas.height - 2 * ratio)
    }
    const { region: under, object: listed } = this.hovered
    const of = (object: number | null | undefined) =>
      typeof object === 'number' ? regions.filter(region => region.object === object) : []
    for (const region of of(broken)) bar(region, 'bad')
    for (const region of under === undefined ? of(listed) : regions.slice(under, under + 1)) bar(region, 'hover')
    for (const region of of(this.selected)) outline(region, 'text', [])
    const reached = regions[this.reached]
    if (reached && this.canvas.matches(':focus-visible')) outline(reached, 'accent', [4, 3])
    if (marked !== null) {
      context.fillStyle = color('bad')
      context.fillRect(Math.min(width - 3 * ratio, Math.max(0, x(marked) - ratio)), 0, 3 * ratio, this.canvas.height)
    }
  }
}
