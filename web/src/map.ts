/** The file as one bar, to scale. */
import { byId, fill, make, spelled } from './dom.ts'
import { grouped, size } from './format.ts'
import { regionAt, type Kind, type Region } from './regions.ts'
import type { Listed } from './protocol.ts'

const NAMES: Record<Kind, string> = {
  header: 'header', blob: 'blob', padding: 'padding',
  manifest: 'manifest', footer: 'footer', unknown: 'not known',
}
const HEIGHT = 44

export class FileMap {
  private regions: Region[] = []
  private objects: Listed[] = []
  private length = 0
  private marked: number | null = null
  private selected = 0
  private readonly canvas = byId('map') as HTMLCanvasElement
  private readonly caption = byId('map-caption')

  constructor(private readonly onOpen: (object: number) => void) {
    this.canvas.addEventListener('pointermove', event => this.select(regionAt(this.regions, this.offsetAt(event))))
    this.canvas.addEventListener('click', () => this.open())
    this.canvas.addEventListener('keydown', event => this.key(event))
    new ResizeObserver(() => this.draw()).observe(this.canvas)
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.draw())
  }

  show(regions: Region[], objects: Listed[], length: number, marked: number | null): void {
    Object.assign(this, { regions, objects, length, marked, selected: 0 })
    if (marked !== null) this.selected = regionAt(regions, marked)
    this.canvas.setAttribute('aria-valuemax', String(Math.max(0, regions.length - 1)))
    this.legend()
    this.select(this.selected)
  }

  private offsetAt(event: PointerEvent): number {
    const box = this.canvas.getBoundingClientRect()
    return ((event.clientX - box.left) / box.width) * this.length
  }

  private key(event: KeyboardEvent): void {
    const last = this.regions.length - 1
    const to = { ArrowLeft: this.selected - 1, ArrowRight: this.selected + 1, Home: 0, End: last }[event.key]
    if (to !== undefined) {
      event.preventDefault()
      this.select(Math.min(last, Math.max(0, to)))
    } else if (event.key === 'Enter') this.open()
  }

  private open(): void {
    const object = this.regions[this.selected]?.object
    if (object !== undefined) this.onOpen(object)
  }

  private select(index: number): void {
    const region = this.regions[index]
    if (!region) return
    this.selected = index
    const bytes = region.end - region.start
    const object = region.object === undefined ? undefined : this.objects[region.object]
    fill(this.caption,
      make('b', {}, NAMES[region.kind]),
      object && make('span', {}, ' of ', spelled(object.name), ' / ', spelled(region.role ?? '')),
      ` · bytes ${grouped(region.start)} to ${grouped(region.end)} · ${size(bytes)}`)
    this.canvas.setAttribute('aria-valuenow', String(index))
    this.canvas.setAttribute('aria-valuetext', this.caption.textContent ?? '')
    this.draw()
  }

  private legend(): void {
    const sums = new Map<Kind, number>()
    for (const { kind, start, end } of this.regions) sums.set(kind, (sums.get(kind) ?? 0) + end - start)
    fill(byId('map-legend'), ...[...sums].map(([kind, bytes]) =>
      make('li', {}, make('i', { class: `swatch ${kind}` }), `${NAMES[kind]} ${size(bytes)}`)))
  }

  private draw(): void {
    const context = this.canvas.getContext('2d')
    if (!context || this.length === 0) return
    const ratio = window.devicePixelRatio || 1
    const width = Math.round(this.canvas.clientWidth * ratio)
    this.canvas.width = width
    this.canvas.height = HEIGHT * ratio
    const style = getComputedStyle(document.documentElement)
    const colour = (kind: string) => style.getPropertyValue(`--${kind}`)
    const x = (offset: number) => Math.floor((offset / this.length) * width)
    // Many regions share a pixel in a large file: one is drawn for each.
    let drawn = -1
    this.regions.forEach((region, index) => {
      const [from, to] = [x(region.start), Math.max(x(region.start) + 1, x(region.end))]
      if (to <= drawn && region.kind !== 'manifest') return
      context.fillStyle = colour(region.kind)
      context.fillRect(from, 0, to - from, this.canvas.height)
      if (region.kind === 'blob' && index % 2 === 0) {
        context.fillStyle = colour('stripe')
        context.fillRect(from, 0, to - from, this.canvas.height)
      }
      drawn = to
    })
    const selected = this.regions[this.selected]
    if (selected) {
      context.strokeStyle = colour('text')
      context.lineWidth = 2 * ratio
      const left = x(selected.start)
      context.strokeRect(left, ratio, Math.max(2, x(selected.end) - left), this.canvas.height - 2 * ratio)
    }
    if (this.marked !== null) {
      context.fillStyle = colour('bad')
      context.fillRect(Math.min(width - 3 * ratio, x(this.marked) - ratio), 0, 3 * ratio, this.canvas.height)
    }
  }
}
