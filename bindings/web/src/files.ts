/** The list of files that were chosen together, each with its verdict. */
import { LISTED, type Candidate } from '../../js/src/models.ts'
import { AT_ONCE } from './detail.ts'
import { byId, fill, make, spelled } from './dom.ts'
import { counted, size } from './format.ts'
import { isProblem, parse, type Problem, type Summary, type ValidFile } from './protocol.ts'
import { Session } from './session.ts'
import { headingOf } from './verdict.ts'

const SIGNS: Record<string, [string, string]> = { bad: ['✗', 'bad'] }

/** A line of the list of files: the model that it opens, and its elements. */
interface Item {
  candidate: Candidate
  /** The element of the line. It is removed when its file turns out to belong to another file of the list. */
  line: HTMLElement
  button: HTMLButtonElement
  about: HTMLElement
  mark: HTMLElement
}

export class FileList {
  private items: Item[] = []
  private turn = 0
  private readonly box = byId('files')

  constructor(private readonly onOpen: (candidate: Candidate) => void) {}

  /**
   * Shows the files `all`, and checks them one after the other: the headers of all files, and the whole content of small files.
   * If there are no files, hides the list. `cut` says that the user has chosen more files.
   */
  show(all: Candidate[], cut: boolean): void {
    const turn = ++this.turn
    this.items = all.map(candidate => this.item(candidate))
    this.box.hidden = all.length === 0
    const heading = make('h2', {})
    fill(this.box, heading, make('ol', {}, ...this.items.map(({ line }) => line)),
      cut && make('p', { class: 'note' }, `Only the first ${counted(LISTED, 'file')} are listed.`))
    this.count()
    this.choose(this.items[0])
    void this.read(turn)
  }

  private count(): void {
    const heading = this.box.querySelector('h2')
    if (heading) fill(heading, `${counted(this.items.length, 'file')}: choose the one to show`)
  }

  private item(candidate: Candidate): Item {
    const [mark, about] = [make('span', { class: 'mark' }), make('span', { class: 'about' })]
    // At first, the path is shown as it is. When the header of the file has been read, hidden characters of the path are
    // shown escaped.
    const button = make('button', { type: 'button' }, mark, make('span', { class: 'path' }), about,
      make('span', { class: 'size' }, size(candidate.model.file.size)))
    const item = { candidate, line: make('li', {}, button), button, about, mark }
    button.addEventListener('click', () => {
      this.choose(item)
      this.onOpen(candidate)
    })
    return item
  }

  private choose(chosen: Item | undefined): void {
    for (const { button } of this.items) button.removeAttribute('aria-current')
    chosen?.button.setAttribute('aria-current', 'true')
  }

  private async read(turn: number): Promise<void> {
    for (const item of [...this.items]) {
      if (turn !== this.turn) return
      // The file was removed from the list in the meantime, because it belongs to a file that has been read.
      if (!this.items.includes(item)) continue
      const { candidate: { path, model }, button, about, mark } = item
      const session = new Session(model, path, () => {})
      try {
        const opened = await session.open(shown => fill(button.querySelector('.path')!, spelled(shown)))
        const said = parse(opened.bytes) as Summary | Problem
        const known = isProblem(said) ? undefined : said
        const checked = known && known.totals.stored <= AT_ONCE ? await session.askJson<ValidFile | Problem>('validate_all', []) : said
        const problem = isProblem(checked) ? checked : undefined
        const text = problem ? problem.rule ?? problem.verdict
          : `${known?.generation ? `zTensor ${known.generation}` : known?.format}, ${counted(known?.totals.objects ?? 0, 'tensor')}${checked === said ? ', data not read' : ''}`
        const [sign, kind] = problem ? SIGNS[headingOf(problem)[0]] ?? ['?', 'unsure'] : checked === said ? ['○', 'unsure'] : ['✓', 'valid']
        fill(mark, sign)
        mark.parentElement?.classList.add(kind)
        const missing = session.siblings.filter(({ size }) => size === null).length
        fill(about, text, session.siblings.length > 0 && `, ${counted(session.siblings.length + 1, 'file')}`, missing > 0 && `, ${missing} missing`)
        if (turn === this.turn) this.drop(path, session)
      } catch (error) {
        fill(mark, '?')
        fill(about, error instanceof Error ? error.message : String(error))
      } finally {
        session.close()
      }
    }
  }

  /**
   * Removes the sibling files that the file at `path` has turned out to have from the list. Hides the list if fewer than two files
   * are left.
   */
  private drop(path: string, { siblings }: Session): void {
    const folder = path.slice(0, path.lastIndexOf('/') + 1)
    const own = new Set(siblings.filter(({ size }) => size !== null).map(sibling => folder + sibling.path))
    if (own.size === 0) return
    const [gone, left] = [this.items.filter(({ candidate }) => own.has(candidate.path)), this.items.filter(({ candidate }) => !own.has(candidate.path))]
    for (const { line } of gone) line.remove()
    this.items = left
    this.count()
    if (left.length < 2) this.box.hidden = true
  }
}
