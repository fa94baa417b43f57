// Runs the page in a headless Chromium as a user would: opened from a folder.
import assert from 'node:assert/strict'
import { pathToFileURL } from 'node:url'
import { browse, root } from '../../js/test/harness.mjs'

/** Returns the address of a page. */
export const located = name => pathToFileURL(`${root}bindings/web/dist/${name}`).href

/** Starts the browser. Returns the page, with its requests and errors. */
export const launch = async (name, ...args) => {
  const index = located(name)
  const browser = await browse(...args)
  const page = await browser.newPage({ viewport: { width: 1000, height: 1200 } })
  page.setDefaultTimeout(20_000)
  const requests = []
  const errors = []
  page.on('request', request => requests.push(request.url()))
  page.on('pageerror', error => errors.push(error.message))
  page.on('console', message => message.type() === 'error' && errors.push(message.text()))
  await page.goto(index)
  return { browser, page, index, requests, errors }
}

/** Opens a file, and waits until the page is done. */
export const open = async (page, path) => {
  await page.evaluate(() => { document.body.dataset.state = 'waiting' })
  await page.setInputFiles('#file', path)
  await page.waitForFunction(() => document.body.dataset.state === 'done')
}

/** Returns the verdict that the page shows. */
export const verdict = page => page.evaluate(() => {
  const text = selector => document.querySelector(selector)?.textContent ?? null
  return {
    kind: document.querySelector('#verdict').className,
    heading: text('#verdict h2'),
    rule: text('#rule'),
    offset: text('#offset'),
    sentence: text('.sentence'),
    names: [...document.querySelectorAll('.place bdi')].map(element => element.textContent),
    clause: [...document.querySelectorAll('#verdict dt')]
      .find(term => term.textContent === 'clause')?.nextElementSibling.textContent ?? null,
    marks: [...document.querySelectorAll('#bytes mark')].map(element => element.textContent),
    lines: [...document.querySelectorAll('#bytes .line')].map(element => element.textContent),
    objects: document.querySelector('#objects').hidden ? null : text('#list-count'),
    read: Number(document.querySelector('#read').dataset.read),
  }
})

/** Starts the statistics of the object that is shown, cancels them, and opens the first object. */
export const cancelStatistics = async page => {
  await page.click('button.statistics')
  await page.waitForSelector('#work:not([hidden])')
  await page.waitForFunction(() => document.querySelector('#progress').value > 0)
  await page.keyboard.press('Escape')
  await page.waitForSelector('#work', { state: 'hidden' })
  assert.equal(await page.textContent('.numbers'), '')
  await choose(page, 0)
  assert.equal(await page.textContent('#object h2'), 'zeros')
}

/** Opens an object by the index of its line in the list. */
export const choose = async (page, line) => {
  await page.evaluate(() => { document.querySelector('#object').hidden = true })
  // On a busy machine, the page may redraw the list after the line has been found and before it is clicked. The click is then
  // lost, so it is repeated.
  for (let attempt = 1; ; attempt += 1) {
    await page.click(`#row-${line}`)
    const shown = page.waitForFunction(() => !document.querySelector('#object').hidden, undefined, { timeout: 5_000 })
    if (await shown.then(() => true, error => attempt === 4 ? Promise.reject(error) : false)) return
  }
}
