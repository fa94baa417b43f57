// Prepares tests: copies the files of the corpus, and installs the package into an empty project.
import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { corpus } from './harness.mjs'

export const folder = mkdtempSync(join(tmpdir(), 'zten-js-'))

/**
 * Copies each `.zt` file of the corpus, and each file of another format, to a folder of its own, without its sibling files.
 * Returns, for each, its path below the corpus, its name, the path of the copy, and whether it is of another format than zTensor.
 */
export const alone = () => {
  const isOther = path => path.startsWith(`${corpus}other/`) && !path.endsWith('.md')
  const under = at => readdirSync(at, { withFileTypes: true }).flatMap(entry => {
    const path = `${at}/${entry.name}`
    if (entry.isDirectory()) return under(path)
    return path.endsWith('.zt') || isOther(path) ? [path] : []
  })
  return under(corpus.slice(0, -1)).sort().map((path, at) => {
    const copy = join(folder, 'copies', `${at}`, basename(path))
    mkdirSync(dirname(copy), { recursive: true })
    copyFileSync(path, copy)
    return { name: path.slice(corpus.length), file: basename(path), path: copy, isOther: isOther(path) }
  })
}

/**
 * Packs the package, and installs it into an empty project in which it is tested. Returns the folder of the project, and the paths
 * of the packed files within the package.
 */
export const install = () => {
  const quiet = { stdio: ['ignore', 'pipe', 'inherit'] }
  const [{ filename, files }] = JSON.parse(execFileSync('npm', ['pack', '--json', '--silent', '--pack-destination', folder, new URL('..', import.meta.url).pathname], quiet))
  const project = join(folder, 'project')
  mkdirSync(project)
  writeFileSync(join(project, 'package.json'), '{"name":"empty","private":true,"type":"module"}')
  execFileSync('npm', ['install', '--offline', '--no-audit', '--no-fund', '--silent', join(folder, filename)], { ...quiet, cwd: project })
  return { project, files: files.map(file => file.path) }
}
