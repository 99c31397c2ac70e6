// `npm run test:slow`: what takes too long for every push, in named parts. `npm run test:slow -- fuzz rows` runs only those.
// A part that cannot run here is skipped with its reason.
import { PARTS, type Part } from './parts.ts'

const asked = process.argv.slice(2)
const unknown = asked.filter((name) => !PARTS.some((part) => part.name === name))
if (unknown.length > 0) {
  console.error(`There is no part ${unknown.join(', ')}. There are: ${PARTS.map(({ name }) => name).join(', ')}.`)
  process.exit(1)
}

const results: string[] = []
for (const part of PARTS) if (asked.length === 0 || asked.includes(part.name)) results.push(await outcomeOf(part))
console.log(`\n${results.join('\n')}`)

async function outcomeOf({ name, what, skip, run }: Part): Promise<string> {
  const reason = skip()
  if (reason !== null) return `﹣ ${name}: skipped, ${reason}`
  console.log(`▶ ${name}: ${what}`)
  const began = performance.now()
  const ok = await run().catch((error: unknown) => {
    console.error(error)
    return false
  })
  if (!ok) process.exitCode = 1
  return `${ok ? '✔' : '✖'} ${name} (${Math.round((performance.now() - began) / 1000)} s)`
}
