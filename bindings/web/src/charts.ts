/** Draws histograms and grids of numbers. */
import { make } from './dom.ts'
import { grouped, short } from './format.ts'
import type { Picture, Statistics } from './protocol.ts'

const SVG = 'http://www.w3.org/2000/svg'
const BARS = 64

/**
 * Returns an element that shows the histogram of `said` as bars, with the smallest and the largest element below and the count of
 * the highest bar; null if there is no histogram.
 */
export const histogram = (said: Statistics): HTMLElement | null => {
  if (!said.histogram) return null
  const { width, start, counts } = said.histogram
  const each = Math.ceil(counts.length / BARS)
  const bars: number[] = []
  counts.forEach((count, at) => {
    const bar = Math.floor(at / each)
    bars[bar] = (bars[bar] ?? 0) + count
  })
  const most = bars.reduce((most, count) => Math.max(most, count), 1)
  const [least, greatest] = [said.min, said.max].map(end => short(Number(end)))
  const svg = document.createElementNS(SVG, 'svg')
  svg.setAttribute('viewBox', `0 0 ${bars.length * 10} 100`)
  svg.setAttribute('preserveAspectRatio', 'none')
  svg.setAttribute('role', 'img')
  svg.setAttribute('aria-label', `Histogram of ${bars.length} intervals, of elements from ${least} to ${greatest}`)
  bars.forEach((count, at) => {
    const bar = document.createElementNS(SVG, 'rect')
    const height = count === 0 ? 0 : Math.max(1, (98 * count) / most)
    for (const [name, value] of Object.entries({ x: at * 10 + 1, y: 100 - height, width: 8, height })) {
      bar.setAttribute(name, String(value))
    }
    const title = document.createElementNS(SVG, 'title')
    const low = start + width * each * at
    title.textContent = `${short(low)} to ${short(low + width * each)}: ${grouped(count)}`
    bar.append(title)
    svg.append(bar)
  })
  const ends = make('div', { class: 'ends' }, make('span', {}, least ?? ''), make('span', {}, greatest ?? ''))
  const caption = make('figcaption', {}, `The highest bar: ${grouped(most)} of ${grouped(said.statistics.count)}.`)
  const figure = make('figure', { class: 'histogram' }, ends, caption)
  figure.prepend(svg)
  return figure
}

/** The colors of a heat map from the lowest to the highest number, each brighter than the one before. */
const RAMP = ['#1b1044', '#46177a', '#7a2382', '#ad3475', '#db5a5a', '#f58d4d', '#fdc46a', '#fcf6c4']
const UNIQUE = { nan: [120, 120, 120], low: [30, 110, 220], high: [200, 30, 30] } as const

const ramp = (at: number): readonly number[] => {
  const place = Math.max(0, Math.min(1, at)) * (RAMP.length - 1)
  const [low, high] = [RAMP[Math.floor(place)], RAMP[Math.ceil(place)]].map(parse)
  const part = place - Math.floor(place)
  return (low ?? []).map((value, channel) => value + ((high?.[channel] ?? value) - value) * part)
}
const parse = (color = '#000000'): number[] =>
  [1, 3, 5].map(at => Number.parseInt(color.slice(at, at + 2), 16))

/**
 * Returns an element with a canvas on which `numbers`, the grid of `picture`, are drawn: a heat map of elements, or of the
 * numbers of entries in each cell.
 */
export const grid = (picture: Picture, numbers: Float32Array): HTMLElement => {
  const { width, height, counted } = picture
  const finite = numbers.filter(Number.isFinite)
  const least = counted ? 0 : finite.reduce((least, number) => Math.min(least, number), Infinity)
  const most = finite.reduce((most, number) => Math.max(most, number), counted ? 1 : -Infinity)
  const canvas = make('canvas', { width, height, role: 'img', class: 'grid' })
  const context = canvas.getContext('2d')
  const image = context?.createImageData(width, height)
  if (context && image) {
    numbers.forEach((number, at) => {
      const color = colorOf(number, least, most, counted)
      image.data.set([...color, counted && number === 0 ? 0 : 255], at * 4)
    })
    context.putImageData(image, 0, 0)
  }
  const scale = Math.max(1, Math.min(28, Math.floor(Math.min(480 / width, 320 / height))))
  canvas.style.width = `${width * scale}px`
  canvas.style.height = `${height * scale}px`
  const sampled = picture.rows > height || picture.columns > width
  const of = `${grouped(picture.rows)} × ${grouped(picture.columns)}`
  const what = counted
    ? `Entries, ${of}: the lighter a cell, the more (at most ${short(most)}).`
    : finite.length > 0
      ? `Values, ${of}: from ${short(least)} (dark) to ${short(most)} (light).`
      : `Values, ${of}: none is finite.`
  const how = sampled && !counted ? ` Sampled: ${height} rows and ${width} columns at even distances.` : ''
  const odd = finite.length < numbers.length ? ' NaN is gray, infinities are red and blue.' : ''
  canvas.setAttribute('aria-label', what)
  return make('figure', {}, canvas, make('figcaption', {}, what + how + odd))
}

const colorOf = (number: number, least: number, most: number, counted: boolean): readonly number[] => {
  if (Number.isNaN(number)) return UNIQUE.nan
  if (number === Infinity) return UNIQUE.high
  if (number === -Infinity) return UNIQUE.low
  const at = most > least ? (number - least) / (most - least) : 0.5
  return ramp(counted ? 0.35 + 0.65 * at : at)
}
