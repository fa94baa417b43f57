// Runs tests one after the other: those with the text in their names that the command line gives.
const wanted = process.argv[2] ?? ''
let failed = 0

export const test = async (name, body) => {
  if (!name.includes(wanted)) return
  const start = performance.now()
  try {
    await body()
    console.log(`ok    ${name} (${Math.round(performance.now() - start)} ms)`)
  } catch (error) {
    failed++
    console.log(`FAIL  ${name}\n${error.stack}`)
  }
}

/** Says how the tests ended. */
export const end = () => {
  console.log(failed === 0 ? 'all valid' : `${failed} failed`)
  process.exitCode = failed === 0 ? 0 : 1
}
