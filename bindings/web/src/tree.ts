/** Groups objects by the common beginnings of their names, for the list. */
import { stored } from './format.ts'
import type { Listed } from './protocol.ts'

export interface Group {
  prefix: string
  children: Entry[]
  objects: number
  bytes: number
  /** True for a group that was made of several groups with successive numbers, such as layers, which are its children. */
  folded?: boolean
}

export type Entry = { group: Group } | { object: number }

/** A line of the list: an object or a group, and the level at which it is nested. */
export interface Line {
  entry: Entry
  level: number
  /** The name without the part that the labels of the groups around the line have. */
  label: string
}

const SEPARATOR = /[./]/g
/** The smallest number of groups with successive numbers that are folded into one group. */
const FOLDED = 4

/**
 * Returns `name` with zeros before its numbers, so that names which are sorted as texts have their numbers, if these have up to 16
 * digits, in the order of their values.
 */
export const natural = (name: string): string => name.replace(/\d+/g, digits => digits.padStart(16, '0'))

/**
 * Groups `objects` by the common beginnings of their names. `order` has the ordinals of the objects in the order of the list.
 * Returns the root.
 */
export const group = (objects: Listed[], order: number[]): Group => {
  const root: Group = { prefix: '', children: [], objects: 0, bytes: 0 }
  const known = new Map<string, Group>([['', root]])
  for (const ordinal of order) {
    const object = objects[ordinal]
    if (!object) continue
    const bytes = stored(object)
    let parent = root
    count(root, bytes)
    for (const { index } of object.name.matchAll(SEPARATOR)) {
      const prefix = object.name.slice(0, index + 1)
      let child = known.get(prefix)
      if (!child) {
        child = { prefix, children: [], objects: 0, bytes: 0 }
        known.set(prefix, child)
        parent.children.push({ group: child })
      }
      count(child, bytes)
      parent = child
    }
    parent.children.push({ object: ordinal })
  }
  for (const parent of known.values()) parent.children = fold(parent)
  return root
}

const count = (group: Group, bytes: number, objects = 1): void => {
  group.objects += objects
  group.bytes += bytes
}

/**
 * Returns the children of a group after folding: `FOLDED` or more groups that follow each other, with successive numbers of up to
 * nine digits and the same number of objects, become one folded group.
 */
const fold = ({ prefix, children }: Group): Entry[] => {
  const found: Entry[] = []
  let run: Group[] = []
  const number = ({ prefix: own }: Group) => Number.parseInt(own.slice(prefix.length), 10)
  const end = () => {
    const [first, last] = [run[0], run.at(-1)]
    if (!first || !last || run.length < FOLDED) found.push(...run.map(group => ({ group })))
    else {
      const folded: Group = {
        prefix: `${prefix}${number(first)}–${last.prefix.slice(prefix.length)}`, children: run.map(group => ({ group })),
        objects: 0, bytes: 0, folded: true,
      }
      for (const { bytes, objects } of run) count(folded, bytes, objects)
      found.push({ group: folded })
    }
    run = []
  }
  for (const child of children) {
    const own = 'group' in child && /^(0|[1-9]\d{0,8})[./]$/.test(child.group.prefix.slice(prefix.length)) ? child.group : undefined
    const last = run.at(-1)
    if (!own || (last && (number(last) + 1 !== number(own) || last.objects !== own.objects))) end()
    if (own) run.push(own)
    else found.push(child)
  }
  end()
  return found
}

/**
 * Returns the lines that the list shows for the groups and objects below `root`. `open` has the prefixes of the open groups. A
 * group with a single entry is shown as this entry.
 */
export const lines = (root: Group, objects: Listed[], open: Set<string>): Line[] => {
  const shown: Line[] = []
  const stack: { entry: Entry; level: number; prefix: string }[] = []
  const push = (group: Group, level: number, prefix: string) => {
    for (const entry of group.children.toReversed()) stack.push({ entry, level, prefix })
  }
  push(root, 0, '')
  for (let next = stack.pop(); next; next = stack.pop()) {
    const { level, prefix } = next
    const entry = only(next.entry)
    const name = 'group' in entry ? entry.group.prefix : objects[entry.object]?.name ?? ''
    shown.push({ entry, level, label: name.slice(prefix.length) })
    if (!('group' in entry) || !open.has(entry.group.prefix)) continue
    const { folded, prefix: own } = entry.group
    // The children of a folded group differ in their numbers, so their labels begin with the number, and not after it.
    push(entry.group, level + 1, folded ? own.replace(/[^./]*[./]$/, '') : own)
  }
  return shown
}

/** Returns the entry that is shown for `entry`: a group with a single entry is shown as that entry. */
export const only = (entry: Entry): Entry => {
  let shown = entry
  while ('group' in shown && shown.group.children.length === 1 && shown.group.children[0]) shown = shown.group.children[0]
  return shown
}
