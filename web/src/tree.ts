/** Objects grouped by what their names begin with. */
import { stored } from './format.ts'
import type { Listed } from './protocol.ts'

export interface Group {
  prefix: string
  children: Entry[]
  objects: number
  bytes: number
}

export type Entry = { group: Group } | { object: number }

/** One line of the list. */
export interface Line {
  entry: Entry
  level: number
  /** What to show of the name: what the groups around it have not said. */
  label: string
}

const SEPARATOR = /[./]/g

/** Groups objects, given by their place in the manifest, in the order in which they come. */
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
  return root
}

const count = (group: Group, bytes: number): void => {
  group.objects++
  group.bytes += bytes
}

/** The lines to show where the groups in `open` are open. A group of one is its only entry. */
export const lines = (root: Group, objects: Listed[], open: Set<string>): Line[] => {
  const shown: Line[] = []
  const stack: { entry: Entry; level: number; prefix: string }[] = []
  const push = (group: Group, level: number, prefix: string) => {
    for (const entry of group.children.toReversed()) stack.push({ entry, level, prefix })
  }
  push(root, 0, '')
  for (let next = stack.pop(); next; next = stack.pop()) {
    const { level, prefix } = next
    let { entry } = next
    while ('group' in entry && entry.group.children.length === 1 && entry.group.children[0]) {
      entry = entry.group.children[0]
    }
    const name = 'group' in entry ? entry.group.prefix : objects[entry.object]?.name ?? ''
    shown.push({ entry, level, label: name.slice(prefix.length) })
    if ('group' in entry && open.has(entry.group.prefix)) push(entry.group, level + 1, entry.group.prefix)
  }
  return shown
}
